// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/attachment.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>

#include <algorithm>
#include <utility>

// The segments that a welcome offers, and where they are mapped.
namespace batchcast::inline v0_1::detail {
namespace attachment_fields {

[[noreturn]] inline void refuse(const std::string& stream, const std::string& why) {
  throw Refused("batchcast: the welcome of stream `" + stream + "` " + why);
}

inline bool is_memfd(const Welcome& welcome, std::size_t index) noexcept {
  return welcome.segment_kinds.empty() || welcome.segment_kinds[index] == SegmentKind::memfd;
}

inline std::size_t segment_descriptors(const Welcome& welcome) noexcept {
  return welcome.segment_bytes.size() -
         static_cast<std::size_t>(std::count(welcome.segment_kinds.begin(),
                                             welcome.segment_kinds.end(), SegmentKind::cuda_ipc));
}

}  // namespace attachment_fields

BATCHCAST_INLINE void Attachment::check_offer(std::size_t descriptors) {
  const std::string wanted = on_device() ? delivery_->id() : "host";
  if (welcome_.placement != wanted) {
    throw Refused(
        "batchcast: the producer of stream `" + options_.stream + "` offers its samples in " +
        (welcome_.placement == "host" ? "host memory" : welcome_.placement) + ", not on " +
        (on_device() ? delivery_->device_name() : "the host") + " as this consumer asked" +
        (on_device() ? ": it is of a version that knows no GPUs. Start it again with this "
                       "one, or attach with placement = \"host\"."
                     : ". It contradicts the protocol."));
  }
  const std::size_t segments = welcome_.segment_bytes.size();
  const std::size_t kinds = welcome_.segment_kinds.size();
  const std::size_t handles = welcome_.segment_handles.size();
  if ((kinds != 0 && kinds != segments) || (handles != 0 && handles != segments)) {
    attachment_fields::refuse(options_.stream, "has not one kind for each segment.");
  }
  const std::size_t expected =
      welcome_descriptors_before_segments + attachment_fields::segment_descriptors(welcome_);
  if (descriptors != expected) {
    attachment_fields::refuse(options_.stream, "carried " + std::to_string(descriptors) +
                                                   " file descriptors instead of " +
                                                   std::to_string(expected) + ".");
  }
  for (std::size_t i = 0; i < segments; ++i) {
    if (attachment_fields::is_memfd(welcome_, i)) continue;
    if (!on_device() || i + 1 == segments) {  // ids are the host's business
      attachment_fields::refuse(options_.stream,
                                "offers memory of a GPU where host memory is due.");
    }
    if (welcome_.segment_kinds[i] == SegmentKind::cuda_ipc && handles == 0) {
      attachment_fields::refuse(options_.stream, "lacks the handle of a segment.");
    }
  }
}

BATCHCAST_INLINE void Attachment::map_fields(std::vector<FileDescriptor>& descriptors) {
  const BoardHead& head = board().head();
  schema_ = board().schema();
  Schema all = schema_;
  all.push_back({std::string(sample_id_name), DType::u64, {}});
  if (all.size() != head.field_count || all.size() != welcome_.segment_bytes.size()) {
    throw Refused("batchcast: the schema of stream `" + options_.stream +
                  "` does not fit its fields.");
  }
  keeps_writes_ = wants_private_writes();
  std::vector<FieldInfo> infos;
  std::size_t next = welcome_descriptors_before_segments;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const FieldEntry& entry = board().field(i);
    if (entry.segment_bytes != welcome_.segment_bytes[i] ||
        entry.sample_bytes != all[i].byte_count()) {
      throw Refused("batchcast: field `" + all[i].name + "` of stream `" + options_.stream +
                    "` has another size than its schema says.");
    }
    const bool in_text = !attachment_fields::is_memfd(welcome_, i) &&
                         welcome_.segment_kinds[i] == SegmentKind::cuda_ipc;
    FileDescriptor descriptor = in_text ? FileDescriptor() : std::move(descriptors[next++]);
    infos.push_back({all[i], all[i].element_count(), entry.sample_bytes, entry.stride_bytes});
    windows_.push_back({nullptr, entry.capacity, entry.stride_bytes, entry.sample_bytes});
    shown_windows_.push_back(windows_.back());
    mapped_once_.push_back(false);
    infos.back().on_device = !attachment_fields::is_memfd(welcome_, i);
    if (infos.back().on_device) {
      map_on_device(i, std::move(descriptor));
    } else {
      map_on_host(i, std::move(descriptor));
    }
  }
  fields_ = FieldTable(infos);
  for (FieldInfo& info : infos) info.on_device = false;
  host_fields_ = FieldTable(std::move(infos));
  if (options_.pin && !stages_) pin_fields();
  guard_fields();
  if (options_.pin && !delivery_->pins_in_place()) {
    welcome_.notes.push_back("its batches are copies in page-locked memory: the driver of " +
                             delivery_->device_name() +
                             " cannot page-lock a ring that is mapped for reading only");
  }
  const bool once = std::find(mapped_once_.begin(), mapped_once_.end(), true) != mapped_once_.end();
  gathers_ = once || options_.pin;
  if (!once) return;
  welcome_.notes.push_back("the ring on " + delivery_->device_name() +
                           " cannot be mapped twice: batches that cross its end are copied");
}

