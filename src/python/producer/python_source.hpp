// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "python/producer/gil.hpp"

#include <batchcast/data/source.hpp>

#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace batchcast::inline v0_1::python {

/// A dataset in Python: any object whose items are samples. Its items are asked for under the GIL,
/// and each part is copied once; files that a part names are read without the GIL. What an item
/// raises is a bad sample.
class PythonSource final : public Source {
 public:
  struct Parts {
    std::vector<PartSpec> specs;
    std::vector<nanobind::object> keys;  ///< of an item; None: the item itself
    /// By axis, where the dataset says them.
    std::map<std::string, std::shared_ptr<const RowLengths>, std::less<>> lengths;
  };
  /// `helpers` is the module batchcast._items.
  PythonSource(nanobind::object items, std::uint64_t size, Parts parts, std::string name,
               std::string fingerprint, std::vector<std::string> class_names,
               nanobind::module_ helpers);

  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override {
    return parts_.specs;
  }
  void read(std::uint64_t sample_id, SampleParts& parts) const override;
  [[nodiscard]] std::string name_of(std::uint64_t sample_id) const override;
  [[nodiscard]] std::string plain_name_of(std::uint64_t sample_id) const override;
  [[nodiscard]] Fingerprint fingerprint() const override;
  [[nodiscard]] std::shared_ptr<const RowLengths> lengths(std::string_view axis) const override;
  [[nodiscard]] std::span<const std::string> class_names() const noexcept override {
    return class_names_;
  }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// The exception of the first sample that could not be read, or None. With the GIL held.
  [[nodiscard]] nanobind::object first_failure() const { return first_failure_; }
  /// "sample 17 for 3.2 s": the one that has been read for the longest time; empty if none is.
  [[nodiscard]] std::string longest_read() const;

 private:
  class Reading;
  struct InFile {
    std::size_t part;
    std::string path;
  };
  /// The path of its file, or else its bytes.
  struct Frame {
    std::string path;
    std::vector<std::byte> bytes;
  };
  struct Clip {
    std::size_t part;
    std::vector<Frame> frames;
  };
  /// What is read once the GIL is released.
  struct InFiles {
    std::vector<InFile> files;
    std::vector<Clip> clips;
  };

  /// Ends this process, which a sample forked.
  [[noreturn]] void leave_child(std::uint64_t sample_id) const;
  void read_item(std::uint64_t sample_id, SampleParts& parts, InFiles& files) const;
  static void read_clip(const Clip& clip, SampleParts& parts);
  void take_part(std::size_t part, nanobind::handle value, SampleParts& parts,
                 InFiles& files) const;
  void take_frames(std::size_t part, nanobind::handle value, InFiles& files) const;
  void take_bytes(std::size_t part, nanobind::handle value, SampleParts& parts) const;
  void take_tensor(std::size_t part, nanobind::handle value, SampleParts& parts) const;
  /// Throws BadSample unless an array of that type is one of the part.
  static void check_tensor(const PartSpec& spec, std::optional<DType> dtype,
                           const std::vector<std::int64_t>& shape);
  /// Throws BadSample where the item has none of that key.
  [[nodiscard]] Held field_of(nanobind::handle item, const nanobind::object& key,
                              const std::string& name) const;
  void note_failure(const nanobind::object& error) const;
  [[nodiscard]] std::string reason_of(nanobind::python_error& raised) const;

  const nanobind::object items_;
  const std::uint64_t size_;
  const Parts parts_;
  const std::string name_;
  const std::string fingerprint_;
  const std::vector<std::string> class_names_;
  const nanobind::module_ helpers_;
  const nanobind::object name_of_;                             ///< the items' own, or None
  mutable nanobind::object first_failure_ = nanobind::none();  ///< under the GIL

  mutable std::mutex mutex_;
  mutable std::map<std::thread::id, std::pair<std::uint64_t, std::uint64_t>>
      reads_;  ///< of each thread: which sample, since when
};

}  // namespace batchcast::inline v0_1::python
