// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// Loaders and datasets of torch::data as streams: what consumers get is what the loader made.
#include "serve_support.hpp"

#include <batchcast/torch/shared_data_loader.hpp>

#include "catch.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <future>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

using torch::data::Example;
using torch::data::TensorExample;

/// Images of random bytes, the index as the label.
struct Images : torch::data::datasets::Dataset<Images> {
  explicit Images(std::int64_t count) : images(numbers({count, 1, 28, 28}, torch::kByte)) {}
  Example<> get(std::size_t index) override {
    return {images[static_cast<std::int64_t>(index)],
            torch::tensor(static_cast<std::int64_t>(index))};
  }
  torch::optional<std::size_t> size() const override {
    return static_cast<std::size_t>(images.size(0));
  }
  torch::Tensor images;
};

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

std::vector<std::uint64_t> indices(std::uint64_t count, int times = 1) {
  std::vector<std::uint64_t> result;
  for (int i = 0; i < times; ++i) {
    for (std::uint64_t j = 0; j < count; ++j) result.push_back(j);
  }
  return result;
}

/// One batch: `[2, 3]` floats and two labels.
const torch::Tensor some_data = torch::arange(6, torch::kFloat).reshape({2, 3});
const torch::Tensor some_labels = torch::tensor({7, 8}, torch::kLong);

template <class Batch>
void check_served(const std::vector<Batch>& loader, const std::string& data,
                  const std::string& label) {
  const StreamFolder folder;
  const Taken taken = serve_and_take(loader, serving(folder), {.data = data, .target = label});
  CHECK(taken.finished);
  REQUIRE(taken.schema.size() == (label.empty() ? 1 : 2));
  CHECK(taken.schema[0] == FieldSpec{data, DType::f32, {3}});
  CHECK((taken.bytes.at(data) == bytes_of(some_data)));
  if (label.empty()) return;
  CHECK(taken.schema[1] == FieldSpec{label, DType::i64, {}});
  CHECK((taken.bytes.at(label) == bytes_of(some_labels)));
}

}  // namespace

TEST_CASE("a served loader gives every consumer the loader's own bytes", "[torch][serve]") {
  const std::size_t workers = GENERATE(0, 2);
  CAPTURE(workers);
  const StreamFolder folder;
  Images images(130);
  auto loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
      images.map(torch::data::transforms::Stack<>()),
      torch::data::DataLoaderOptions(50).workers(workers));
  ProducerOptions options = serving(folder, 3);
  options.memory = 36 << 10;  // less than a batch
  options.wait_for = 2;
  std::mutex mutex;
  std::string log;
  options.log = [&](LogLevel, std::string_view line) {
    const std::lock_guard lock(mutex);
    log += std::string(line) + "\n";
  };
  auto served = std::async(std::launch::async, [&] { return serve(*loader, options); });
  auto other = std::async(std::launch::async, [&] { return take(folder.path(), 7); });
  const Taken own = take(folder.path(), 16);
  const Taken others = other.get();
  const ProducerStats stats = served.get();
  CHECK(stats.published == 390);
  CHECK(stats.state == StreamState::finished);
  for (const Taken* taken : {&own, &others}) {
    CHECK(taken->finished);
    CHECK(taken->matched == 3);
    CHECK(taken->epochs == std::vector<std::size_t>(3, 130));
    CHECK(taken->ids == indices(130, 3));
    CHECK((taken->bytes.at("data") == repeated(bytes_of(images.images), 3)));
    CHECK((taken->bytes.at("target") == repeated(bytes_of(torch::arange(130)), 3)));
    CHECK(taken->recipe_json == R"({"served_from":"torch::data loader","pure":false})");
  }
  const std::size_t told = log.find("It is not pure");
  CHECK(told != std::string::npos);
  CHECK(log.find("It is not pure", told + 1) == std::string::npos);
}

