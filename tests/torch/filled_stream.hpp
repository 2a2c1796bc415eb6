// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batchcast.hpp>

#include <ATen/core/Tensor.h>
#include <torch/version.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace batchcast::testing {

/// A folder for streams, gone with the object. Sockets have short names: not below $TMPDIR.
class StreamFolder {
 public:
  StreamFolder() {
    std::string name = "/tmp/bc-torch-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp: " + name);
    path_ = name;
  }
  StreamFolder(const StreamFolder&) = delete;
  StreamFolder& operator=(const StreamFolder&) = delete;
  ~StreamFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

inline constexpr std::int64_t image_elements = std::int64_t{3} * 8 * 8;

[[nodiscard]] inline Schema image_schema() {
  return {{"image", DType::f32, {3, 8, 8}}, {"label", DType::i64, {}}};
}

/// One epoch of a stream whose samples are all in the ring already. f32 fields hold small whole
/// numbers, `label` the number of the sample modulo ten, all others random bytes (bool: 0 and 1).
class FilledStream {
 public:
  explicit FilledStream(Schema schema, std::uint64_t samples, std::uint64_t memory = 8 << 20,
                        std::vector<Placement> places = {})
      : producer_({.stream = "filled",
                   .schema = std::move(schema),
                   .memory = memory,
                   .samples_per_epoch = samples,
                   .epochs = 1,
                   .places = std::move(places),
                   .linger_ms = 0,
                   .directory = folder_.path()}) {
    for (std::uint64_t made = 0; made < samples;) {
      Loan loan = producer_.loan(samples - made).value();
      for (std::size_t field = 0; field < producer_.schema().size(); ++field) fill(loan, field);
      made += loan.size();
      loan.publish();
    }
  }

  [[nodiscard]] ConsumerOptions options(std::uint64_t batch_size) const {
    return {.stream = "filled", .batch_size = batch_size, .directory = folder_.path()};
  }
  [[nodiscard]] Consumer consumer(std::uint64_t batch_size) const {
    return Consumer(options(batch_size));
  }
  [[nodiscard]] Producer& producer() noexcept { return producer_; }

 private:
  void fill(const Loan& loan, std::size_t field) {
    const FieldSpec& spec = producer_.schema()[field];
    if (spec.dtype == DType::f32) {
      const auto view = loan.field<float>(field);
      for (std::size_t i = 0; i < view.size(); ++i) {
        for (float& element : view[i]) element = static_cast<float>(random_() % 64) - 20;
      }
    } else if (spec.name == "label") {
      for (std::size_t i = 0; i < loan.size(); ++i) {
        loan.field<std::int64_t>(field)[i][0] =
            static_cast<std::int64_t>((loan.index_in_epoch() + i) % 10);
      }
    } else {
      const std::uint64_t mask = spec.dtype == DType::boolean ? 1 : 255;
      const auto view = loan.field<std::byte>(field);
      for (std::size_t i = 0; i < view.size(); ++i) {
        for (std::byte& byte : view[i]) byte = static_cast<std::byte>(random_() & mask);
      }
    }
  }

  std::mt19937_64 random_{7};
  StreamFolder folder_;
  Producer producer_;
  /// Where all that are attached have read the last epoch, or are just leaving, nobody else may
  /// come.
  std::optional<Consumer> stays_;
};

/// Where a tensor's elements lie; asking does not copy.
[[nodiscard]] inline const void* address_of(const at::Tensor& tensor) {
#if TORCH_VERSION_MAJOR >= 2
  return tensor.const_data_ptr();
#else
  return tensor.data_ptr();
#endif
}

}  // namespace batchcast::testing
