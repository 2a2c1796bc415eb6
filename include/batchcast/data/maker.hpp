// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/schema.hpp>
#include <batchcast/data/cache_options.hpp>
#include <batchcast/data/fingerprint.hpp>
#include <batchcast/data/row_lengths.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1 {
namespace detail {
class SpanBuffer;
}

/// Where one field of consecutive samples goes. Of a field on an axis, `data` is the first row of
/// the first sample, and the stride is that of rows. Samples follow each other without a gap.
struct FieldSlots {
  std::byte* data = nullptr;
  std::size_t stride_bytes = 0;
};

/// Consecutive samples of one epoch and the places to put them.
struct SampleSlots {
  std::uint64_t epoch = 0;
  std::uint64_t index_in_epoch = 0;    ///< of the first
  std::span<const FieldSlots> fields;  ///< as the schema, without sample_id
  std::span<std::uint64_t> sample_ids;

  [[nodiscard]] std::size_t size() const noexcept { return sample_ids.size(); }
};

/// One sample in private memory, made before it has rows in the ring. Each thread has some, and
/// makes sample after sample into them. Buffers grow to the largest sample and are kept.
class MadeSample {
 public:
  explicit MadeSample(const Schema& schema)
      : axes_(axes_of(schema)), rows_(axes_.size()), buffers_(schema.size()) {}

  std::uint64_t sample_id = 0;

  /// By axis, in the order of `axes_of`.
  [[nodiscard]] std::span<const std::uint64_t> rows() const noexcept { return rows_; }
  /// The field's bytes, row-major. They are valid until the next sample is made into this object.
  [[nodiscard]] std::span<const std::byte> field(std::size_t field) const noexcept {
    return {buffers_[field].bytes.get(), buffers_[field].size};
  }
  [[nodiscard]] std::size_t buffer_bytes() const noexcept {
    std::size_t bytes = 0;
    for (const Buffer& buffer : buffers_) bytes += buffer.capacity;
    return bytes;
  }

  /// By axis: the most rows that a sample may have, which are those of the ring.
  void limit_rows(std::vector<std::uint64_t> rows) noexcept { limits_ = std::move(rows); }

  // The rest is for makers.

  /// Comes before the fields on that axis. Throws BadSample where the ring never has room for that:
  /// such a sample is as bad as one that cannot be read. The text is the reason alone.
  void set_rows(std::size_t axis, std::uint64_t rows) {
    if (axis < limits_.size() && rows > limits_[axis]) {
      throw BadSample(text(
          "it has {} rows on the axis `{}`, and the ring has {} for all of its samples. Give that "
          "axis more (--rows {}={}), or the stream more memory",
          rows, axes_[axis], limits_[axis], axes_[axis], rows));
    }
    rows_[axis] = rows;
  }
  /// Uninitialised bytes of a field, for the caller to write.
  [[nodiscard]] std::span<std::byte> make(std::size_t field, std::size_t byte_count) {
    Buffer& buffer = buffers_[field];
    if (buffer.capacity < byte_count) {
      buffer.bytes = std::make_unique_for_overwrite<std::byte[]>(byte_count);
      buffer.capacity = byte_count;
    }
    buffer.size = byte_count;
    return {buffer.bytes.get(), byte_count};
  }

 private:
  struct Buffer {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
    std::size_t capacity = 0;
  };
  std::vector<std::string> axes_;
  std::vector<std::uint64_t> limits_;
  std::vector<std::uint64_t> rows_;
  std::vector<Buffer> buffers_;
};

/// Where a worker's time went.
struct MakerTimes {
  std::uint64_t read_ns = 0;  ///< waiting for the source
  std::uint64_t make_ns = 0;  ///< decoding and the rest
  /// Of 1 sample in 64: what it took to make, and the part of it that was decoding.
  std::uint64_t split_make_ns = 0;
  std::uint64_t split_decode_ns = 0;
};

/// What a maker counts besides the times of its workers.
struct MakerCounts {
  std::uint64_t bad_samples = 0;  ///< different ones
  std::uint64_t stand_ins = 0;
  std::uint64_t stand_in_times = 0;
  std::uint64_t helper_cpu_ns = 0;  ///< processor time of threads that help the workers
  CacheStats cache = {};
};

