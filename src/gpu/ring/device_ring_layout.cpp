// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "gpu/ring/device_ring_layout.hpp"

#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/ring/memory.hpp>

#include <algorithm>

namespace batchcast::inline v0_1::detail {
namespace {

void add_stage(const ProducerOptions& options, DeviceRingLayout& layout) {
  const DevicePlan plan = options.device_stage->plan(options.schema);
  for (const DevicePlan::Output& output : plan.fields) {
    if (output.copy_of && *output.copy_of >= options.schema.size()) {
      throw InvalidArgument(
          text("batchcast: the device stage copies field number {} of a stream that has {}.",
               *output.copy_of, options.schema.size()));
    }
    if (output.copy_of) {
      const FieldSpec& copied = options.schema[*output.copy_of];
      if (output.spec.dtype != copied.dtype || output.spec.shape != copied.shape) {
        throw InvalidArgument(
            text("batchcast: the device stage says that field {} is a copy of {}, which has "
                 "another type or shape.",
                 to_text(output.spec), to_text(copied)));
      }
    }
    layout.fields.push_back({output.spec, {}, true, output.copy_of});
  }
  for (const std::size_t read : plan.reads) {
    if (read >= options.schema.size()) {
      throw InvalidArgument(
          text("batchcast: the device stage reads field number {} of a stream that has {}.", read,
               options.schema.size()));
    }
  }
  layout.reads = plan.reads;
}

void keep_on_host(const ProducerOptions& options, DeviceRingLayout& layout) {
  for (const std::string& name : options.host_fields) {
    if (name == sample_id_name) continue;  // it always does
    const auto found =
        std::find_if(layout.fields.begin(), layout.fields.end(),
                     [&](const DeviceRingLayout::Field& field) { return field.spec.name == name; });
    if (found == layout.fields.end()) {
      throw InvalidArgument(
          text("batchcast: `{}` is to stay in host memory (--host-field), but consumers on GPUs "
               "get no field of that name.",
               name));
    }
    if (!found->copy_of) {
      throw InvalidArgument(text(
          "batchcast: field `{}` is made on the GPU: it cannot stay in host memory (--host-field).",
          name));
    }
    found->on_device = false;
  }
}

/// The plan in pages of the host, at least as long as the ring spans.
FieldPlan plan_on_host(const FieldSpec& spec, std::uint64_t capacity) {
  const Schema alone{spec};
  const std::uint64_t page = page_bytes();
  return plan_ring(alone, memory_for(alone, capacity, page), page).fields[0];
}

/// Samples lie close to each other, so that batches are contiguous, if that leaves at least half of
/// the memory for them. Otherwise as many as fit.
RingPlan plan_on_device(const Schema& fields, std::uint64_t memory, std::uint64_t granularity) {
  RingPlan close = plan_ring(fields, memory, granularity, lost_part_on_device);
  const bool padded = std::any_of(close.fields.begin(), close.fields.end(),
                                  [](const FieldPlan& field) { return field.padded(); });
  return padded ? plan_ring(fields, memory, granularity) : close;
}

}  // namespace

std::uint64_t device_memory_for(const Schema& on_device, std::uint64_t samples,
                                std::uint64_t granularity) {
  return std::max(memory_for(on_device, samples, granularity, lost_part_on_device),
                  memory_for(on_device, samples, granularity));
}

Schema DeviceRingLayout::on_device() const {
  Schema chosen;
  for (const Field& field : fields) {
    if (field.on_device) chosen.push_back(field.spec);
  }
  return chosen;
}

Schema DeviceRingLayout::on_host() const {
  Schema chosen;
  for (const Field& field : fields) {
    if (!field.on_device) chosen.push_back(field.spec);
  }
  return chosen;
}

Schema DeviceRingLayout::schema() const {
  Schema all;
  for (std::size_t i = 0; i + 1 < fields.size(); ++i) all.push_back(fields[i].spec);
  return all;
}

std::uint64_t DeviceRingLayout::device_bytes() const noexcept {
  std::uint64_t total = 0;
  for (const Field& field : fields) {
    if (field.on_device) total += field.plan.segment_bytes();
  }
  return total;
}

DeviceRingLayout plan_device_ring(const ProducerOptions& options,
                                  const detail::cuda::DeviceInfo& device) {
  DeviceRingLayout layout;
  if (options.device_stage) {
    add_stage(options, layout);
  } else {
    for (std::size_t i = 0; i < options.schema.size(); ++i) {
      layout.fields.push_back({options.schema[i], {}, true, i});
    }
  }
  keep_on_host(options, layout);
  layout.fields.push_back(
      {{std::string(sample_id_name), DType::u64, {}}, {}, false, options.schema.size()});
  check_schema(layout.schema());
  const Schema on_device = layout.on_device();
  if (on_device.empty()) {
    throw InvalidArgument(
        text("batchcast: every field is to stay in host memory (--host-field): {} would hold "
             "nothing. Serve the stream without it.",
             detail::cuda::name_of(device)));
  }
  layout.granularity = detail::cuda::ring_granularity(device);
  const std::uint64_t memory = options.device_memory != 0 ? options.device_memory : options.memory;
  const std::uint64_t least = memory_for(on_device, 1, layout.granularity);
  if (least > memory) {
    throw InvalidArgument(
        text("batchcast: one sample of this schema takes a ring of {} on {} (whole granules of {} "
             "for each field there), and its memory is {}. Give it more: --device-memory {}.",
             bytes_text(least), detail::cuda::name_of(device), bytes_text(layout.granularity),
             bytes_text(memory), memory_argument(least)));
  }
  RingPlan plan = plan_on_device(on_device, memory, layout.granularity);
  layout.capacity = plan.capacity;
  if (!options.host_fields.empty()) {
    // Fields that stay in host memory take no more memory than the host ring does.
    const std::uint64_t fits = plan_ring(layout.on_host(), options.memory, page_bytes()).capacity;
    layout.host_limits = fits < plan.capacity;
    if (layout.host_limits) {
      const std::uint64_t enough = device_memory_for(on_device, fits, layout.granularity);
      plan = plan_on_device(on_device, std::min(memory, enough), layout.granularity);
      layout.capacity = std::min(plan.capacity, fits);
    }
  }
  std::size_t next = 0;
  for (DeviceRingLayout::Field& field : layout.fields) {
    field.plan = field.on_device ? plan.fields[next++] : plan_on_host(field.spec, layout.capacity);
  }
  return layout;
}

}  // namespace batchcast::inline v0_1::detail
