// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

namespace batchcast::inline v0_1 {

/// A window of one field: `size()` samples of one shape. It owns nothing, and is valid as long as
/// the lease or loan that it came from. Samples are contiguous unless the ring had to pad their
/// stride (`padded()`).
template <class T>
class FieldView {
 public:
  FieldView(T* data, std::size_t samples, std::span<const std::int64_t> sample_shape,
            std::size_t elements_per_sample, std::size_t sample_stride_bytes) noexcept
      : data_(data),
        samples_(samples),
        shape_(sample_shape),
        elements_(elements_per_sample),
        stride_bytes_(sample_stride_bytes) {}

  [[nodiscard]] T* data() const noexcept { return data_; }
  /// Number of samples, the first dimension.
  [[nodiscard]] std::size_t size() const noexcept { return samples_; }
  /// Shape of one sample.
  [[nodiscard]] std::span<const std::int64_t> sample_shape() const noexcept { return shape_; }
  [[nodiscard]] std::size_t elements_per_sample() const noexcept { return elements_; }
  [[nodiscard]] std::size_t sample_stride_bytes() const noexcept { return stride_bytes_; }
  [[nodiscard]] bool padded() const noexcept { return stride_bytes_ != elements_ * sizeof(T); }

  /// The elements of sample i of this window.
  [[nodiscard]] std::span<T> operator[](std::size_t i) const noexcept {
    return {at_byte(i * stride_bytes_), elements_};
  }

  /// All elements, first sample first. Throws InvalidArgument where the stride is padded: there use
  /// operator[] for each sample.
  [[nodiscard]] std::span<T> span() const {
    if (padded() && samples_ > 1) {
      throw InvalidArgument(
          text("batchcast: span() of a field whose samples lie {} bytes apart and take {}: they "
               "are not contiguous. Use view[i] for each sample, or give the stream more memory, "
               "so that no padding is needed.",
               stride_bytes_, elements_ * sizeof(T)));
    }
    return {data_, samples_ * elements_};
  }

  [[nodiscard]] T* begin() const { return span().data(); }
  [[nodiscard]] T* end() const {
    const auto all = span();
    return all.data() + all.size();
  }

 private:
  [[nodiscard]] T* at_byte(std::size_t offset) const noexcept {
    using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
    return reinterpret_cast<T*>(reinterpret_cast<Byte*>(data_) + offset);
  }

  T* data_;
  std::size_t samples_;
  std::span<const std::int64_t> shape_;
  std::size_t elements_;
  std::size_t stride_bytes_;
};

/// A field on an axis: the rows of a window of samples, of which each has any number. It owns
/// nothing, as FieldView.
template <class T>
class RowsView {
 public:
  RowsView(const FieldView<T>& rows, std::span<const std::int64_t> offsets) noexcept
      : rows_(rows), offsets_(offsets) {}

  /// Number of samples.
  [[nodiscard]] std::size_t size() const noexcept { return offsets_.size() - 1; }
  /// The elements of all rows of all samples, which lie without a gap.
  [[nodiscard]] std::span<T> values() const noexcept {
    return {rows_.data(), rows_.size() * rows_.elements_per_sample()};
  }
  /// size() + 1 numbers: sample i has the rows offsets()[i] … offsets()[i + 1] - 1.
  [[nodiscard]] std::span<const std::int64_t> offsets() const noexcept { return offsets_; }
  /// All rows, as if each were a sample.
  [[nodiscard]] const FieldView<T>& rows() const noexcept { return rows_; }
  /// Shape of one row.
  [[nodiscard]] std::span<const std::int64_t> row_shape() const noexcept {
    return rows_.sample_shape();
  }

  /// The rows of sample i. Its `span()` has their elements.
  [[nodiscard]] FieldView<T> operator[](std::size_t i) const noexcept {
    const auto first = static_cast<std::size_t>(offsets_[i]);
    return FieldView<T>(rows_.data() + first * rows_.elements_per_sample(),
                        static_cast<std::size_t>(offsets_[i + 1]) - first, rows_.sample_shape(),
                        rows_.elements_per_sample(), rows_.sample_stride_bytes());
  }

 private:
  FieldView<T> rows_;
  std::span<const std::int64_t> offsets_;
};

}  // namespace batchcast::inline v0_1