/// Which samples of a stream stand in for bad ones, by position. If its producer is killed, the
/// next one follows what was decided: a file that can be read again changes no sample. Thread-safe.
class Substitutions {
 public:
  virtual ~Substitutions() = default;
  /// The id of the sample that was put there; nothing where none stands in.
  [[nodiscard]] virtual std::optional<std::uint64_t> at(std::uint64_t position) const = 0;
  /// Comes before that sample counts as made. Returns once the next producer would know.
  virtual void decide(std::uint64_t position, std::uint64_t sample_id) = 0;
};

/// Makes samples. Each thread has one, which keeps the thread's buffers.
class SampleWorker {
 public:
  virtual ~SampleWorker() = default;
  /// Comes before the first sample, of a stream that another producer may go on with. They outlive
  /// the worker. Of a maker that puts no samples in the places of others it does nothing.
  virtual void follow([[maybe_unused]] Substitutions& substitutions) {}
  /// Fills all of `slots`. Throws BadSample, which names the sample, where one cannot be made.
  /// Of a maker with axes, only where it `fills_in_place`: each sample writes as many rows as its
  /// `lengths` say.
  virtual void make(const SampleSlots& slots) = 0;
  /// Makes one sample of a maker with axes into private memory. Throws what `make` throws; a maker
  /// without axes is not asked.
  virtual void make_apart(std::uint64_t epoch, std::uint64_t index_in_epoch, MadeSample& made);
  /// Times since this worker began. From any thread.
  [[nodiscard]] virtual MakerTimes times() const noexcept = 0;
  /// From then on notes there what it does for a single sample. It need not.
  virtual void note_in([[maybe_unused]] detail::SpanBuffer& spans) {}
};

/// A pure stream: sample(epoch, index in it) is the same bytes in every thread, process and run.
/// Immutable and thread-safe.
class SampleMaker {
 public:
  virtual ~SampleMaker() = default;
  [[nodiscard]] virtual const Schema& schema() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t samples_per_epoch() const noexcept = 0;
  /// Everything that determines the bytes, for the board.
  [[nodiscard]] virtual std::string recipe_json() const = 0;
  /// Two makers have the same only if they make the same bytes.
  [[nodiscard]] virtual Fingerprint identity() const { return fingerprint_of(recipe_json()); }
  /// Writes the ids of consecutive samples of an epoch, from `index` on, without making them. False
  /// where they are not known before, as where other samples stand in for bad ones.
  [[nodiscard]] virtual bool know_ids([[maybe_unused]] std::uint64_t epoch,
                                      [[maybe_unused]] std::uint64_t index,
                                      [[maybe_unused]] std::span<std::uint64_t> ids) const {
    return false;
  }
  /// The id of the sample at that place of an epoch, if none replaces it.
  [[nodiscard]] virtual std::uint64_t sample_id_at([[maybe_unused]] std::uint64_t epoch,
                                                   std::uint64_t index_in_epoch) const noexcept {
    return index_in_epoch;
  }
  /// What people call the sample at that place of an epoch, such as its file, if none replaces it.
  /// Empty where samples have no names. It does not wait for other code than the library's.
  [[nodiscard]] virtual std::string name_at([[maybe_unused]] std::uint64_t epoch,
                                            [[maybe_unused]] std::uint64_t index) const {
    return {};
  }
  /// `sample_id_at` for one thread that passes through whole epochs beside the stream: it takes
  /// nothing from the workers. The maker must outlive it.
  [[nodiscard]] virtual std::function<std::uint64_t(std::uint64_t epoch, std::uint64_t index)>
  ids_apart() const {
    return [this](std::uint64_t epoch, std::uint64_t index) { return sample_id_at(epoch, index); };
  }
  /// The rows of all samples on an axis of the schema, by their ids; null where only making tells.
  [[nodiscard]] virtual std::shared_ptr<const RowLengths> lengths(
      [[maybe_unused]] std::string_view axis) const {
    return nullptr;
  }
  /// Whether samples can be made where their rows lie: all lengths are known, and making cannot
  /// fail. Else each is made apart first.
  [[nodiscard]] virtual bool fills_in_place() const noexcept { return false; }
  /// A worker for one thread. The maker must outlive it.
  [[nodiscard]] virtual std::unique_ptr<SampleWorker> worker() const = 0;
  /// From any thread, about once a second.
  [[nodiscard]] virtual MakerCounts counts() const { return {}; }
};

inline void SampleWorker::make_apart(std::uint64_t, std::uint64_t, MadeSample&) {
  throw InvalidArgument("batchcast: this maker has no fields on axes: call `make`.");
}

}  // namespace batchcast::inline v0_1
