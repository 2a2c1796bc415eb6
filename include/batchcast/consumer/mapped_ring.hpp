// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>
#include <batchcast/consumer/attached_process.hpp>
#include <batchcast/consumer/delivery.hpp>
#include <batchcast/consumer/private_writes.hpp>
#include <batchcast/consumer_options.hpp>
#include <batchcast/core/field_table.hpp>
#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/grid.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/ring/board.hpp>
#include <batchcast/ring/layout.hpp>
#include <batchcast/ring/memory.hpp>
#include <batchcast/ring/reader.hpp>
#include <batchcast/ring/row_table.hpp>
#include <batchcast/ring/window.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// What a welcome offers, mapped into this process: board, desk, and each field in host memory or
/// on a GPU. It does not change between the constructor and `reserve`. Any thread may call its
/// members, except for the two `populate`, `show_ring_again`, `reserve` and those of `writes` and
/// `delivery`.
class MappedRing {
 public:
  /// Takes the descriptors of board, desk and segments; adds to the welcome's notes what the
  /// trainer should know of how they are mapped. `delivery` is null where no GPU is needed. Options
  /// and process must outlive this. Throws Refused for a welcome that offers something else than
  /// was asked for or that contradicts itself, and SystemError, OutOfMemory, GpuError.
  MappedRing(const ConsumerOptions& options, const AttachedProcess& process,
             std::unique_ptr<Delivery> delivery, Welcome& welcome,
             std::vector<FileDescriptor>& descriptors);
  ~MappedRing();
  MappedRing(const MappedRing&) = delete;
  MappedRing& operator=(const MappedRing&) = delete;

  [[nodiscard]] BoardView board() const noexcept { return BoardView(board_->data()); }
  [[nodiscard]] Desk& desk() const noexcept { return *reinterpret_cast<Desk*>(desk_->data()); }
  [[nodiscard]] const Schema& schema() const noexcept { return schema_; }
  /// By which its stream is laid out; nothing where positions are cursors.
  [[nodiscard]] const std::optional<Grid>& grid() const noexcept { return grid_; }
  /// As the consumer's batches have them, and as a copy in host memory has them.
  [[nodiscard]] const FieldTable& fields() const noexcept { return fields_; }
  [[nodiscard]] const FieldTable& host_fields() const noexcept { return host_fields_; }

  /// For batches to show, `sample_id` last.
  [[nodiscard]] const std::vector<FieldWindow>& shown() const noexcept { return shown_; }
  /// The same bytes for the consumer's copies: the ring's, without the trainer's writes.
  [[nodiscard]] const std::vector<FieldWindow>& windows() const noexcept { return windows_; }
  [[nodiscard]] SampleIds sample_ids() const noexcept {
    return {shown_.back(), windows_.back(), writes_.flag()};
  }
  /// The stream's axes, for its reader.
  [[nodiscard]] std::vector<ReaderAxis> axes() const;
  [[nodiscard]] std::size_t axis_count() const noexcept { return tables_.size(); }
  /// The rows of a run's samples, one entry an axis. False where the tables contradict themselves,
  /// as they may where the producer overwrites them. Then there are none.
  [[nodiscard]] bool find_rows(const Run& run, std::vector<AxisRows>& to) const;
  /// Whether that part of a field is not contiguous, or not page-locked as a whole, and has to be
  /// copied.
  [[nodiscard]] bool has_gap(std::size_t field, std::uint64_t position,
                             std::uint64_t samples) const;
  /// Whether any field can have such a part.
  [[nodiscard]] bool has_gaps() const noexcept { return has_gaps_; }

  [[nodiscard]] bool on_device() const noexcept { return !options_.placement.is_host(); }
  [[nodiscard]] Placement placement() const noexcept { return options_.placement; }
  /// Null for batches in host memory that is not page-locked.
  [[nodiscard]] Delivery* delivery() const noexcept { return delivery_.get(); }
  /// Whether every batch is a copy, private to the consumer.
  [[nodiscard]] bool copies() const noexcept { return copies_; }
  /// Whether copies in host memory are made to page-locked memory.
  [[nodiscard]] bool pins_copies() const noexcept { return pins_copies_; }
  [[nodiscard]] PrivateWrites& writes() noexcept { return writes_; }
  [[nodiscard]] const PrivateWrites& writes() const noexcept { return writes_; }

