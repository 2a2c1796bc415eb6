// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "gpu/ring/device_ring_memory.hpp"

#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/error.hpp>

#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

BoardSpec spec_of(const ProducerOptions& options) {
  BoardSpec spec;
  spec.samples_per_epoch = options.samples_per_epoch;
  spec.epochs = options.epochs;
  spec.consumers_max = options.max_consumers;
  spec.pure = options.pure && (!options.device_stage || options.device_stage->pure());
  return spec;
}

std::vector<FieldEntry> entries_of(const DeviceRingLayout& layout) {
  std::vector<FieldEntry> entries;
  for (const DeviceRingLayout::Field& field : layout.fields) {
    entries.push_back(field_entry(field.spec, field.plan));
  }
  return entries;
}

BoardMemory make_board(const ProducerOptions& options, const DeviceRingLayout& layout) {
  const std::vector<FieldEntry> entries = entries_of(layout);
  const std::string recipe = options.device_stage
                                 ? options.device_stage->recipe_json(options.recipe_json)
                                 : options.recipe_json;
  const std::string identity =
      options.device_stage ? options.device_stage->identity(options.identity) : options.identity;
  BoardSpec spec = spec_of(options);
  spec.recipe_json = recipe;
  if (spec.pure) spec.identity = identity;
  spec.fields = entries;
  spec.capacity = layout.capacity;
  return BoardMemory(spec);
}

std::string why_not_shared(const detail::cuda::DeviceInfo& device) {
  return text(
      "{} cannot share its memory between processes: it {}{}. Serve the stream in host memory: a "
      "consumer's `pin` makes its own copies fast (`batchcast doctor` says what this machine can "
      "do).",
      detail::cuda::name_of(device),
      device.virtual_memory ? "exports no file descriptors" : "has no virtual memory management",
      device.mig ? ", and CUDA IPC does not work under MIG" : ", nor CUDA IPC");
}

}  // namespace

DeviceRingMemory::DeviceRingMemory(const Parts& parts)
    : board_(make_board(parts.options, parts.layout)) {
  const DeviceRingLayout& layout = parts.layout;
  windows_.resize(layout.fields.size());
  sources_.resize(layout.fields.size());
  for (std::size_t i = 0; i < layout.fields.size(); ++i) {
    const FieldPlan& plan = layout.fields[i].plan;
    windows_[i] = {nullptr, plan.capacity, plan.stride_bytes, plan.sample_bytes};
    sources_[i].bytes = plan.segment_bytes();
  }
  check(*parts.device, layout);
  make_on_device(parts);
  make_on_host(layout);
}

void DeviceRingMemory::check(const detail::cuda::Device& device, const DeviceRingLayout& layout) {
  const detail::cuda::DeviceInfo& info = device.info();
  if (!info.exports_descriptors && !info.legacy_ipc) {
    throw GpuUnavailable(text("batchcast: {}", why_not_shared(info)));
  }
  const std::uint64_t wanted = layout.device_bytes();
  const std::uint64_t free = device.free_bytes();
  if (wanted <= free) return;
  throw OutOfMemory(
      text("batchcast: the ring on {} takes {}, and {} of its {} are free. Give it less "
           "(--device-memory), or end what else uses that GPU.",
           detail::cuda::name_of(info), bytes_text(wanted), bytes_text(free),
           bytes_text(info.memory_bytes)));
}

void DeviceRingMemory::make_on_device(const Parts& parts) {
  const detail::cuda::DeviceInfo& info = parts.device->info();
  std::string why =
      info.virtual_memory ? "exports no file descriptors" : "has no virtual memory management";
  if (info.virtual_memory && info.exports_descriptors) {
    try {
      allocate(parts, detail::cuda::Sharing::descriptor);
      return;
    } catch (const GpuError& error) {
      // A driver may claim an ability that a container or a MIG instance does not have.
      if (!info.legacy_ipc) throw;
      why = text("does not do what it says it can: {}", error.what());
    }
  }
  if (!info.legacy_ipc) throw GpuUnavailable(text("batchcast: {}", why_not_shared(info)));
  allocate(parts, detail::cuda::Sharing::legacy_ipc);
  if (parts.log) {
    parts.log(LogLevel::warning,
              text("{} {}: its ring is shared by CUDA IPC. Batches that cross the ring's end are "
                   "copied, consumers can write to it, and it dies with this process.",
                   detail::cuda::name_of(info), why));
  }
}

void DeviceRingMemory::allocate(const Parts& parts, detail::cuda::Sharing sharing) {
  sharing_ = sharing;
  device_segments_.clear();
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    const DeviceRingLayout::Field& field = parts.layout.fields[i];
    if (!field.on_device) continue;
    detail::cuda::DeviceAllocation segment(
        parts.device, {text("field {}", to_text(field.spec)), sources_[i].bytes}, sharing);
    windows_[i].base = segment.data();
    if (sharing == detail::cuda::Sharing::descriptor) {
      sources_[i].kind = SegmentKind::cuda_fd;
      sources_[i].descriptor = segment.descriptor();
    } else {
      sources_[i].kind = SegmentKind::cuda_ipc;
      sources_[i].descriptor = -1;
      sources_[i].handle = segment.legacy_handle();
    }
    device_segments_.push_back(std::move(segment));
  }
}

void DeviceRingMemory::make_on_host(const DeviceRingLayout& layout) {
  MemoryChoice pages;
  pages.granularity = page_bytes();
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    if (!layout.fields[i].on_device) bytes += sources_[i].bytes;
  }
  check_memory_exists(bytes);
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    if (layout.fields[i].on_device) continue;
    auto segment = Segment::create(layout.fields[i].spec.name, sources_[i].bytes, pages);
    if (!segment) throw OutOfMemory("batchcast: the ring's memory could not be made.");
    // Both mappings come before the seal that forbids writable ones to all other processes.
    host_mappings_.emplace_back(*segment, MapMode::read_write);
    segment->seal(sealed_from_consumers);
    windows_[i].base = host_mappings_.back().data();
    sources_[i].descriptor = segment->fd();
    host_segments_.push_back(std::move(*segment));
  }
}

void DeviceRingMemory::offer(Welcome& welcome, std::vector<int>& descriptors) const {
  for (const Source& source : sources_) {
    welcome.segment_bytes.push_back(source.bytes);
    welcome.segment_kinds.push_back(source.kind);
    welcome.segment_handles.push_back(source.handle);
    if (source.kind != SegmentKind::cuda_ipc) descriptors.push_back(source.descriptor);
  }
}

}  // namespace batchcast::inline v0_1::detail
