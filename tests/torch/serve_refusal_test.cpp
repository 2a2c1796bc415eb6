// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// What of a torch loader cannot be served, and who is told what.
#include "serve_support.hpp"

#include "catch.hpp"

#include <cstdint>
#include <future>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

using torch::data::Example;

/// Serves to a consumer; both see the text.
template <class Source>
void check_fails(Source& source, std::uint64_t epochs, const std::string& text) {
  const StreamFolder folder;
  auto served =
      std::async(std::launch::async, [&] { return serve(source, serving(folder, epochs)); });
  const Taken taken = take(folder.path(), 1);
  CHECK_THAT(taken.failure, Catch::Contains(text));
  CHECK_THROWS_WITH(served.get(), Catch::Contains(text));
}

/// Gives so many samples, and then up.
struct Failing : torch::data::datasets::Dataset<Failing> {
  explicit Failing(std::size_t at) : fails_at(at) {}
  Example<> get(std::size_t index) override {
    if (index >= fails_at) throw std::runtime_error("disk on fire");
    return {torch::ones({3}), torch::ones({})};
  }
  torch::optional<std::size_t> size() const override { return 20; }
  std::size_t fails_at;
};

/// Goes through its batches once.
struct Once {
  std::vector<torch::Tensor> batches = {torch::ones({4, 2})};
  int passes = 0;
  auto begin() { return ++passes == 1 ? batches.begin() : batches.end(); }
  auto end() { return batches.end(); }
};

struct Lavish : torch::data::datasets::BatchDataset<Lavish, Example<>> {
  Example<> get_batch(torch::ArrayRef<std::size_t> indices) override {
    const auto samples = static_cast<std::int64_t>(indices.size()) + (asked ? 1 : 0);
    asked = true;
    return {torch::ones({samples, 2}), torch::ones({samples})};
  }
  torch::optional<std::size_t> size() const override { return 20; }
  bool asked = false;
};

}  // namespace

TEST_CASE("a tensor that cannot be served is named", "[torch][serve]") {
  const StreamFolder folder;
  const torch::Tensor data = torch::ones({4, 2});
  const auto refused = [&](const torch::Tensor& target, const std::string& text) {
    const std::vector<Example<>> loader = {{data, target}};
    CHECK_THROWS_AS(serve(loader, serving(folder)), InvalidArgument);
    CHECK_THROWS_WITH(serve(loader, serving(folder)),
                      Catch::Contains("`target`") && Catch::Contains(text));
    const std::vector<std::vector<Example<>>> list = {{{data[0], target}}};
    if (target.defined() && target.dim() != 0 && target.size(0) == 4) {
      CHECK_THROWS_AS(serve(list, serving(folder)), InvalidArgument);
    }
  };
  refused(torch::Tensor(), "undefined");
  refused(torch::ones({4, 2}, torch::kComplexFloat), "ComplexFloat");
  refused(torch::quantize_per_tensor(data, 0.1, 0, torch::kQInt8), "QInt8");
  refused(torch::ones({4, 2}).to_sparse(), "sparse");
  refused(torch::ones({4, 2}, torch::kMeta), "meta");
  refused(torch::ones({}), "without dimensions");
  const std::vector<Example<>> uneven = {{data, torch::ones({3})}};
  CHECK_THROWS_WITH(serve(uneven, serving(folder)),
                    Catch::Contains("4 samples of field `data` and 3 of `target`"));
  const std::vector<Map> taken_name = {{{"x", data}, {"sample_id", torch::ones({4})}}};
  CHECK_THROWS_WITH(serve(taken_name, serving(folder)), Catch::Contains("one i64"));
  const std::vector<std::vector<torch::Tensor>> ragged = {{torch::ones({2}), torch::ones({3})}};
  CHECK_THROWS_WITH(serve(ragged, serving(folder)), Catch::Contains("`data f32 [2]` in one"));
  const std::vector<std::vector<Map>> odd = {{{{"x", data}}, {{"y", data}}}};
  CHECK_THROWS_WITH(serve(odd, serving(folder)), Catch::Contains("has `y`"));
  const std::vector<std::vector<Map>> lacking = {{{{"x", data}, {"y", data}}, {{"x", data}}}};
  CHECK_THROWS_WITH(serve(lacking, serving(folder)), Catch::Contains("lacks `y`"));
}

TEST_CASE("a batch unlike the first one is refused", "[torch][serve]") {
  const torch::Tensor first = torch::ones({4, 2});
  const auto refused = [](const auto& loader, const std::string& text) {
    const StreamFolder folder;
    ProducerOptions options = serving(folder);
    options.linger_ms = 0;
    CHECK_THROWS_AS(serve(loader, options), InvalidArgument);
    CHECK_THROWS_WITH(serve(loader, options), Catch::Contains(text));
  };
  using Tensors = std::vector<torch::Tensor>;
  refused(Tensors{first, torch::ones({4, 3})},
          "had `data f32 [2]`, and this one has `data f32 [3]`");
  refused(Tensors{first, torch::ones({4, 2}, torch::kDouble)}, "and this one has `data f64 [2]`");
  using Maps = std::vector<Map>;
  refused(Maps{{{"x", first}}, {{"x", first}, {"y", first}}}, "had no field `y`");
  refused(Maps{{{"x", first}, {"y", first}}, {{"x", first}}}, "field `y`, and this one has none");
}

