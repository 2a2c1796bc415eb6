// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "gpu/mirror/mirror_copier.hpp"

#include <batchcast/cuda/host_pin.hpp>

#include <batchcast/core/assert.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

// A piece is large enough to keep the bus busy most of the time. It is small enough for samples to
// come to trainers while more are on their way.
constexpr std::uint64_t piece_bytes = std::uint64_t{16} << 20;
// A piece takes at most this part of either ring.
constexpr std::uint64_t ring_parts = 4;
// Pieces in flight. A stage's kernels wait whole milliseconds for their turn while other processes'
// kernels have the GPU. So with a stage more pieces may arrive and lie ready: up to a quarter of a
// gibibyte, and half of either ring.
constexpr std::uint64_t pieces_at_a_time = 4;
constexpr std::uint64_t pieces_for_a_stage = 16;
// Another thread's capture that is in the way is over soon.
constexpr auto capture_look = std::chrono::milliseconds(1);

void copy_on_host(const FieldWindow& from, const FieldWindow& to, std::uint64_t position,
                  std::uint64_t samples) noexcept {
  if (from.stride_bytes == to.stride_bytes) {
    std::memcpy(to.at(position), from.at(position), samples * from.stride_bytes);
    return;
  }
  for (std::uint64_t i = 0; i < samples; ++i) {
    std::memcpy(to.at(position) + i * to.stride_bytes, from.at(position) + i * from.stride_bytes,
                from.sample_bytes);
  }
}

}  // namespace

MirrorCopier::MirrorCopier(const Parts& parts)
    : mapped_twice_(parts.mapped_twice),
      host_ids_(parts.host_windows.back()),
      copies_(parts.device, detail::cuda::Priority::high),
      stage_(parts.device, detail::cuda::Priority::high) {
  const DeviceRingLayout& layout = parts.layout;
  std::uint64_t sample_bytes = 0;
  for (std::size_t i = 0; i < layout.fields.size(); ++i) {
    const auto& copy_of = layout.fields[i].copy_of;
    if (!copy_of) {
      stage_makes_.push_back(parts.windows[i]);
      continue;
    }
    const Route route{parts.host_windows[*copy_of], parts.windows[i]};
    if (layout.fields[i].on_device) sample_bytes += route.from.stride_bytes;
    (layout.fields[i].on_device ? on_device_ : on_host_).push_back(route);
  }
  for (const std::size_t read : layout.reads) {
    stage_reads_.push_back(parts.host_windows[read]);
    sample_bytes += stage_reads_.back().stride_bytes;
  }
  const std::uint64_t of_rings = std::min(parts.host_capacity, layout.capacity) / ring_parts;
  samples_max_ = std::clamp<std::uint64_t>(piece_bytes / std::max<std::uint64_t>(sample_bytes, 1),
                                           1, std::max<std::uint64_t>(of_rings, 1));
  const std::uint64_t half_of_rings = std::min(parts.host_capacity, layout.capacity) / 2;
  const std::uint64_t pieces =
      parts.options.device_stage
          ? std::clamp(half_of_rings / samples_max_, pieces_at_a_time, pieces_for_a_stage)
          : pieces_at_a_time;
  slots_.reserve(pieces);
  for (std::size_t i = 0; i < pieces; ++i) slots_.emplace_back(parts.device);
  if (parts.options.device_stage) prepare_stage(parts);
}

void MirrorCopier::prepare_stage(const Parts& parts) {
  for (Slot& slot : slots_) {
    for (const FieldWindow& read : stage_reads_) {
      slot.staging.emplace_back(parts.device, samples_max_ * read.stride_bytes);
      std::byte* const base = slot.staging.back().data();
      slot.staged.push_back({base, samples_max_, read.stride_bytes, read.sample_bytes});
      slot.in.push_back({base, read.stride_bytes});
    }
  }
  out_.resize(stage_makes_.size());
  const detail::cuda::Device::Current current(*parts.device);
  auto program =
      parts.options.device_stage->prepare(parts.options.schema, samples_max_, slots_.size());
  program_ = {program.release(), EndProgram{parts.device}};
}

void MirrorCopier::EndProgram::operator()(DeviceProgram* program) const noexcept {
  std::optional<detail::cuda::Device::Current> current;
  try {
    current.emplace(*device);
  } catch (const std::exception&) {
    // The GPU is lost. So is what the program has there, but not what it has on the host.
  }
  delete program;
}

std::uint64_t MirrorCopier::samples_max(std::uint64_t position) const noexcept {
  std::uint64_t samples = samples_max_;
  if (mapped_twice_) return samples;
  // A stage writes its samples one after the other.
  for (const FieldWindow& made : stage_makes_) {
    samples = std::min(samples, made.capacity - position % made.capacity);
  }
  return samples;
}

