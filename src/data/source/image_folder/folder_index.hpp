// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// The names of an image folder's files, in order: a few bytes each beyond the name itself.
class ImageFolderIndex {
 public:
  struct File {
    std::string_view folder;  ///< inside the dataset, without a slash at its end
    std::string_view name;    ///< with a NUL after it
    std::uint32_t label = 0;
  };

  /// Files are added to the folder begun last. Throws BadDataset where its names take 4 GiB.
  void begin_folder(std::string_view folder, std::uint32_t label);
  void add_file(std::string_view name);

  [[nodiscard]] std::uint64_t size() const noexcept { return names_.size(); }
  /// Valid until the next addition.
  [[nodiscard]] File operator[](std::uint64_t file) const noexcept;
  /// Memory taken.
  [[nodiscard]] std::size_t byte_count() const noexcept;

 private:
  struct Folder {
    std::uint64_t text;  // place of its path; its files' names follow
    std::uint64_t first_file;
    std::uint32_t path_bytes;
    std::uint32_t label;
  };

  std::vector<char> text_;
  std::vector<Folder> folders_;
  std::vector<std::uint32_t> names_;  // by file: place of its name, from its folder's text on
};

}  // namespace batchcast::inline v0_1::detail
