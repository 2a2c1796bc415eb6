// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/core/field_table.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace batchcast::inline v0_1 {
namespace detail {
class ProducerCore;
}

/// What a loan shows; see BatchContents.
struct LoanContents {
  const FieldTable* fields = nullptr;
  std::uint64_t position = 0;
  std::uint64_t size = 0;
  std::uint64_t epoch = 0;
  std::uint64_t index_in_epoch = 0;
};

/// Consecutive places of the ring, to be filled and published. Move-only. Loans may be filled and
/// published on any thread and in any order. The newest loan may be dropped unpublished: its places
/// go back. Dropping any other would leave a hole, so the stream fails. A stream that moves to
/// another position grants no loan before those from the old one are back. A thread that keeps one
/// while it waits for the next would wait for ever.
class Loan {
 public:
  Loan(Loan&& other) noexcept
      : core_(std::exchange(other.core_, nullptr)), contents_(other.contents_) {}
  Loan& operator=(Loan&& other) noexcept {
    if (this != &other) {
      give_back();
      core_ = std::exchange(other.core_, nullptr);
      contents_ = other.contents_;
    }
    return *this;
  }
  ~Loan() { give_back(); }

  /// Number of samples: at least one, at most as many as were asked for, all of one epoch.
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
    return contents_.fields->view<T>(index, data(index), contents_.size,
                                     (*contents_.fields)[index].stride_bytes);
  }

  /// The dataset's index of each sample. It holds index_in_epoch, + 1, … until you write it.
  [[nodiscard]] std::span<std::uint64_t> sample_ids() const noexcept {
    return {reinterpret_cast<std::uint64_t*>(data(contents_.fields->sample_id_index())),
            contents_.size};
  }

  /// Hands the samples, which are complete, to the consumers.
  void publish();

 private:
  friend class Producer;
  Loan(detail::ProducerCore& core, const LoanContents& contents) noexcept
      : core_(&core), contents_(contents) {}
  [[nodiscard]] std::byte* data(std::size_t index) const noexcept;
  void give_back() noexcept;

  detail::ProducerCore* core_;
  LoanContents contents_;
};

}  // namespace batchcast::inline v0_1
