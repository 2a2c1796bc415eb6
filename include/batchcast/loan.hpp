// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/core/field_table.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace batchcast::inline v0_1 {
namespace detail {
class ProducerCore;
class HostRing;
}

/// What a loan shows; see BatchContents.
struct LoanContents {
  const FieldTable* fields = nullptr;
  std::uint64_t position = 0;
  std::uint64_t size = 0;
  std::uint64_t epoch = 0;
  std::uint64_t index_in_epoch = 0;
  std::shared_ptr<detail::HostRing> head = {};  ///< null: it is of the leading ring
  std::uint64_t lent_ns = 0;                    ///< 0: that is not measured
};

/// Consecutive places of the ring, to be filled and published. Move-only. Loans may be filled and
/// published on any thread and in any order. The newest loan may be dropped unpublished: its places
/// go back. Dropping any other would leave a hole, so the stream fails. A stream that moves to
/// another position grants no loan before those from the old one are back. A thread that keeps one
/// while it waits for the next would wait for ever.
class Loan {
 public:
  Loan(Loan&& other) noexcept
      : core_(std::exchange(other.core_, nullptr)), contents_(std::move(other.contents_)) {}
  Loan& operator=(Loan&& other) noexcept {
    if (this != &other) {
      give_back();
      core_ = std::exchange(other.core_, nullptr);
      contents_ = std::move(other.contents_);
    }
    return *this;
  }
  ~Loan() { give_back(); }

  /// Number of samples: at least one, at most as many as were asked for, all of one epoch.
  /// `take_rows` may make it smaller.
  [[nodiscard]] std::size_t size() const noexcept { return contents_.size; }
  /// Position of the first sample. It need not follow the last loan's: the stream skips samples
  /// that no consumer wants. A pure stream also goes back to a checkpoint's position where no other
  /// consumer is attached.
  [[nodiscard]] std::uint64_t position() const noexcept { return contents_.position; }
  [[nodiscard]] std::uint64_t epoch() const noexcept { return contents_.epoch; }
  /// Index of the first sample, counted from its epoch's start.
  [[nodiscard]] std::uint64_t index_in_epoch() const noexcept { return contents_.index_in_epoch; }

  /// Where one field of all samples goes. Throws InvalidArgument for a wrong name or type.
  template <class T>
  [[nodiscard]] FieldView<T> field(std::string_view name) const {
    return field<T>(contents_.fields->index_of(name));
  }
  template <class T>
  [[nodiscard]] FieldView<T> field(std::size_t index) const {
    if ((*contents_.fields)[index].axis >= 0) contents_.fields->throw_on_axis(index);
    return contents_.fields->view<T>(index, data(index), contents_.size,
                                     (*contents_.fields)[index].stride_bytes);
  }

  /// The dataset's index of each sample. It holds index_in_epoch, + 1, … until you write it.
  [[nodiscard]] std::span<std::uint64_t> sample_ids() const noexcept {
    return {reinterpret_cast<std::uint64_t*>(data(contents_.fields->sample_id_index())),
            contents_.size};
  }

  /// For streams with axes: gives all samples rows, sample i as many as lengths[i] says, in one go.
  /// Call it, for each axis, before the samples are filled. It waits until earlier loans have their
  /// rows or are published, and until the ring has room for the first sample. Where a later sample
  /// does not fit beside that, the loan loses it and those after it. Then `size()` is smaller, and
  /// a later call of `Producer::loan` lends them again. False where the loan has no samples any
  /// more: the stream is over, or went back. Then publish or drop it, and ask for another one.
  ///
  /// Throws InvalidArgument where there are more lengths than samples, and where this thread, and
  /// no other, has an earlier loan without rows. Throws RingTooSmall for a sample that has more
  /// rows than the ring. Samples without a call have no rows. A loan whose samples lack rows on
  /// some axis keeps later loans waiting until it is published.
  [[nodiscard]] bool take_rows(std::string_view axis, std::span<const std::uint64_t> lengths);
  /// The same for one sample; those before it that have no rows get none. False where the loan lost
  /// that sample: `size()` says which samples it still has.
  [[nodiscard]] bool take_rows(std::size_t i, std::string_view axis, std::uint64_t rows);

  /// For several axes: their rows at once, `lengths` by axis in the order in which the schema names
  /// them. If you take them axis by axis, begin with the one that trainers have budgets on. A
  /// trainer has to know the rows there of the sample that waits for room. Else it cannot tell that
  /// its batch is complete, or that the ring is too small for it, and waits.
  [[nodiscard]] bool take_rows(std::span<const std::span<const std::uint64_t>> lengths);

  enum class Taken : std::uint8_t { taken, lost, timed_out };
  /// Like the first, but waits at most that long. `lost`: the loan has no samples any more.
  [[nodiscard]] Taken try_take_rows(std::string_view axis, std::span<const std::uint64_t> lengths,
                                    int timeout_ms);
  /// After a time-out, call it again with the same lengths.
  [[nodiscard]] Taken try_take_rows(std::span<const std::span<const std::uint64_t>> lengths,
                                    int timeout_ms);

  /// Whether `take_rows` would not wait for earlier loans. Also true where the loan has no samples
  /// any more, which `take_rows` then says.
  [[nodiscard]] bool has_turn() const;

  /// Where the rows of sample i go, in a field on an axis, once it has them. Throws InvalidArgument
  /// for a wrong name or type.
  template <class T>
  [[nodiscard]] FieldView<T> rows(std::size_t i, std::string_view name) const {
    return rows<T>(i, contents_.fields->index_of(name));
  }
  template <class T>
  [[nodiscard]] FieldView<T> rows(std::size_t i, std::size_t index) const {
    const FieldInfo& field = (*contents_.fields)[index];
    if (field.axis < 0) contents_.fields->throw_not_on_axis(index);
    const Rows taken = rows_of(i, index);
    return contents_.fields->view<T>(index, taken.data, taken.count, field.stride_bytes);
  }

  /// Hands the samples, which are complete, to the consumers.
  void publish();

 private:
  friend class Producer;
  Loan(detail::ProducerCore& core, LoanContents contents) noexcept
      : core_(&core), contents_(std::move(contents)) {}
  struct Rows {
    std::byte* data = nullptr;
    std::size_t count = 0;
  };
  [[nodiscard]] detail::HostRing& ring() const noexcept;
  [[nodiscard]] std::byte* data(std::size_t index) const noexcept;
  [[nodiscard]] Rows rows_of(std::size_t sample, std::size_t field) const;
  void give_back() noexcept;

  detail::ProducerCore* core_;
  LoanContents contents_;
};

}  // namespace batchcast::inline v0_1
