// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// Tensors that a graph holds after their consumer has left.
#include "catch.hpp"

#include <batchcast/torch.hpp>

#include <torch/torch.h>

#include "filled_stream.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>

namespace batchcast {
namespace {

/// A stream without an end, made by a thread: each element of `image` is the sample's index.
class EndlessStream {
 public:
  EndlessStream()
      : producer_({.stream = "endless",
                   .schema = testing::image_schema(),
                   .memory = 1 << 20,
                   .samples_per_epoch = 50'000,
                   .linger_ms = 0,
                   .directory = folder_.path()}),
        thread_([this] { make(); }) {}
  ~EndlessStream() {
    producer_.stop("the test is over");
    thread_.join();
  }
  EndlessStream(const EndlessStream&) = delete;
  EndlessStream& operator=(const EndlessStream&) = delete;

  [[nodiscard]] ConsumerOptions options() const {
    return {.stream = "endless",
            .batch_size = 16,
            .directory = folder_.path(),
            .log = [](LogLevel, std::string_view) {}};
  }

 private:
  void make() {
    while (auto loan = producer_.loan(16)) {
      const auto images = loan->field<float>("image");
      for (std::size_t i = 0; i < loan->size(); ++i) {
        const auto value = static_cast<float>(loan->index_in_epoch() + i);
        std::fill(images[i].begin(), images[i].end(), value);
        loan->field<std::int64_t>("label")[i][0] = 0;
      }
      loan->publish();
    }
  }

  testing::StreamFolder folder_;
  Producer producer_;
  std::thread thread_;
};

}  // namespace

TEST_CASE("A graph that outlives its consumer keeps its samples, and the stream goes on") {
  const EndlessStream stream;
  Consumer other(stream.options());
  auto consumer = std::make_unique<Consumer>(stream.options());
  at::Tensor weight = torch::ones({4, testing::image_elements}, torch::requires_grad());
  at::Tensor loss;
  at::Tensor expected;
  {
    const Batch batch = *consumer->next();
    const at::Tensor input = tensor_of(batch, "image").view({16, -1});
    expected = input.sum(0).expand({4, -1}).clone();
    loss = torch::linear(input, weight).sum();
  }
  SECTION("the consumer is gone") { consumer.reset(); }
  SECTION("the epoch was left") { consumer->leave_epoch(); }
  consumer.reset();
  for (std::uint64_t read = 0; read < 3 * other.capacity();) {
    const NextBatch next = other.try_next(10'000);
    REQUIRE(next.outcome == Outcome::batch);
    read += next.batch.size();
  }
  loss.backward();
  CHECK(torch::allclose(weight.grad(), expected));
}

}  // namespace batchcast
