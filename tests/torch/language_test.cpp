// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "catch.hpp"

#include <batchcast/torch.hpp>

#include <torch/torch.h>

#include "filled_stream.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace batchcast {
namespace {

/// Six texts of 3, 0, 2, 1, 4 and 0 tokens, 10 * text + place; the mask leaves out every text's
/// third token.
template <class Token>
class Texts {
 public:
  explicit Texts(DType dtype, const std::vector<std::uint64_t>& counts = {3, 0, 2, 1, 4, 0})
      : producer_(options(folder_.path(), dtype, counts.size())) {
    auto loan = *producer_.loan(counts.size());
    REQUIRE(loan.take_rows("tokens", counts));
    REQUIRE(loan.take_rows("others", counts));
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const auto tokens = loan.rows<Token>(i, "tokens").span();
      const auto mask = loan.rows<std::uint8_t>(i, "loss_mask").span();
      for (std::size_t place = 0; place < tokens.size(); ++place) {
        tokens[place] = static_cast<Token>(10 * i + place);
        mask[place] = place != 2;
      }
      for (float& weight : loan.rows<float>(i, "weights").span()) weight = 1;
      for (std::uint8_t& other : loan.rows<std::uint8_t>(i, "other").span()) other = 1;
      loan.field<std::int64_t>("label")[i][0] = 0;
    }
    loan.publish();
  }
  [[nodiscard]] ConsumerOptions joining() const {
    return {.stream = "texts", .batch_size = 6, .directory = folder_.path()};
  }

 private:
  static ProducerOptions options(const std::string& directory, DType dtype, std::size_t texts) {
    ProducerOptions options;
    options.stream = "texts";
    options.schema = {{"tokens", dtype, Axis{"tokens"}},
                      {"loss_mask", DType::u8, Axis{"tokens"}},
                      {"weights", DType::f32, Axis{"tokens"}},
                      {"other", DType::u8, Axis{"others"}},
                      {"label", DType::i64}};
    options.rows_per_sample = {{"tokens", 4}, {"others", 4}};
    options.samples_per_epoch = texts;
    options.epochs = 1;
    options.linger_ms = 0;
    options.directory = directory;
    return options;
  }

  testing::StreamFolder folder_;
  Producer producer_;
};

at::Tensor line(std::vector<std::int64_t> values) {
  return torch::tensor(values, at::kLong).unsqueeze(0);
}

template <class Token>
void check_flat(DType dtype, bool is_view) {
  const Texts<Token> stream(dtype);
  Consumer consumer(stream.joining());
  const Batch batch = *consumer.next();
  const FlatTexts texts = flat_texts(batch);
  CHECK(texts.input_ids.equal(line({0, 1, 2, 20, 21, 30, 40, 41, 42, 43})));
  const bool shows = texts.input_ids.data_ptr() == batch.rows<Token>("tokens").values().data();
  CHECK(shows == is_view);
  CHECK(texts.labels.equal(line({-100, 1, -100, -100, 21, -100, -100, 41, -100, 43})));
  CHECK(texts.targets().equal(line({1, -100, -100, 21, -100, -100, 41, -100, 43, -100})));
  CHECK(texts.position_ids.equal(line({0, 1, 2, 0, 1, 0, 0, 1, 2, 3})));
  CHECK(texts.cu_seq_lens.equal(torch::tensor({0, 3, 5, 6, 10}, at::kInt)));
  CHECK(texts.max_length == 4);
  CHECK(texts.seq_idx.equal(line({0, 0, 0, 1, 1, 2, 3, 3, 3, 3}).to(at::kInt)));
  CHECK(batch.rows<Token>("tokens").values()[0] == 0);  // the labels are a copy
}

TEST_CASE("Texts without padding, as language models take them") {
  check_flat<std::int32_t>(DType::i32, false);
  check_flat<std::int64_t>(DType::i64, true);
  check_flat<std::uint8_t>(DType::u8, false);
}

TEST_CASE("All tokens are trained where no mask is asked for") {
  const Texts<std::int64_t> stream(DType::i64);
  Consumer consumer(stream.joining());
  const Batch batch = *consumer.next();
  const at::Tensor labels = flat_texts(batch, {.loss_mask = ""}).labels;
  CHECK(labels.equal(line({-100, 1, 2, -100, 21, -100, -100, 41, 42, 43})));
}

TEST_CASE("Padded texts have an attention mask") {
  const Texts<std::int32_t> stream(DType::i32);
  Consumer consumer(stream.joining());
  const PaddedTexts texts = padded_texts(*consumer.next(), 7, 3);
  CHECK(texts.input_ids.sizes() == at::IntArrayRef({6, 6}));
  CHECK(texts.input_ids[2].equal(line({20, 21, 7, 7, 7, 7})[0]));
  CHECK(texts.attention_mask[2].equal(line({1, 1, 0, 0, 0, 0})[0]));
  CHECK(texts.labels[0].equal(line({0, 1, -100, -100, -100, -100})[0]));
  CHECK(texts.attention_mask.sum().item<std::int64_t>() == 10);
}

TEST_CASE("Runs of a window are inputs and targets") {
  const Texts<std::int32_t> stream(DType::i32);
  ConsumerOptions options = stream.joining();
  options.batch_size = ConsumerOptions().batch_size;
  options.window = {"tokens", 4, 2, 1};
  Consumer consumer(options);
  const Batch batch = *consumer.next();
  const TextRuns runs = text_runs(batch);
  CHECK(runs.input_ids.equal(torch::tensor({{0, 1, 2, 20}, {21, 30, 40, 41}}, at::kLong)));
  CHECK(runs.targets.equal(torch::tensor({{1, -100, 20, 21}, {30, 40, 41, -100}}, at::kLong)));
  CHECK_THROWS_WITH(flat_texts(batch), Catch::Contains("text_runs"));
  CHECK_THROWS_WITH(padded_texts(batch, 0), Catch::Contains("text_runs"));
}

TEST_CASE("What is no field of tokens is refused by its name") {
  const Texts<std::int32_t> stream(DType::i32);
  Consumer consumer(stream.joining());
  const Batch batch = *consumer.next();
  using Catch::Contains;
  CHECK_THROWS_WITH(flat_texts(batch, {.tokens = "token"}), Contains("`tokens`"));
  CHECK_THROWS_WITH(flat_texts(batch, {.tokens = "label"}), Contains("lies on no axis"));
  CHECK_THROWS_WITH(flat_texts(batch, {.tokens = "weights"}),
                    Contains("weights f32") && Contains("no field of tokens"));
  CHECK_THROWS_WITH(flat_texts(batch, {.loss_mask = "weights"}), Contains("no loss mask"));
  CHECK_THROWS_WITH(flat_texts(batch, {.loss_mask = "mask"}), Contains("no field `mask`"));
  CHECK_THROWS_WITH(flat_texts(batch, {.loss_mask = "other"}), Contains("axis of the tokens"));
  CHECK_THROWS_WITH(text_runs(batch), Contains("flat_texts"));
}

TEST_CASE("A batch of empty texts is refused") {
  const Texts<std::int32_t> stream(DType::i32, {0, 0});
  ConsumerOptions options = stream.joining();
  options.batch_size = 2;
  Consumer consumer(options);
  CHECK_THROWS_WITH(flat_texts(*consumer.next()), Catch::Contains("its 2 texts are empty"));
}

}  // namespace
}  // namespace batchcast