TEST_CASE("every dtype is served", "[torch][serve]") {
  const StreamFolder folder;
  const std::vector<std::pair<torch::ScalarType, DType>> types = {
      {torch::kByte, DType::u8},       {torch::kChar, DType::i8},   {torch::kShort, DType::i16},
      {torch::kInt, DType::i32},       {torch::kLong, DType::i64},  {torch::kHalf, DType::f16},
      {torch::kBFloat16, DType::bf16}, {torch::kFloat, DType::f32}, {torch::kDouble, DType::f64},
      {torch::kBool, DType::boolean}};
  using Unordered = std::unordered_map<std::string, torch::Tensor>;
  Unordered batch;
  for (const auto& [type, dtype] : types) {
    batch[std::string(name_of(dtype))] = numbers({5, 2, 3}, type);
  }
  const std::vector<Unordered> loader = {batch};
  const Taken taken = serve_and_take(loader, serving(folder));
  REQUIRE(taken.schema.size() == types.size());
  CHECK(std::is_sorted(taken.schema.begin(), taken.schema.end(),
                       [](const FieldSpec& a, const FieldSpec& b) { return a.name < b.name; }));
  for (const auto& [type, dtype] : types) {
    const std::string name(name_of(dtype));
    CAPTURE(name);
    CHECK(std::count(taken.schema.begin(), taken.schema.end(), FieldSpec{name, dtype, {2, 3}}) ==
          1);
    CHECK((taken.bytes.at(name) == bytes_of(batch.at(name))));
  }
}

TEST_CASE("every batch type is served", "[torch][serve]") {
  const torch::Tensor a = some_data[0];
  const torch::Tensor b = some_data[1];
  const torch::Tensor one = some_labels[0];
  const torch::Tensor two = some_labels[1];
  SECTION("Example") {
    check_served<Example<>>({{some_data, some_labels}}, "data", "target");
    check_served<Example<>>({{some_data, some_labels}}, "image", "label");
  }
  SECTION("without a target") { check_served<TensorExample>({{some_data}}, "data", ""); }
  SECTION("a tensor") { check_served<torch::Tensor>({some_data}, "data", ""); }
  SECTION("not stacked") {
    check_served<std::vector<Example<>>>({{{a, one}, {b, two}}}, "data", "target");
    check_served<std::vector<TensorExample>>({{{a}, {b}}}, "data", "");
    check_served<std::vector<Map>>({{{{"x", a}, {"y", one}}, {{"x", b}, {"y", two}}}}, "x", "y");
  }
  SECTION("by name") {
    check_served<Map>({{{"x", some_data}, {"y", some_labels}}}, "x", "y");
    check_served<std::unordered_map<std::string, torch::Tensor>>(
        {{{"y", some_labels}, {"x", some_data}}}, "x", "y");
    torch::OrderedDict<std::string, torch::Tensor> dict;
    dict.insert("z", some_data);
    dict.insert("y", some_labels);
    check_served<torch::OrderedDict<std::string, torch::Tensor>>({dict}, "z", "y");
  }
}

TEST_CASE("a map's sample_id is the stream's", "[torch][serve]") {
  const StreamFolder folder;
  const std::vector<Map> loader = {
      {{"x", some_data}, {"sample_id", torch::tensor({40, 2}, torch::kLong)}}};
  const Taken taken = serve_and_take(loader, serving(folder));
  CHECK((taken.schema == Schema{{"x", DType::f32, {3}}}));
  CHECK(taken.ids == std::vector<std::uint64_t>{40, 2});
}

