// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/host_copy.hpp>
#include <batchcast/cuda/device_memory.hpp>
#include <batchcast/cuda/stream.hpp>
#include "../cuda/fake.hpp"
#include "ring_bytes.hpp"

#include <batchcast/batchcast.hpp>

#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

// A producer and its consumers in one process, over the fake driver.
namespace batchcast::testing {

inline bool eventually(const std::function<bool()>& condition, int timeout_ms = 10'000) {
  for (int waited_ms = 0; !condition(); ++waited_ms) {
    if (waited_ms == timeout_ms) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// `pinned`: the ring is in host memory, which consumers page-lock. `device`: it is mirrored.
enum class Where { pinned, device };

/// Where a driver can page-lock a ring that is mapped for reading only, which the fake must be
/// told.
constexpr const char* pins_in_place = "read_only_register=1";
[[nodiscard]] inline std::string settings_for(Where where, const std::string& others) {
  return where == Where::pinned ? others + " " + pins_in_place : others;
}
/// Those that this driver offers.
[[nodiscard]] inline std::vector<Where> possible_places() {
  if (batchcast_fake_cuda_can(pins_in_place)) return {Where::pinned, Where::device};
  return {Where::device};
}

constexpr std::uint64_t words_per_sample = 32;

constexpr std::uint64_t word_at(std::uint64_t position, std::uint64_t word) noexcept {
  return position * 1'000'003 + word;
}

/// What is wrong with a batch in host memory; empty if nothing is.
inline std::string fault_of(const std::uint64_t* words, std::uint64_t stride_words,
                            std::uint64_t position, std::uint64_t samples) {
  for (std::uint64_t i = 0; i < samples; ++i) {
    for (std::uint64_t w = 0; w < words_per_sample; ++w) {
      const std::uint64_t seen = words[i * stride_words + w];
      if (seen == word_at(position + i, w)) continue;
      return "position " + std::to_string(position + i) + ", word " + std::to_string(w) + " is " +
             std::to_string(seen);
    }
  }
  return {};
}

inline std::string fault_of(const Batch& batch) {
  const Batch host = detail::copy_to_host(batch);
  const auto view = host.field<std::uint64_t>("x");
  for (std::uint64_t i = 0; i < batch.size(); ++i) {
    if (batch.sample_ids()[i] != batch.position() + i) return "another's id";
    const std::string fault = fault_of(view[i].data(), 0, batch.position() + i, 1);
    if (!fault.empty()) return fault;
  }
  return {};
}

/// Serves the stream `s` on its own directory; its producer publishes when it is told to.
class Scene {
 public:
  explicit Scene(Where where, std::vector<Placement> places = {"cuda:0"}) : where_(where) {
    std::string pattern = std::filesystem::temp_directory_path() / "batchcast-gpu-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    ProducerOptions options;
    options.stream = "s";
    options.schema = {{"x", DType::u64, {words_per_sample}}};
    options.memory = 64 << 10;
    if (where == Where::device) {
      options.places = std::move(places);
      options.device_memory = ring_bytes(64 << 10, 1);
    }
    options.linger_ms = 0;
    options.directory = directory_;
    options.log = [](LogLevel, std::string_view) {};
    producer_.emplace(std::move(options));
  }
  ~Scene() {
    producer_.reset();
    std::filesystem::remove_all(directory_);
  }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  [[nodiscard]] ConsumerOptions consumer(std::uint64_t batch_size) const {
    ConsumerOptions options;
    options.stream = "s";
    options.batch_size = batch_size;
    options.directory = directory_;
    options.connect_timeout_ms = 5'000;
    if (where_ == Where::pinned) options.pin = true;
    if (where_ == Where::device) options.placement = "cuda:0";
    return options;
  }

  [[nodiscard]] Producer& producer() noexcept { return *producer_; }
  [[nodiscard]] const std::string& directory() const noexcept { return directory_; }

  /// As many as fit, at most so many; how many that were.
  std::uint64_t publish(std::uint64_t samples, int timeout_ms = 5'000) {
    std::uint64_t published = 0;
    while (published < samples) {
      auto loan = producer_->try_loan(samples - published, timeout_ms);
      if (!loan) break;
      const auto x = loan->field<std::uint64_t>("x");
      for (std::uint64_t i = 0; i < loan->size(); ++i) {
        for (std::uint64_t w = 0; w < words_per_sample; ++w) {
          x[i][w] = word_at(loan->position() + i, w);
        }
        loan->sample_ids()[i] = loan->position() + i;
      }
      published += loan->size();
      loan->publish();
    }
    return published;
  }
  /// Until somebody is in the way.
  void fill_up() { static_cast<void>(publish(~std::uint64_t{0}, 50)); }

 private:
  Where where_;
  std::string directory_;
  std::optional<Producer> producer_;
};

/// Publishes on a thread of its own, as fast as there is room, while it lives.
class Publishing {
 public:
  explicit Publishing(Scene& scene)
      : thread_([this, &scene] {
          while (!stop_) static_cast<void>(scene.publish(16, 20));
        }) {}
  ~Publishing() {
    stop_ = true;
    thread_.join();
  }
  Publishing(const Publishing&) = delete;
  Publishing& operator=(const Publishing&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/// A trainer's stream that makes no progress until it is told to, with work on it.
class HeldStream {
 public:
  explicit HeldStream(unsigned device = 0)
      : device_(detail::cuda::Device::open(device)), memory_(device_, 2 << 20), stream_(device_) {
    batchcast_fake_cuda_hold(stream_.handle());
  }
  ~HeldStream() { batchcast_fake_cuda_release(stream_.handle()); }
  HeldStream(const HeldStream&) = delete;
  HeldStream& operator=(const HeldStream&) = delete;

  [[nodiscard]] void* handle() const noexcept { return stream_.handle(); }

  /// Enqueues what a training step does with a batch: it reads it.
  void read(const Batch& batch) {
    position_ = batch.position();
    samples_ = batch.size();
    if (batch.placement().is_host()) {
      const auto view = batch.field<std::byte>("x");
      stream_.copy_to_device(memory_.data(), view.data(), samples_ * view.sample_stride_bytes());
    } else {
      const auto view = batch.device_field<std::byte>("x");
      stream_.copy_on_device(memory_.data(), view.data(), samples_ * view.sample_stride_bytes());
    }
  }
  void release() { batchcast_fake_cuda_release(stream_.handle()); }
  /// What was wrong with what it read; call it once it is released.
  [[nodiscard]] std::string fault() {
    std::vector<std::uint64_t> words(samples_ * words_per_sample);
    stream_.copy_to_host(reinterpret_cast<std::byte*>(words.data()), memory_.data(),
                         words.size() * sizeof(std::uint64_t));
    stream_.wait();
    return fault_of(words.data(), words_per_sample, position_, samples_);
  }

 private:
  std::shared_ptr<detail::cuda::Device> device_;
  detail::cuda::DeviceBuffer memory_;
  detail::cuda::Stream stream_;
  std::uint64_t position_ = 0;
  std::uint64_t samples_ = 0;
};

}  // namespace batchcast::testing