TEST_CASE("a batch unlike the first one fails the stream for everybody", "[torch][serve]") {
  const StreamFolder folder;
  const std::vector<torch::Tensor> loader = {torch::ones({4, 2}), torch::ones({4, 3})};
  auto served = std::async(std::launch::async, [&] { return serve(loader, serving(folder)); });
  CHECK_THAT(take(folder.path(), 1).failure,
             Catch::Contains("this one has `data f32 [3]`") &&
                 Catch::Contains("(after 4 samples of epoch 0 of the torch::data loader)"));
  CHECK_THROWS_AS(served.get(), InvalidArgument);
}

TEST_CASE("what a loader throws reaches every consumer and the caller", "[torch][serve]") {
  const std::size_t workers = GENERATE(0, 1);
  auto loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
      Failing(8), torch::data::DataLoaderOptions(4).workers(workers));
  check_fails(*loader, 1, "disk on fire");
}

TEST_CASE("what a dataset throws reaches every consumer and the caller", "[torch][serve]") {
  const StreamFolder folder;
  Failing dataset(8);
  auto served = std::async(std::launch::async, [&] {
    return serve(dataset, serving(folder), {.order = OrderMode::sequential});
  });
  CHECK_THAT(take(folder.path(), 1).failure, Catch::Contains("disk on fire"));
  CHECK_THROWS_WITH(served.get(), Catch::Contains("disk on fire"));
}

namespace {

struct OnFire : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One sample of it cannot be had.
struct FailingOnce : torch::data::datasets::Dataset<FailingOnce> {
  Example<> get(std::size_t index) override {
    if (index == 17) throw OnFire("disk on fire");
    return {torch::ones({3}), torch::ones({})};
  }
  torch::optional<std::size_t> size() const override { return 20; }
};

}  // namespace

TEST_CASE("a sample that a dataset cannot give is named, with its position", "[torch][serve]") {
  const StreamFolder folder;
  FailingOnce dataset;
  const auto [order, workers] =
      GENERATE(std::pair(OrderMode::sequential, 1U), std::pair(OrderMode::sequential, 2U),
               std::pair(OrderMode::reshuffle, 1U));
  const ServeOptions how = {.workers = workers, .order = order, .seed = 5};
  auto served =
      std::async(std::launch::async, [&] { return serve(dataset, serving(folder, 2), how); });
  const batchcast::Order shuffled({.samples_per_epoch = 20, .seed = how.seed, .mode = order});
  const std::string failure = take(folder.path(), 1).failure;
  // Of two workers, the one in a later epoch may come to it first.
  bool is_named = false;
  for (std::uint64_t epoch = 0; epoch < (workers == 1 ? 1 : 20); ++epoch) {
    const std::uint64_t position = 20 * epoch + shuffled.offset_of(epoch, 17).value();
    const std::string where = "at position " + std::to_string(position) + " of the stream (epoch " +
                              std::to_string(epoch) + "): disk on fire";
    is_named = is_named || failure.find("sample 17 of the dataset, " + where) != failure.npos;
  }
  INFO(failure);
  CHECK(is_named);
  CHECK_THAT(failure, !Catch::Contains("failed at position"));
  CHECK_THROWS_AS(served.get(), OnFire);
}

TEST_CASE("what the first batch throws is the caller's", "[torch][serve]") {
  const StreamFolder folder;
  auto loader = torch::data::make_data_loader(Failing(0), 4);
  CHECK_THROWS_WITH(serve(*loader, serving(folder)), Catch::Contains("disk on fire"));
  Failing dataset(0);
  CHECK_THROWS_WITH(serve(dataset, serving(folder)), Catch::Contains("disk on fire"));
  std::vector<torch::Tensor> none;
  CHECK_THROWS_WITH(serve(none, serving(folder)), Catch::Contains("has no batch"));
  std::vector<torch::Tensor> empty = {torch::ones({0, 3})};
  CHECK_THROWS_WITH(serve(empty, serving(folder)), Catch::Contains("has no sample"));
}

TEST_CASE("an epoch without a batch is no endless loop", "[torch][serve]") {
  Once once;
  check_fails(once, 0,
              "epoch 1 of the torch::data loader has no batch. If it can be gone through "
              "only once, serve it with epochs = 1");
}

TEST_CASE("a dataset gives as many samples as it is asked for", "[torch][serve]") {
  const StreamFolder folder;
  Lavish dataset;
  auto served = std::async(std::launch::async, [&] { return serve(dataset, serving(folder)); });
  CHECK_THAT(take(folder.path(), 4).failure, Catch::Contains(" samples and gave "));
  CHECK_THROWS_AS(served.get(), InvalidArgument);
}

TEST_CASE("options that only the samples can tell are refused", "[torch][serve]") {
  const StreamFolder folder;
  const std::vector<torch::Tensor> loader = {torch::ones({4, 2})};
  ProducerOptions options = serving(folder);
  options.samples_per_epoch = 4;
  CHECK_THROWS_WITH(serve(loader, options), Catch::Contains("Leave `schema`"));
  options.samples_per_epoch = 0;
  options.pure = true;
  CHECK_THROWS_WITH(serve(loader, options), Catch::Contains("Leave `schema`"));
  Failing dataset(20);
  CHECK_THROWS_WITH(serve(dataset, options), Catch::Contains("Leave `schema`"));
}