TEST_CASE("tensors are served whatever lies behind them", "[torch][serve]") {
  const StreamFolder folder;
  const torch::Tensor base = numbers({4, 6, 5});
  const Map batch = {
      {"transposed", base.transpose(1, 2)},
      {"every_other", base.slice(0, 0, 4, 2).repeat({2, 1, 1})},
      {"sliced", base.slice(1, 1, 6, 2)},
      {"expanded", base.slice(0, 0, 1).expand({4, 6, 5})},
      {"channels_last", numbers({4, 3, 4, 4}).contiguous(torch::MemoryFormat::ChannelsLast)},
      {"column", base.select(2, 3).select(1, 2)},
      {"learns", numbers({4, 2}).requires_grad_()},
      {"learnt", (numbers({4, 2}).requires_grad_() * 2).transpose(0, 1).reshape({4, 2})},
      {"negated", torch::_neg_view(base)},
      {"without_memory", torch::_efficientzerotensor({4, 3}, torch::kFloat)}};
  const std::vector<Map> loader = {batch, batch};
  std::vector<std::vector<Map>> list(1);
  for (std::int64_t i = 0; i < 4; ++i) {
    list[0].emplace_back();
    for (const auto& [name, tensor] : batch) list[0].back()[name] = tensor[i];
  }
  ProducerOptions options = serving(folder);
  options.memory = 50 << 10;  // small enough for strides to be padded
  const Taken stacked = serve_and_take(loader, options);
  const Taken listed = serve_and_take(list, options);
  for (const auto& [name, tensor] : batch) {
    CAPTURE(name);
    CHECK((stacked.bytes.at(name) == repeated(bytes_of(tensor.detach()), 2)));
    CHECK((listed.bytes.at(name) == bytes_of(tensor.detach())));
  }
}

namespace {

/// A loader whose epochs have another length each.
struct Growing {
  std::vector<torch::Tensor> batches = {};
  auto begin() {
    batches.push_back(torch::full({static_cast<std::int64_t>(batches.size()) + 1, 2}, 1.0F));
    return batches.begin();
  }
  auto end() { return batches.end(); }
};

struct Stateful : torch::data::datasets::StatefulDataset<Stateful, Example<>> {
  torch::optional<Example<>> get_batch(std::size_t count) override {
    if (at_ == 3) return torch::nullopt;
    const auto samples = static_cast<std::int64_t>(count);
    return Example<>{torch::full({samples, 2}, ++at_), torch::full({samples}, resets_)};
  }
  torch::optional<std::size_t> size() const override { return torch::nullopt; }
  void reset() override { at_ = 0, ++resets_; }
  void save(torch::serialize::OutputArchive&) const override {}
  void load(torch::serialize::InputArchive&) override {}

 private:
  int at_ = 3;
  std::int64_t resets_ = 0;
};

struct Counted : torch::data::datasets::StreamDataset<Counted, TensorExample> {
  TensorExample get_batch(std::size_t count) override {
    most = std::max(most, count);
    return {torch::ones({static_cast<std::int64_t>(count)})};
  }
  torch::optional<std::size_t> size() const override { return 10; }
  std::size_t most = 0;
};

struct Single : Images {  // as is whatever owns a file
  using Images::Images;
  Single(const Single&) = delete;
};

}  // namespace

TEST_CASE("epochs are as long as the loader makes them", "[torch][serve]") {
  const StreamFolder folder;
  Growing loader;
  const Taken taken = serve_and_take(loader, serving(folder, 3));
  CHECK(taken.epochs == std::vector<std::size_t>{1, 3, 6});
  CHECK(taken.ids == std::vector<std::uint64_t>{0, 0, 1, 2, 0, 1, 2, 3, 4, 5});
  CHECK(taken.matched == 3);
}

TEST_CASE("a dataset with indices is served with its indices", "[torch][serve]") {
  const unsigned workers = GENERATE(1U, 3U);
  CAPTURE(workers);
  const StreamFolder folder;
  Images images(100);
  SECTION("reshuffled, as examples") {
    const Taken taken = serve_and_take(images, serving(folder, 2), {.workers = workers, .seed = 5});
    REQUIRE(taken.epochs == std::vector<std::size_t>{100, 100});
    std::vector<std::uint64_t> first(taken.ids.begin(), taken.ids.begin() + 100);
    std::vector<std::uint64_t> second(taken.ids.begin() + 100, taken.ids.end());
    CHECK(first != second);
    CHECK(first != indices(100));
    const torch::Tensor order =
        torch::tensor(std::vector<std::int64_t>(taken.ids.begin(), taken.ids.end()), torch::kLong);
    CHECK((taken.bytes.at("target") == bytes_of(order)));
    CHECK((taken.bytes.at("data") == bytes_of(images.images.index_select(0, order))));
    for (auto* epoch : {&first, &second}) {
      std::sort(epoch->begin(), epoch->end());
      CHECK(*epoch == indices(100));
    }
  }
  SECTION("in its own order, stacked") {
    auto stacked = images.map(torch::data::transforms::Stack<>());
    const Taken taken = serve_and_take(stacked, serving(folder, 2),
                                       {.workers = workers, .order = OrderMode::sequential});
    CHECK(taken.ids == indices(100, 2));
    CHECK((taken.bytes.at("data") == repeated(bytes_of(images.images), 2)));
  }
}

