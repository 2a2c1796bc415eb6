// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include <batchcast/ring/memory.hpp>

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace batchcast {
namespace {

constexpr std::uint64_t chunk_bytes = std::uint64_t{4} << 20;

// Of Linux 5.14; older headers lack them.
constexpr int populate_read = 22;
constexpr int populate_write = 23;

void populate(std::byte* at, std::uint64_t bytes, MapMode mode) noexcept {
  const int advice = mode == MapMode::read_only ? populate_read : populate_write;
  if (::madvise(at, bytes, advice) == 0) return;
  const std::uint64_t page = page_bytes();
  for (std::uint64_t offset = 0; offset < bytes; offset += page) {
    [[maybe_unused]] const auto seen =
        *reinterpret_cast<const volatile unsigned char*>(at + offset);
  }
}

struct Span {
  std::byte* data;
  std::uint64_t bytes;
};

}  // namespace

struct Populator::State {
  std::vector<Span> spans;
  MapMode mode;
  std::atomic<bool> stop{false};
  std::thread thread;

  void run() noexcept {
    pthread_setname_np(pthread_self(), "bc-populate");
    std::uint64_t longest = 1;
    for (const Span& span : spans) longest = std::max(longest, span.bytes);
    const std::uint64_t steps = (longest + chunk_bytes - 1) / chunk_bytes;
    const std::uint64_t page = page_bytes();
    for (std::uint64_t step = 0; step < steps; ++step) {
      // Every field by the same share of its length: a position is at the same share of all of them.
      for (const Span& span : spans) {
        const auto at = [&](std::uint64_t number) {
          const auto bytes = static_cast<std::uint64_t>(
              static_cast<double>(span.bytes) * static_cast<double>(number) /
              static_cast<double>(steps));
          return number == steps ? span.bytes : bytes / page * page;
        };
        for (std::uint64_t from = at(step); from < at(step + 1); from += chunk_bytes) {
          const std::uint64_t bytes = std::min(chunk_bytes, at(step + 1) - from);
          if (stop.load(std::memory_order_relaxed)) return;
          populate(span.data + from, bytes, mode);
          populate(span.data + span.bytes + from, bytes, mode);
        }
      }
    }
  }
};

Populator::Populator(const std::vector<DoubleMapping>& mappings, MapMode mode)
    : state_(std::make_unique<State>()) {
  state_->mode = mode;
  for (const DoubleMapping& mapping : mappings) {
    state_->spans.push_back({mapping.data(), mapping.bytes()});
  }
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

Populator::~Populator() {
  if (!state_ || !state_->thread.joinable()) return;
  state_->stop.store(true, std::memory_order_relaxed);
  state_->thread.join();
}

void Populator::abandon() noexcept {
  if (state_->thread.joinable()) state_->thread.detach();
}

}  // namespace batchcast
