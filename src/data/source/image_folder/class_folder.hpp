// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// One file of a class.
struct ClassFile {
  std::uint32_t name = 0;   ///< place of its name among its folder's
  std::uint64_t bytes = 0;  ///< `unknown_bytes` where it could not be looked at
};

inline constexpr std::uint64_t unknown_bytes = ~std::uint64_t{0};

/// A folder with images in it.
struct ImageFolder {
  std::string path;              ///< inside the dataset
  std::vector<char> names;       ///< each with a NUL after it
  std::vector<ClassFile> files;  ///< sorted by name

  [[nodiscard]] const char* name_of(const ClassFile& file) const noexcept {
    return names.data() + file.name;
  }
};

/// What lies in a class's folder and all those below it.
struct ClassFolder {
  std::vector<ImageFolder> folders;               ///< sorted by path
  std::map<std::string, std::uint64_t> left_out;  ///< how many files are no images, by extension
  std::vector<std::string> remarks;
};

/// Goes by the extension, in any capitals.
[[nodiscard]] bool is_image_name(std::string_view name) noexcept;

/// The extension that a file is counted under when it is left out; empty where it has none.
[[nodiscard]] std::string extension_of(std::string_view name);

/// Reads the class `name` of the dataset `dataset_path`, which is open as `dataset`. It follows
/// symbolic links, but not in circles. Throws BadDataset where a folder cannot be read.
[[nodiscard]] ClassFolder read_class_folder(int dataset, const std::string& dataset_path,
                                            const std::string& name);

}  // namespace batchcast::inline v0_1::detail
