// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batchcast.hpp>
#include <batchcast/torch/serve.hpp>
#include "control/transport.hpp"
#include "stream/stream_directory.hpp"

#include "filled_stream.hpp"

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <future>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace batchcast::testing {

using Map = std::map<std::string, torch::Tensor>;

/// All that a consumer got, and how it ended.
struct Taken {
  Schema schema;
  std::string recipe_json;
  std::map<std::string, std::string> bytes;  ///< of each field, sample after sample
  std::vector<std::uint64_t> ids;
  std::vector<std::size_t> epochs;  ///< samples in each
  std::uint64_t matched = 0;
  std::string failure;  ///< what StreamFailed says
  bool finished = false;
  bool stopped = false;
};

inline void add_batch(Taken& taken, const Batch& batch) {
  for (std::size_t i = 0; i < taken.schema.size(); ++i) {
    const auto field = batch.field<std::byte>(i);
    for (std::size_t j = 0; j < field.size(); ++j) {
      taken.bytes[taken.schema[i].name].append(reinterpret_cast<const char*>(field[j].data()),
                                               field[j].size());
    }
  }
  taken.ids.insert(taken.ids.end(), batch.sample_ids().begin(), batch.sample_ids().end());
  if (taken.epochs.size() == batch.epoch()) taken.epochs.push_back(0);
  taken.epochs.back() += batch.size();
}

/// Takes stream `mine` until it is over.
inline Taken take(const std::string& directory, std::uint64_t batch_size) {
  Taken taken;
  try {
    Consumer consumer({.stream = "mine", .batch_size = batch_size, .directory = directory});
    taken.schema = consumer.schema();
    taken.recipe_json = consumer.recipe_json();
    while (consumer.has_next_epoch()) {
      for (const Batch& batch : consumer) add_batch(taken, batch);
      taken.matched = consumer.stats().epochs_matched;
    }
    taken.finished = true;
  } catch (const StreamFinished&) {
    taken.finished = true;
  } catch (const StreamFailed& error) {
    taken.failure = error.what();
  } catch (const Stopped&) {
    taken.stopped = true;
  }
  return taken;
}

/// Ends stream `mine` as `batchcast stop mine` does; false if nobody serves it.
inline bool stop_stream(const std::string& directory) {
  return ask_control(stream_paths(directory, "mine").control, R"({"command":"stop"})", 10'000)
      .has_value();
}

[[nodiscard]] inline ProducerOptions serving(const StreamFolder& folder, std::uint64_t epochs = 1) {
  return {.stream = "mine",
          .memory = 1 << 20,
          .epochs = epochs,
          .wait_for = 1,
          .linger_ms = 20'000,
          .directory = folder.path()};
}

/// Serves on another thread, and takes all of it on this one.
template <class Source>
[[nodiscard]] Taken serve_and_take(Source& source, ProducerOptions options, ServeOptions how = {}) {
  const std::string directory = options.directory;
  auto served = std::async(std::launch::async,
                           [&] { return serve(source, std::move(options), std::move(how)); });
  Taken taken = take(directory, 16);
  static_cast<void>(served.get());
  return taken;
}

[[nodiscard]] inline std::string bytes_of(const torch::Tensor& tensor) {
  const torch::Tensor plain = tensor._is_zerotensor()
                                  ? torch::zeros(tensor.sizes(), tensor.options())
                                  : tensor.resolve_neg().contiguous();
  return {static_cast<const char*>(address_of(plain)), plain.nbytes()};
}

/// Values that fit into every dtype.
[[nodiscard]] inline torch::Tensor numbers(torch::IntArrayRef sizes,
                                           torch::ScalarType type = torch::kFloat) {
  return torch::randint(0, 100, sizes, torch::kLong).to(type);
}

}  // namespace batchcast::testing