std::vector<FieldWindow> MirrorCopier::copied_from() const {
  std::vector<FieldWindow> windows = stage_reads_;
  for (const Route& route : on_device_) {
    const bool there = std::any_of(windows.begin(), windows.end(), [&](const FieldWindow& one) {
      return one.base == route.from.base;
    });
    if (!there) windows.push_back(route.from);
  }
  return windows;
}

void MirrorCopier::enqueue(const Ticket& ticket) {
  BATCHCAST_ASSERT(has_room());
  Slot& slot = slot_of(last_);
  for (std::size_t i = 0; i < stage_reads_.size(); ++i) {
    copy({stage_reads_[i], slot.staged[i]}, ticket.position, 0, ticket.size);
  }
  for (const Route& route : on_device_) copy(route, ticket.position, ticket.position, ticket.size);
  if (program_) {
    // The stage runs on another stream: the next piece crosses the bus meanwhile.
    slot.copied.record(copies_.handle());
    stage_.wait_for(slot.copied);
    run_stage(slot, ticket);
    slot.done.record(stage_.handle());
  } else {
    slot.done.record(copies_.handle());
  }
  for (const Route& route : on_host_) {
    copy_on_host(route.from, route.to, ticket.position, ticket.size);
  }
  slot.piece.ticket = ticket;
  slot.piece.receipt = {};
  slot.piece.receipt.add(
      {reinterpret_cast<const std::uint64_t*>(host_ids_.at(ticket.position)), ticket.size});
  ++last_;
}

void MirrorCopier::run_stage(Slot& slot, const Ticket& ticket) {
  for (std::size_t i = 0; i < out_.size(); ++i) {
    out_[i] = {stage_makes_[i].at(ticket.position), stage_makes_[i].stride_bytes};
  }
  DeviceRun run;
  run.stream = stage_.handle();
  run.position = ticket.position;
  run.size = ticket.size;
  run.epoch = ticket.epoch;
  run.sample_ids = {reinterpret_cast<const std::uint64_t*>(host_ids_.at(ticket.position)),
                    ticket.size};
  run.in = slot.in;
  run.out = out_;
  program_->enqueue(run);
}

bool MirrorCopier::oldest_arrived() const { return slot_of(first_).done.passed(); }

void MirrorCopier::give_up() const noexcept {
  for (const detail::cuda::Stream* stream : {&copies_, &stage_}) {
    // After any other error none of it will run any more.
    while (detail::cuda::wait_for_stream(*stream->device(), stream->handle()).answer ==
           detail::cuda::Answer::captured) {
      std::this_thread::sleep_for(capture_look);
    }
  }
}

MirrorCopier::Piece MirrorCopier::pop_oldest() noexcept { return slot_of(first_++).piece; }

// Only the first of the host ring's two mappings is pinned, so a copy ends where that does. A
// device ring may be mapped once.
void MirrorCopier::copy(const Route& route, std::uint64_t position, std::uint64_t to_position,
                        std::uint64_t samples) {
  const FieldWindow& from = route.from;
  const FieldWindow& to = route.to;
  while (samples > 0) {
    const std::uint64_t from_index = position % from.capacity;
    const std::uint64_t to_index = to_position % to.capacity;
    const std::uint64_t some =
        std::min({samples, from.capacity - from_index, to.capacity - to_index});
    if (from.stride_bytes == to.stride_bytes) {
      copy_bytes(to.base + to_index * to.stride_bytes, from, from_index * from.stride_bytes,
                 some * from.stride_bytes);
    } else {
      copy_rows(route, from_index, to_index, some);
    }
    position += some;
    to_position += some;
    samples -= some;
  }
}

void MirrorCopier::copy_bytes(std::byte* to, const FieldWindow& from, std::uint64_t offset,
                              std::uint64_t bytes) {
  while (bytes > 0) {
    const std::uint64_t some =
        std::min(bytes, detail::cuda::pin_piece_bytes - offset % detail::cuda::pin_piece_bytes);
    copies_.copy_to_device(to, from.base + offset, some);
    to += some;
    offset += some;
    bytes -= some;
  }
}

void MirrorCopier::copy_rows(const Route& route, std::uint64_t from_index, std::uint64_t to_index,
                             std::uint64_t samples) {
  const FieldWindow& from = route.from;
  while (samples > 0) {
    const std::uint64_t offset = from_index * from.stride_bytes;
    const std::uint64_t pinned =
        detail::cuda::pin_piece_bytes - offset % detail::cuda::pin_piece_bytes;
    std::byte* const to = route.to.base + to_index * route.to.stride_bytes;
    std::uint64_t rows = 1;
    if (pinned < from.sample_bytes) {
      copy_bytes(to, from, offset, from.sample_bytes);
    } else {
      rows = std::min(samples, (pinned - from.sample_bytes) / from.stride_bytes + 1);
      copies_.copy_rows({to, route.to.stride_bytes, from.base + offset, from.stride_bytes,
                         from.sample_bytes, rows, true});
    }
    from_index += rows;
    to_index += rows;
    samples -= rows;
  }
}

}  // namespace batchcast::inline v0_1::detail
