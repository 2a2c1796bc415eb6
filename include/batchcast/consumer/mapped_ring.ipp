// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/mapped_ring.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <string>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace mapped_ring {

[[noreturn]] inline void refuse(const std::string& stream, const std::string& why) {
  throw Refused(text("batchcast: the welcome of stream `{}` {}", stream, why));
}

inline bool is_memfd(const Welcome& welcome, std::size_t index) noexcept {
  return welcome.segment_kinds.empty() || welcome.segment_kinds[index] == SegmentKind::memfd;
}

inline bool is_cuda_ipc(const Welcome& welcome, std::size_t index) noexcept {
  return !is_memfd(welcome, index) && welcome.segment_kinds[index] == SegmentKind::cuda_ipc;
}

inline std::size_t segment_descriptors(const Welcome& welcome) noexcept {
  return welcome.segment_bytes.size() -
         static_cast<std::size_t>(std::count(welcome.segment_kinds.begin(),
                                             welcome.segment_kinds.end(), SegmentKind::cuda_ipc));
}

inline bool asks_for_copies(const ConsumerOptions& options) noexcept {
  return options.access == Access::private_copy || options.pace == Pace::free;
}

/// Memory that is page-locked cannot be replaced: the GPU would go on reading what was there. A
/// consumer that copies from the start gives the trainer no pointers into the ring.
inline bool wants_private_writes(const ConsumerOptions& options, bool copies) noexcept {
  return options.explain_faults && !options.pin && !options.observes && !copies;
}

}  // namespace mapped_ring

BATCHCAST_INLINE MappedRing::MappedRing(const ConsumerOptions& options,
                                        const AttachedProcess& process,
                                        std::unique_ptr<Delivery> delivery, Welcome& welcome,
                                        std::vector<FileDescriptor>& descriptors)
    : options_(options),
      process_(process),
      pins_copies_(options.pin && (mapped_ring::asks_for_copies(options) || options.observes ||
                                   !delivery->pins_in_place())),
      copies_(mapped_ring::asks_for_copies(options) || pins_copies_),
      writes_(mapped_ring::wants_private_writes(options, copies_)),
      delivery_(std::move(delivery)) {
  check_offer(welcome, descriptors.size());
  map_control(welcome, descriptors);
  grid_ = Grid::in_recipe(board().recipe_json());
  map_fields(welcome, descriptors);
}

BATCHCAST_INLINE MappedRing::~MappedRing() {
  if (!process_.in_forked_child()) return;
  if (populator_) populator_->abandon();
  static_cast<void>(delivery_.release());  // its calls of the driver would be the parent's
  // The kernel left a hole here where the desk was, and something else may lie there by now.
  static_cast<void>(desk_.release());
}

BATCHCAST_INLINE void MappedRing::check_offer(const Welcome& welcome,
                                              std::size_t descriptors) const {
  const std::string wanted = on_device() ? delivery_->id() : "host";
  if (welcome.placement != wanted) {
    throw Refused(
        text("batchcast: the producer of stream `{}` offers its samples in {}, not on {} as this "
             "consumer asked{}",
             options_.stream, welcome.placement == "host" ? "host memory" : welcome.placement,
             on_device() ? delivery_->device_name() : "the host",
             on_device() ? ": it is of a version that knows no GPUs. Start it again with this "
                           "one, or attach with placement = \"host\"."
                         : ". It contradicts the protocol."));
  }
  const std::size_t segments = welcome.segment_bytes.size();
  const std::size_t kinds = welcome.segment_kinds.size();
  const std::size_t handles = welcome.segment_handles.size();
  if ((kinds != 0 && kinds != segments) || (handles != 0 && handles != segments)) {
    mapped_ring::refuse(options_.stream, "has not one kind for each segment.");
  }
  const std::size_t expected =
      welcome_descriptors_before_segments + mapped_ring::segment_descriptors(welcome);
  if (descriptors != expected) {
    mapped_ring::refuse(options_.stream,
                        text("carried {} file descriptors instead of {}.", descriptors, expected));
  }
  for (std::size_t i = 0; i < segments; ++i) {
    if (mapped_ring::is_memfd(welcome, i)) continue;
    if (!on_device() || i + 1 == segments) {  // sample ids are always in host memory
      mapped_ring::refuse(options_.stream, "offers memory of a GPU where host memory is due.");
    }
    if (mapped_ring::is_cuda_ipc(welcome, i) && handles == 0) {
      mapped_ring::refuse(options_.stream, "lacks the handle of a segment.");
    }
  }
}

