// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/core/assert.hpp>
#include <batchcast/core/dtype.hpp>
#include <batchcast/data/fingerprint.hpp>
#include <batchcast/data/row_lengths.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Where samples come from: a dataset that gives the parts of any sample by its index.
namespace batchcast::inline v0_1 {

enum class PartKind : std::uint8_t {
  tensor,  ///< values of one type, row-major; of one shape too, or of any number of rows
  image,   ///< a JPEG, PNG or WebP file, to be decoded
  bytes,   ///< anything else; a stage that the user writes makes a tensor from it
};

/// One part of every sample of a source.
struct PartSpec {
  std::string name;
  PartKind kind = PartKind::tensor;
  /// For a tensor. Images as tensors are u8 [height, width] or [height, width, channels] where
  /// channels_last, else [channels, height, width].
  DType dtype = DType::u8;
  std::vector<std::int64_t> shape = {};
  bool channels_last = false;
  /// For an image: how many frames of one clip every sample has; 0: one image. The bytes of a clip
  /// are the lengths of its frames, each a u64, and then one frame after the other.
  std::int32_t frames = 0;
  /// For a tensor: the name of the axis that it lies on, and `shape` is that of a row. All parts on
  /// an axis have equally many rows in a sample. Empty: every sample has this shape.
  std::string axis = {};

  [[nodiscard]] bool on_axis() const noexcept { return !axis.empty(); }

  friend bool operator==(const PartSpec&, const PartSpec&) = default;
};

/// What stands for the bytes of a part, known without reading them.
struct PartKey {
  Fingerprint id;  ///< two parts have the same only if they have the same bytes
  /// When their file was changed last (its ctime), in ns since 1970; 0: the id is of the bytes.
  std::int64_t changed_ns = 0;
};

/// The parts of one sample. Each thread has one, and reads sample after sample into it. Its buffers
/// grow to the largest sample and are kept.
class SampleParts {
 public:
  /// Valid until the next sample is read into this object, and not after its source is destroyed.
  [[nodiscard]] std::span<const std::byte> operator[](std::size_t part) const noexcept {
    BATCHCAST_ASSERT(part < slots_.size());
    return slots_[part].bytes;
  }
  [[nodiscard]] std::size_t size() const noexcept { return slots_.size(); }
  /// Bytes of the buffers that this object owns.
  [[nodiscard]] std::size_t buffer_bytes() const noexcept {
    std::size_t bytes = 0;
    for (const Slot& slot : slots_) bytes += slot.capacity;
    return bytes;
  }

  // The rest is for sources. `resize` comes first.
  void resize(std::size_t parts) {
    if (slots_.size() != parts) slots_.resize(parts);
  }
  /// Shows bytes that outlive this object, such as a mapped file's.
  void set(std::size_t part, std::span<const std::byte> bytes) noexcept {
    slots_[part].bytes = bytes;
    slots_[part].state = State::plain;
  }
  /// Uninitialised bytes that this object owns, for the caller to write.
  [[nodiscard]] std::span<std::byte> make(std::size_t part, std::size_t byte_count) {
    Slot& slot = slots_[part];
    if (slot.capacity < byte_count) {
      slot.buffer = std::make_unique_for_overwrite<std::byte[]>(byte_count);
      slot.capacity = byte_count;
    }
    slot.bytes = {slot.buffer.get(), byte_count};
    slot.state = State::plain;
    return {slot.buffer.get(), byte_count};
  }

  // The library's own: a part may be an entry of its cache in place of the bytes.
  void set_kept(std::size_t part, std::span<const std::byte> entry) noexcept {
    slots_[part].bytes = entry;
    slots_[part].state = State::kept;
  }
  [[nodiscard]] bool is_kept(std::size_t part) const noexcept {
    return slots_[part].state == State::kept;
  }
  void mark_missed(std::size_t part, const PartKey& key) noexcept {
    slots_[part].state = State::missed;
    slots_[part].key = key;
  }
  /// The key of a part that is to be kept; null where it is not.
  [[nodiscard]] const PartKey* missed(std::size_t part) const noexcept {
    return slots_[part].state == State::missed ? &slots_[part].key : nullptr;
  }

