// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "../catch.hpp"
#include "../fake_cuda/control.hpp"
#include "ring_bytes.hpp"

#include <batchcast/ring/reader.hpp>
#include "ring/writer/writer.hpp"

#include <batchcast/cuda/device_memory.hpp>
#include "served/device_rings.hpp"
#include "served/host_ring.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace batchcast::testing {

/// The fake driver with these settings, and the environment's again afterwards.
struct FakeGpu {
  explicit FakeGpu(const std::string& settings) { batchcast_fake_cuda_configure(settings.c_str()); }
  ~FakeGpu() { batchcast_fake_cuda_configure(nullptr); }
  FakeGpu(const FakeGpu&) = delete;
  FakeGpu& operator=(const FakeGpu&) = delete;
};

/// Waits for what another thread is about to do. False if it does not within ten seconds.
template <class Condition>
[[nodiscard]] bool soon(Condition&& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

[[nodiscard]] inline std::uint64_t id_of(std::uint64_t position) noexcept {
  return position * 0x9e3779b97f4a7c15u >> 7;
}

/// What byte `at` of a field's sample is.
[[nodiscard]] inline std::byte byte_of(std::size_t field, std::uint64_t position,
                                       std::uint64_t at) noexcept {
  const std::uint64_t mixed = (position * 257 + field * 8191 + at) * 0xd6e8feb86659fd93u;
  return static_cast<std::byte>(mixed >> 56);
}

/// A producer's host ring, with samples whose bytes are known.
class KnownHostRing {
 public:
  explicit KnownHostRing(const ProducerOptions& wanted)
      : options(wanted), host_options(unbounded(wanted)), ring({host_options}) {}

  [[nodiscard]] std::unique_ptr<detail::ServedRing> ring_on(unsigned device) {
    return detail::make_device_ring({.options = options,
                                     .placement = Placement::on_cuda(device),
                                     .host = ring,
                                     .first_consumer_id = (std::uint64_t{device} + 1) << 48 | 1,
                                     .host_pins = &pins_,
                                     .log = [this](LogLevel, std::string_view text) {
                                       const std::lock_guard lock(mutex_);
                                       lines_.emplace_back(text);
                                     }});
  }

  /// Up to n samples, as many as there is room for; how many it were.
  std::uint64_t produce(std::uint64_t n, int timeout_ms = 0) {
    Ticket ticket;
    if (writer->claim(n, timeout_ms, ticket) != Claim::granted) return 0;
    Receipt receipt;
    for (std::uint64_t p = ticket.position; p < ticket.position + ticket.size; ++p) {
      make(p);
      const std::uint64_t id = id_of(p);
      receipt.add(std::span(&id, 1));
    }
    writer->publish(ticket, receipt);
    return ticket.size;
  }
  /// Writes one sample.
  void make(std::uint64_t position) noexcept {
    for (std::size_t f = 0; f + 1 < fields.size(); ++f) {
      std::byte* const sample = windows[f].at(position);
      for (std::uint64_t i = 0; i < windows[f].sample_bytes; ++i) {
        sample[i] = byte_of(f, position, i);
      }
    }
    const std::uint64_t id = id_of(position);
    std::memcpy(windows.back().at(position), &id, sizeof id);
  }
  /// All that it takes now.
  std::uint64_t fill() {
    std::uint64_t all = 0;
    while (const std::uint64_t some = produce(64)) all += some;
    return all;
  }

  [[nodiscard]] std::string log() {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const std::string& line : lines_) text += line + "\n";
    return text;
  }

  ProducerOptions options;
  const ProducerOptions host_options;
  detail::HostRing ring;
  const Schema& fields = ring.fields();
  const RingPlan& plan = ring.plan();
  const std::vector<FieldWindow>& windows = ring.windows();
  RingWriter* const writer = &ring.writer();

 private:
  /// Only what is on GPUs bounds how far ahead the stream is made.
  [[nodiscard]] static ProducerOptions unbounded(ProducerOptions options) {
    options.ahead = 0;
    return options;
  }

  std::shared_ptr<detail::HostPins> pins_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

/// A thread that makes samples; its end stops the stream, unless that is over.
class Producing {
 public:
  template <class Body>
  Producing(KnownHostRing& host, Body body) : host_(host), thread_(std::move(body)) {}
  ~Producing() {
    if (host_.writer->status().state == StreamState::running) host_.writer->stop("enough");
    thread_.join();
  }
  Producing(const Producing&) = delete;
  Producing& operator=(const Producing&) = delete;

 private:
  KnownHostRing& host_;
  std::thread thread_;
};

inline AdmitRequest joining(Join join, std::uint64_t cursor = 0) {
  AdmitRequest request;
  request.name = "trainer";
  request.join = join;
  request.cursor = cursor;
  return request;
}

/// A trainer of a device ring, which maps what a welcome offers.
class DeviceTrainer final : public ReaderHost {
 public:
  DeviceTrainer(detail::ServedRing& ring, const AdmitRequest& request)
      : ring_(&ring),
        desk_(std::make_shared<Desk>()),
        board_segment_(Segment::adopt("board", duplicate(ring.board_segment().fd()),
                                      ring.board_segment().bytes(), Seals::future_write)),
        board_(board_segment_, MapMode::read_only) {
    auto reply = ring.admit(request, desk_);
    if (auto* refusal = std::get_if<NotAdmitted>(&reply)) {
      refused = std::move(*refusal);
      return;
    }
    admitted = std::get<Admitted>(reply);
    map();
    RingReader::Options options;
    options.pace = request.pace;
    options.stream = "s";
    reader.emplace(board(), *desk_, windows_.back(), *this, options);
  }
  ~DeviceTrainer() override { leave(); }
  DeviceTrainer(const DeviceTrainer&) = delete;
  DeviceTrainer& operator=(const DeviceTrainer&) = delete;

  void leave() {
    if (!reader) return;
    reader.reset();
    if (ring_ == nullptr) return;
    ring_->writer().remove(admitted.index, admitted.consumer_id);
    ring_->look_for_demand();
  }
  /// Before its ring goes.
  void outlive_ring() { ring_ = nullptr; }

  bool producer_is_dead() noexcept override { return false; }
  std::string why_revoked() override { return "a test said so"; }

  [[nodiscard]] Desk& desk() noexcept { return *desk_; }
  [[nodiscard]] BoardView board() const noexcept { return BoardView(board_.data()); }
  [[nodiscard]] Schema schema() const { return board().schema(); }
  [[nodiscard]] std::uint64_t published() const noexcept {
    return ordered::load_published(board().progress());
  }
  /// The bytes of one field's sample.
  [[nodiscard]] std::vector<std::byte> bytes(std::size_t field, std::uint64_t position) const {
    const FieldWindow& window = windows_[field];
    const void* from = window.at(position);
    if (on_device_[field]) {
      from =
          batchcast_fake_cuda_look(reinterpret_cast<unsigned long long>(from), window.sample_bytes);
    }
    REQUIRE(from != nullptr);
    std::vector<std::byte> copy(window.sample_bytes);
    std::memcpy(copy.data(), from, copy.size());
    return copy;
  }
  /// Whether every byte of the run is the host ring's, across the end of each array; `host_field`
  /// says which field of the host each one is.
  [[nodiscard]] bool is_right(const Run& run) const {
    for (std::uint64_t p = run.position; p < run.position + run.size; ++p) {
      for (std::size_t f = 0; f + 1 < windows_.size(); ++f) {
        const std::vector<std::byte> there = bytes(f, p);
        for (std::uint64_t i = 0; i < there.size(); ++i) {
          if (there[i] != byte_of(f, p, i)) return false;
        }
      }
      std::uint64_t id = 0;
      std::memcpy(&id, bytes(windows_.size() - 1, p).data(), sizeof id);
      if (id != id_of(p)) return false;
    }
    return true;
  }
  /// Takes the next n samples, looks at every byte, and gives them back. Goes on to the
  /// next epoch where one has ended. Where they began.
  std::uint64_t take(std::uint64_t n) {
    Run run;
    Next next = reader->next(n, 10'000, run);
    if (next == Next::end_of_epoch) next = reader->next(n, 10'000, run);
    REQUIRE(next == Next::batch);
    REQUIRE(run.size == n);
    CHECK(is_right(run));
    reader->give_back(run.lease);
    return run.position;
  }

  std::optional<NotAdmitted> refused;
  Admitted admitted;
  std::optional<RingReader> reader;
  Welcome welcome;

 private:
  [[nodiscard]] static FileDescriptor duplicate(int fd) { return FileDescriptor(::dup(fd)); }

  void map() {
    std::vector<int> descriptors;
    ring_->offer(welcome, descriptors);
    auto device = detail::cuda::Device::open_uuid(welcome.placement);
    std::size_t next = 0;
    for (std::size_t i = 0; i < welcome.segment_bytes.size(); ++i) {
      const BoardView view = board();
      const FieldEntry& entry = view.field(i);
      FieldWindow window{nullptr, entry.capacity, entry.stride_bytes, entry.sample_bytes};
      const detail::cuda::DeviceSegment::Request request{"field", welcome.segment_bytes[i]};
      on_device_.push_back(welcome.segment_kinds[i] != SegmentKind::memfd);
      if (welcome.segment_kinds[i] == SegmentKind::memfd) {
        const Segment segment = Segment::adopt("field", duplicate(descriptors[next++]),
                                               welcome.segment_bytes[i], Seals::future_write);
        host_.emplace_back(segment, MapMode::read_only);
        window.base = host_.back().data();
      } else if (welcome.segment_kinds[i] == SegmentKind::cuda_fd) {
        device_.push_back(
            detail::cuda::DeviceSegment::adopt(device, request, duplicate(descriptors[next++])));
        window.base = device_.back().data();
      } else {
        device_.push_back(
            detail::cuda::DeviceSegment::adopt_legacy(device, request, welcome.segment_handles[i]));
        window.base = device_.back().data();
      }
      windows_.push_back(window);
    }
    CHECK(next == descriptors.size());
  }

  detail::ServedRing* ring_;
  std::shared_ptr<Desk> desk_;
  Segment board_segment_;
  Mapping board_;
  std::vector<FieldWindow> windows_;
  std::vector<bool> on_device_;
  std::vector<DoubleMapping> host_;
  std::vector<detail::cuda::DeviceSegment> device_;
};

/// Of all processes; 0 where a driver does not say whose memory it is.
[[nodiscard]] inline std::uint64_t used_bytes() {
  return batchcast_fake_cuda_is_fake() ? batchcast_fake_cuda_used_bytes(0) : 0;
}

/// What the fake driver counts; zeros over a real one.
[[nodiscard]] inline batchcast_fake_cuda_counters counted() {
  return batchcast_fake_cuda_is_fake() ? batchcast_fake_cuda_count()
                                       : batchcast_fake_cuda_counters{};
}

/// Two fields, epochs of `n` samples; some hundred samples fit.
inline ProducerOptions small_stream(std::uint64_t n, std::uint64_t epochs = 0) {
  ProducerOptions options;
  options.stream = "s";
  options.schema = {{"image", DType::u8, {16, 16, 4}}, {"label", DType::i64, {}}};
  options.memory = 256 * 1024;
  options.device_memory = ring_bytes(options.memory, options.schema.size());
  options.samples_per_epoch = n;
  options.epochs = epochs;
  return options;
}

}  // namespace batchcast::testing