BATCHCAST_INLINE void MappedRing::map_control(const Welcome& welcome,
                                              std::vector<FileDescriptor>& descriptors) {
  const Seals fixed_size = Seals::shrink | Seals::grow;
  const Segment board = Segment::adopt("board", std::move(descriptors[0]), welcome.board_bytes,
                                       fixed_size | Seals::future_write);
  board_ = std::make_unique<Mapping>(board, MapMode::read_only);
  check_board({board_->data(), welcome.board_bytes});
  const Segment desk =
      Segment::adopt("desk", std::move(descriptors[1]), welcome.desk_bytes, fixed_size);
  if (welcome.desk_bytes < sizeof(Desk) ||
      welcome.consumer_index >= this->board().head().consumers_max) {
    mapped_ring::refuse(options_.stream, "describes a desk that cannot be.");
  }
  desk_ = std::make_unique<Mapping>(desk, MapMode::read_write);
  // In a forked child the desk is not there: nothing it does can reach the producer.
  ::madvise(desk_->data(), desk_->bytes(), MADV_DONTFORK);
}

BATCHCAST_INLINE void MappedRing::map_fields(Welcome& welcome,
                                             std::vector<FileDescriptor>& descriptors) {
  schema_ = board().schema();
  Schema all = schema_;
  all.push_back({std::string(sample_id_name), DType::u64, {}});
  const BoardView view = board();
  const std::vector<std::string> axes = axes_of(schema_);
  if (all.size() != view.head().field_count || axes.size() != view.axis_count() ||
      all.size() + axes.size() != welcome.segment_bytes.size() || (!axes.empty() && on_device())) {
    throw Refused(
        text("batchcast: the schema of stream `{}` does not fit its fields.", options_.stream));
  }
  std::vector<FieldInfo> infos;
  std::size_t next = welcome_descriptors_before_segments;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const FieldEntry& entry = view.field(i);
    if (entry.segment_bytes != welcome.segment_bytes[i] ||
        entry.sample_bytes != all[i].byte_count()) {
      throw Refused(
          text("batchcast: field `{}` of stream `{}` has another size than its schema says.",
               all[i].name, options_.stream));
    }
    FileDescriptor descriptor =
        mapped_ring::is_cuda_ipc(welcome, i) ? FileDescriptor() : std::move(descriptors[next++]);
    infos.push_back({all[i], all[i].element_count(), entry.sample_bytes, entry.stride_bytes});
    infos.back().on_device = !mapped_ring::is_memfd(welcome, i);
    infos.back().axis = static_cast<int>(entry.axis) - 1;
    shown_.push_back({nullptr, entry.capacity, entry.stride_bytes, entry.sample_bytes});
    windows_.push_back(shown_.back());
    mapped_once_.push_back(false);
    if (infos.back().on_device) {
      map_on_device(i, welcome, std::move(descriptor));
    } else {
      map_on_host(i, std::move(descriptor));
    }
  }
  map_tables(welcome, descriptors, next);
  fields_ = FieldTable(infos);
  for (FieldInfo& info : infos) info.on_device = false;
  host_fields_ = FieldTable(std::move(infos));
  if (options_.pin && !pins_copies_) {
    // Both halves as one: a copy may lie anywhere in what is registered, but not across two of
    // them.
    for (const DoubleMapping& mapping : mappings_) {
      delivery_->pin(mapping.data(), 2 * mapping.bytes());
    }
  }
  if (options_.explain_faults) writes_.guard(mappings_, options_.stream, options_.log);
  if (options_.pin && !delivery_->pins_in_place()) {
    welcome.notes.push_back(
        text("its batches are copies in page-locked memory: the driver of {} cannot page-lock a "
             "ring that is mapped for reading only",
             delivery_->device_name()));
  }
  const bool once = std::find(mapped_once_.begin(), mapped_once_.end(), true) != mapped_once_.end();
  has_gaps_ = once || options_.pin;
  if (!once) return;
  welcome.notes.push_back(
      text("the ring on {} cannot be mapped twice: batches that cross its end are copied",
           delivery_->device_name()));
}

BATCHCAST_INLINE void MappedRing::map_on_host(std::size_t index, FileDescriptor descriptor) {
  const BoardView view = board();
  const FieldEntry& entry = view.field(index);
  const bool is_id = index == schema_.size();
  const std::string name = is_id ? std::string(sample_id_name) : schema_[index].name;
  const Segment segment = Segment::adopt(name, std::move(descriptor), entry.segment_bytes,
                                         Seals::shrink | Seals::grow | Seals::future_write);
  mappings_.emplace_back(segment, MapMode::read_only);
  mapped_fields_.push_back(index);
  shown_[index].base = windows_[index].base = mappings_.back().data();
  if (std::byte* const apart = writes_.map_apart(segment)) windows_[index].base = apart;
}