 private:
  enum class State : std::uint8_t { plain, kept, missed };
  struct Slot {
    std::unique_ptr<std::byte[]> buffer;
    std::size_t capacity = 0;
    std::span<const std::byte> bytes;
    State state = State::plain;
    PartKey key;
  };
  std::vector<Slot> slots_;
};

/// A dataset. Its constructor reads the index, where it needs one, and throws BadDataset.
/// Afterwards it does not change, and any thread may call any member at any time.
class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  /// N, at least 1.
  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
  [[nodiscard]] virtual const std::vector<PartSpec>& parts() const noexcept = 0;
  /// Reads sample `sample_id`, which is below size(): all parts, in the order of parts(). Tensors
  /// have the size that their spec says, and those on an axis whole rows of it. Throws BadSample;
  /// its text is the reason alone. SystemError, OutOfMemory and std::bad_alloc end the stream, with
  /// the sample's name in their text. Any other exception means that this sample is bad.
  virtual void read(std::uint64_t sample_id, SampleParts& parts) const = 0;
  /// Reads enough of a sample for parts[part]; the other parts are then unspecified. It is for
  /// callers that need one part of every sample.
  virtual void read_part(std::uint64_t sample_id, [[maybe_unused]] std::size_t part,
                         SampleParts& parts) const {
    read(sample_id, parts);
  }
  /// Reads enough of a sample for those parts whose place in `wanted` is not zero; the others are
  /// unspecified. It is for parts that a cache does not have.
  virtual void read_wanted(std::uint64_t sample_id,
                           [[maybe_unused]] std::span<const std::uint8_t> wanted,
                           SampleParts& parts) const {
    read(sample_id, parts);
  }
  /// Reads `count` rows from `first` on of the parts on the source's only axis, and the other parts
  /// whole. Its lengths are known. Reads nothing, and is false, where a source has samples only
  /// whole.
  [[nodiscard]] virtual bool read_rows([[maybe_unused]] std::uint64_t sample_id,
                                       [[maybe_unused]] std::uint64_t first,
                                       [[maybe_unused]] std::uint64_t count,
                                       [[maybe_unused]] SampleParts& parts) const {
    return false;
  }
  /// What stands for the bytes of an image part, found out without reading them, such as a file's
  /// identity, size and times. Nothing where only the bytes can tell. Throws nothing.
  [[nodiscard]] virtual std::optional<PartKey> key_of(
      [[maybe_unused]] std::uint64_t sample_id, [[maybe_unused]] std::size_t part) const noexcept {
    return std::nullopt;
  }
  /// The sample's name for people: a file's path inside the dataset, `train.npy[17]`.
  [[nodiscard]] virtual std::string name_of(std::uint64_t sample_id) const = 0;
  /// The same for a thread that others wait for. A source whose `name_of` runs code that may hang,
  /// such as a dataset's in Python, gives a plainer name here.
  [[nodiscard]] virtual std::string plain_name_of(std::uint64_t sample_id) const {
    return name_of(sample_id);
  }
  /// The index's fingerprint: names and sizes, never where the dataset is mounted.
  [[nodiscard]] virtual Fingerprint fingerprint() const = 0;
  /// The names of the labels, from 0, where they have names.
  [[nodiscard]] virtual std::span<const std::string> class_names() const noexcept { return {}; }
  /// Whether a text that a recipe takes as a label (`from = "json:/label"`) is the name of a class.
  [[nodiscard]] virtual bool labels_are_names() const noexcept { return false; }
  /// Whether reading only looks at mapped memory, so that there is nothing to read ahead.
  [[nodiscard]] virtual bool in_memory() const noexcept { return false; }
  /// The rows of all samples on an axis of parts(), where the index or the dataset says them. Null
  /// where only reading tells. A sample that is read with other rows is a bad sample.
  [[nodiscard]] virtual std::shared_ptr<const RowLengths> lengths(
      [[maybe_unused]] std::string_view axis) const {
    return nullptr;
  }
  /// What the dataset's owner should know about its index: a class without images, files left out.
  [[nodiscard]] virtual std::span<const std::string> remarks() const noexcept { return {}; }
};

/// Opens the source that `spec` names: a kind of dataset, a colon and where the dataset lies, such
/// as `imagefolder:DIR` or `tokens:FILE?dtype=u16&length=1024`. docs/sources.md has all kinds.
/// Throws InvalidArgument for a wrong spec.
/// Throws BadDataset for a dataset that cannot be read.
[[nodiscard]] std::unique_ptr<Source> open_source(std::string_view spec);

}  // namespace batchcast::inline v0_1