  /// Fills the page tables, from that position on, of what batches show, or of `windows`.
  void populate_shown(std::uint64_t position) { populate(mappings_, position); }
  void populate_windows(std::uint64_t position) { populate(writes_.apart(), position); }

  // ---- of what the trainer keeps: the fields in host memory, one behind the other

  [[nodiscard]] std::size_t mappings() const noexcept { return mappings_.size(); }
  /// The bytes of all these, counted once.
  [[nodiscard]] std::uint64_t mapped_bytes() const noexcept;
  /// Where a mapping shows that run, whose rows are these; an empty range where it has none there.
  [[nodiscard]] AddressRange addresses_of(std::size_t mapping, const Run& run,
                                          const std::vector<AxisRows>& rows) const noexcept;
  /// Whether that run would be shown from memory that is private.
  [[nodiscard]] bool is_private(const Run& run, const std::vector<AxisRows>& rows) const noexcept;
  /// Shows the ring again where a mapping's private chunks hold nothing of `live`. Returns how many
  /// chunks are still private.
  [[nodiscard]] std::uint64_t show_ring_again(std::size_t mapping,
                                              std::span<const AddressRange> live);
  /// Nothing is shown, copied or looked at any more. Gives all memory but `live(mapping)` back, and
  /// all that is shared; the addresses stay this object's.
  template <class Live>
  void reserve(Live&& live) {
    reserve_fields(std::forward<Live>(live));
    reserve_control();
  }
  /// The same, but board and desk stay.
  template <class Live>
  void reserve_fields(Live&& live) {
    populator_.reset();
    for (std::size_t i = 0; i < mappings_.size(); ++i) {
      if (i < writes_.chunks().size()) {
        writes_.chunks()[i]->reserve(live(i));
      } else {
        reserve_mapping(mappings_[i]);
      }
    }
    writes_.end();
  }

 private:
  [[nodiscard]] bool find_window_rows(const Run& run, std::vector<AxisRows>& to) const;
  void check_offer(const Welcome& welcome, std::size_t descriptors) const;
  void map_control(const Welcome& welcome, std::vector<FileDescriptor>& descriptors);
  void map_fields(Welcome& welcome, std::vector<FileDescriptor>& descriptors);
  void map_on_host(std::size_t index, FileDescriptor descriptor);
  void map_on_device(std::size_t index, const Welcome& welcome, FileDescriptor descriptor);
  void map_tables(const Welcome& welcome, std::vector<FileDescriptor>& descriptors,
                  std::size_t next);
  void populate(const std::vector<DoubleMapping>& mappings, std::uint64_t position);
  static void reserve_mapping(const DoubleMapping& mapping) noexcept;
  void reserve_control() noexcept;

  const ConsumerOptions& options_;
  const AttachedProcess& process_;
  const bool pins_copies_;
  const bool copies_;
  std::unique_ptr<Mapping> board_;
  std::unique_ptr<Mapping> desk_;
  std::optional<Grid> grid_;
  Schema schema_;
  FieldTable fields_;
  FieldTable host_fields_;
  std::vector<Mapping> table_mappings_;  ///< of the axes; the trainer gets no pointer into these
  std::vector<RowTable> tables_;
  std::vector<FieldWindow> shown_;
  std::vector<FieldWindow> windows_;
  std::vector<bool> mapped_once_;  ///< windows that cross the end are not contiguous there
  bool has_gaps_ = false;
  std::vector<DoubleMapping> mappings_;     ///< of the fields in host memory, for batches to show
  std::vector<std::size_t> mapped_fields_;  ///< which these are
  PrivateWrites writes_;
  std::unique_ptr<Delivery> delivery_;  ///< goes before the mappings that it page-locks
  std::unique_ptr<Populator> populator_;
};

}  // namespace batchcast::inline v0_1::detail