TEST_CASE("a dataset that cannot be copied has one worker", "[torch][serve]") {
  const StreamFolder folder;
  Single images(10);
  CHECK(serve_and_take(images, serving(folder)).epochs == std::vector<std::size_t>{10});
  CHECK_THROWS_WITH(serve(images, serving(folder), {.workers = 2}),
                    Catch::Contains("Serve it with workers = 1"));
}

TEST_CASE("stateful and stream datasets are served", "[torch][serve]") {
  const StreamFolder folder;
  Stateful stateful;
  const Taken taken = serve_and_take(stateful, serving(folder, 2), {.batch_size = 2});
  CHECK(taken.epochs == std::vector<std::size_t>{6, 6});
  CHECK((taken.bytes.at("target") ==
         bytes_of(torch::tensor({1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}, torch::kLong))));

  Counted counted;
  CHECK(serve_and_take(counted, serving(folder, 2), {.batch_size = 4}).epochs ==
        std::vector<std::size_t>{10, 10});
  CHECK(counted.most == 4);
}

TEST_CASE("batchcast stop ends a served loader", "[torch][serve]") {
  const StreamFolder folder;
  Images images(100);
  auto loader = torch::data::make_data_loader(images.map(torch::data::transforms::Stack<>()),
                                              torch::data::DataLoaderOptions(8).workers(1));
  auto served = std::async(std::launch::async, [&] { return serve(*loader, serving(folder, 0)); });
  Consumer consumer({.stream = "mine", .batch_size = 16, .directory = folder.path()});
  CHECK(consumer.next().has_value());
  CHECK(stop_stream(folder.path()));
  CHECK(served.get().state == StreamState::stopped);
  CHECK_THROWS_AS(
      [&] {
        for (;;) static_cast<void>(consumer.next());
      }(),
      Stopped);
}

TEST_CASE("what nobody comes for lingers no longer than it is told to", "[torch][serve]") {
  const StreamFolder folder;
  ProducerOptions options = serving(folder);
  options.wait_for = 0;
  options.linger_ms = 10;
  const std::vector<torch::Tensor> loader = {some_data};
  CHECK(serve(loader, options).published == 2);
}

TEST_CASE("a served loader's batches come back from a shared one", "[torch][serve]") {
  const StreamFolder folder;
  const StreamFolder mirror_folder;
  Images images(100);
  ProducerOptions mirrored = serving(mirror_folder, 1);
  auto served = std::async(std::launch::async, [&] { return serve(images, serving(folder, 1)); });
  auto loader = make_shared_data_loader<Map>({.stream = "mine", .directory = folder.path()}, 7);
  // A stream is a loader, too: this one is mirrored.
  auto mirror = std::async(std::launch::async, [&] { return serve(*loader, mirrored); });
  auto again =
      make_shared_data_loader<Map>({.stream = "mine", .directory = mirror_folder.path()}, 9);
  std::vector<torch::Tensor> data;
  std::vector<torch::Tensor> target;
  std::vector<torch::Tensor> ids;
  for (auto& batch : *again) {
    data.push_back(batch.at("data").clone());
    target.push_back(batch.at("target").clone());
    ids.push_back(batch.at("sample_id").clone());
  }
  again->join();
  CHECK(mirror.get().state == StreamState::finished);
  loader->join();
  CHECK(served.get().state == StreamState::finished);
  const torch::Tensor order = torch::cat(ids);
  REQUIRE(order.size(0) == 100);
  CHECK(torch::equal(torch::cat(target), order));
  CHECK(torch::equal(torch::cat(data), images.images.index_select(0, order)));
}