BATCHCAST_INLINE void MappedRing::map_on_device(std::size_t index, const Welcome& welcome,
                                                FileDescriptor descriptor) {
  Delivery::Offer offer;
  offer.field = schema_[index].name;
  offer.stream = options_.stream;
  offer.bytes = welcome.segment_bytes[index];
  offer.kind = welcome.segment_kinds[index];
  offer.descriptor = std::move(descriptor);
  if (!welcome.segment_handles.empty()) offer.handle = welcome.segment_handles[index];
  const Delivery::Mapped mapped = delivery_->map(std::move(offer));
  shown_[index].base = windows_[index].base = mapped.data;
  mapped_once_[index] = !mapped.twice;
}

/// The tables of the axes come after the fields.
BATCHCAST_INLINE void MappedRing::map_tables(const Welcome& welcome,
                                             std::vector<FileDescriptor>& descriptors,
                                             std::size_t next) {
  const BoardView view = board();
  for (std::size_t i = 0; i < view.axis_count(); ++i) {
    const AxisEntry& axis = view.axis(i);
    if (welcome.segment_bytes[view.head().field_count + i] != axis.table_bytes) {
      mapped_ring::refuse(options_.stream, "offers a table of another size than its axis has.");
    }
    const Segment segment = Segment::adopt("rows", std::move(descriptors[next++]), axis.table_bytes,
                                           Seals::shrink | Seals::grow | Seals::future_write);
    table_mappings_.emplace_back(segment, MapMode::read_only);
    tables_.emplace_back(reinterpret_cast<const RowEntry*>(table_mappings_.back().data()),
                         axis.table_capacity, axis.rows);
  }
}

BATCHCAST_INLINE std::vector<ReaderAxis> MappedRing::axes() const {
  std::vector<ReaderAxis> axes;
  for (const RowTable& table : tables_) axes.push_back({table, {}, 0});
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].axis < 0) continue;
    ReaderAxis& axis = axes[static_cast<std::size_t>(fields_[i].axis)];
    axis.name = fields_[i].spec.axis;
    axis.row_bytes += fields_[i].sample_bytes;
  }
  return axes;
}

/// Of a batch that a window cuts: the rows that it shows, and where its samples begin among those
/// that are its own.
BATCHCAST_INLINE bool MappedRing::find_window_rows(const Run& run,
                                                   std::vector<AxisRows>& to) const {
  for (AxisRows& other : to) {
    other.first = other.rows = other.first_of_batch = 0;
    other.offsets.assign(1, 0);
  }
  AxisRows& mine = to[run.rows_axis];
  const RowTable& table = tables_[run.rows_axis];
  const std::uint64_t total = run.rows_in_all();
  // With padding, rows begin again behind the epoch's last sample, even if that one has none.
  const std::uint64_t end =
      run.padding == 0 ? run.position + run.size : run.batch_start + run.batch_size;
  const auto unsound = [&mine] {
    mine.offsets.assign(1, 0);
    return false;
  };
  std::uint64_t position = run.position;
  std::uint64_t row = run.first_row;
  for (std::uint64_t done = 0; done < total;) {
    const RowRange sample = table.at(position++);
    const bool is_sound =
        sample.rows <= table.arena() && sample.first <= row && sample.end() >= row &&
        (done == 0 || sample.first == row || (run.padding != 0 && row == run.lap_row));
    if (!is_sound) return unsound();
    done += std::min(sample.end() - row, total - done);
    mine.offsets.push_back(static_cast<std::int64_t>(done));
    row = sample.end();
    if (position != end || done == total) continue;
    if (run.padding == 0 || row != run.lap_row + run.lap_rows) return unsound();
    row = run.lap_row;
    position = run.batch_start;
  }
  mine.first = run.first_row;
  mine.rows = total + run.window_extra;
  return true;
}