BATCHCAST_INLINE void Attachment::map_on_host(std::size_t index, FileDescriptor descriptor) {
  const FieldEntry& entry = board().field(index);
  const bool is_id = index == schema_.size();
  const std::string name = is_id ? std::string(sample_id_name) : schema_[index].name;
  const Segment segment = Segment::adopt(name, std::move(descriptor), entry.segment_bytes,
                                         Seals::shrink | Seals::grow | Seals::future_write);
  mappings_.emplace_back(segment, MapMode::read_only);
  mapped_fields_.push_back(index);
  windows_[index].base = shown_windows_[index].base = mappings_.back().data();
  if (keeps_writes_) map_for_copies(segment, windows_[index]);
}

/// What is pinned cannot be replaced (the GPU would go on reading what was there), and what copies
/// from the start has no pointers into the ring to write through.
BATCHCAST_INLINE bool Attachment::wants_private_writes() const noexcept {
  return options_.explain_faults && !options_.pin && !options_.observes && !copies();
}

/// Without, writes end the process with a message.
BATCHCAST_INLINE void Attachment::map_for_copies(const Segment& segment, FieldWindow& window) {
  try {
    if (tried_page_bytes_ != segment.granularity()) {
      keeps_writes_ = PrivateChunks::possible(segment);
    }
    if (!keeps_writes_) return;
    tried_page_bytes_ = segment.granularity();
    mappings_for_copies_.emplace_back(segment, MapMode::read_only);
    window.base = mappings_for_copies_.back().data();
  } catch (const SystemError&) {
    keeps_writes_ = false;
  }
}

/// Either writes into all fields in host memory become private, or all of them end the process.
BATCHCAST_INLINE void Attachment::guard_fields() {
  if (!options_.explain_faults) return;
  const auto guard = [this] {
    for (std::size_t i = 0; i < mappings_.size(); ++i) {
      fault_ranges_.emplace_back(mappings_[i].data(), 2 * mappings_[i].bytes(), options_.stream,
                                 keeps_writes_ ? private_chunks_[i].get() : nullptr);
      if (!fault_ranges_.back().in_effect()) return false;
    }
    return true;
  };
  if (keeps_writes_) {
    for (const DoubleMapping& mapping : mappings_) {
      private_chunks_.push_back(
          std::make_unique<PrivateChunks>(mapping.data(), 2 * mapping.bytes(), written_));
    }
    if (guard()) return;
    fault_ranges_.clear();
    keeps_writes_ = false;
  }
  if (guard()) return;
  log(LogLevel::warning, "a write into a batch of stream `" + options_.stream +
                             "` will end this process: its consumers have more than the " +
                             std::to_string(limits::fault_ranges_max) +
                             " fields that are guarded, or it let no handler of SIGSEGV be "
                             "installed. Do not write, or "
                             "attach with access = private.");
}

BATCHCAST_INLINE void Attachment::map_on_device(std::size_t index, FileDescriptor descriptor) {
  Delivery::Offer offer;
  offer.field = schema_[index].name;
  offer.stream = options_.stream;
  offer.bytes = welcome_.segment_bytes[index];
  offer.kind = welcome_.segment_kinds[index];
  offer.descriptor = std::move(descriptor);
  if (!welcome_.segment_handles.empty()) offer.handle = welcome_.segment_handles[index];
  const Delivery::Mapped mapped = delivery_->map(std::move(offer));
  windows_[index].base = shown_windows_[index].base = mapped.data;
  mapped_once_[index] = !mapped.twice;
}

BATCHCAST_INLINE void Attachment::pin_fields() {
  // Both halves as one: a copy may lie anywhere in what is registered, but not across two of them.
  for (const DoubleMapping& mapping : mappings_) {
    delivery_->pin(mapping.data(), 2 * mapping.bytes());
  }
}

}  // namespace batchcast::inline v0_1::detail