BATCHCAST_INLINE bool MappedRing::find_rows(const Run& run, std::vector<AxisRows>& to) const {
  if (run.is_window()) return find_window_rows(run, to);
  const std::uint64_t end = run.batch_start + run.batch_size;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    const RowTable& table = tables_[i];
    AxisRows& mine = to[i];
    mine.offsets.resize(run.size + 1);
    mine.offsets[0] = 0;
    std::uint64_t index = table.index_of(run.position);
    std::uint64_t total = 0;
    std::uint64_t lap = 0;  // rows that follow each other in the ring
    std::uint64_t next = table.at(run.position).first;
    mine.first = next;
    mine.first_of_batch = run.padding == 0 ? next : table.at(run.batch_start).first;
    for (std::uint64_t sample = 0, position = run.position; sample < run.size; ++sample) {
      if (run.padding != 0 && position++ == end) {
        position = run.batch_start + 1;
        index = table.index_of(run.batch_start);
        next = mine.first_of_batch;
        lap = 0;
      }
      const RowRange rows = table.take(index);
      const bool is_sound =
          rows.first == next && rows.rows <= table.arena() && lap + rows.rows <= table.arena();
      if (!is_sound) {
        for (AxisRows& none : to) none = {0, 0, 0, std::vector<std::int64_t>(run.size + 1)};
        return false;
      }
      next = rows.end();
      total += rows.rows;
      lap += rows.rows;
      mine.offsets[sample + 1] = static_cast<std::int64_t>(total);
    }
    if (run.rows_max != 0 && run.rows_axis == i && total > run.rows_max) {
      total = run.rows_max;
      mine.offsets.back() = static_cast<std::int64_t>(total);
    }
    mine.rows = total;
  }
  return true;
}

BATCHCAST_INLINE bool MappedRing::has_gap(std::size_t field, std::uint64_t position,
                                          std::uint64_t samples) const {
  const FieldWindow& window = shown_[field];
  const std::uint64_t place = position % window.capacity;
  if (mapped_once_[field] && place + samples > window.capacity) return true;
  return options_.pin &&
         !delivery_->in_one_pin(place * window.stride_bytes, samples * window.stride_bytes);
}

BATCHCAST_INLINE std::uint64_t MappedRing::mapped_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const DoubleMapping& mapping : mappings_) bytes += mapping.bytes();
  return bytes;
}

BATCHCAST_INLINE AddressRange MappedRing::addresses_of(
    std::size_t mapping, const Run& run, const std::vector<AxisRows>& rows) const noexcept {
  const FieldWindow& window = shown_[mapped_fields_[mapping]];
  if (const int axis = fields_[mapped_fields_[mapping]].axis; axis >= 0) {
    const AxisRows& mine = rows[static_cast<std::size_t>(axis)];
    const auto at = reinterpret_cast<std::uintptr_t>(window.at(mine.first));
    return {at, at + mine.rows * window.stride_bytes};
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(window.at(run.position));
  const bool is_id = mapped_fields_[mapping] == fields_.sample_id_index();
  if (run.is_window() && !is_id) return {begin, begin};  // it has no such field
  return {begin, begin + (run.size - 1) * window.stride_bytes + window.sample_bytes};
}

BATCHCAST_INLINE bool MappedRing::is_private(const Run& run,
                                             const std::vector<AxisRows>& rows) const noexcept {
  for (std::size_t i = 0; i < mappings_.size(); ++i) {
    if (writes_.chunks()[i]->is_private(addresses_of(i, run, rows))) return true;
  }
  return false;
}

BATCHCAST_INLINE std::uint64_t MappedRing::show_ring_again(std::size_t mapping,
                                                           std::span<const AddressRange> live) {
  return writes_.chunks()[mapping]->show_ring_again(writes_.apart()[mapping].data(), live);
}

/// Where no memory becomes private: no batch shows the mapping any more.
BATCHCAST_INLINE void MappedRing::reserve_mapping(const DoubleMapping& mapping) noexcept {
  static_cast<void>(::mmap(mapping.data(), 2 * mapping.bytes(), PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
}

/// Zeros take the place of board and desk: nothing reads them any more, and they are the stream's
/// memory.
BATCHCAST_INLINE void MappedRing::reserve_control() noexcept {
  for (const Mapping* control : {board_.get(), desk_.get()}) {
    static_cast<void>(::mmap(control->data(), control->bytes(), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
  }
}

BATCHCAST_INLINE void MappedRing::populate(const std::vector<DoubleMapping>& mappings,
                                           std::uint64_t position) {
  if (options_.pin && !pins_copies_) return;  // every page is there
  std::vector<std::uint64_t> start_bytes;
  for (const std::size_t field : mapped_fields_) {
    const FieldWindow& window = windows_[field];
    const int axis = fields_[field].axis;
    const std::uint64_t start =
        axis < 0 ? position : tables_[static_cast<std::size_t>(axis)].at(position).first;
    start_bytes.push_back(static_cast<std::uint64_t>(window.at(start) - window.base));
  }
  populator_ = std::make_unique<Populator>(mappings, MapMode::read_only, start_bytes);
}

}  // namespace batchcast::inline v0_1::detail
