// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/image_folder/folder_index.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/core/error.hpp>

#include <algorithm>
#include <limits>
#include <string>

namespace batchcast::inline v0_1::detail {

void ImageFolderIndex::begin_folder(std::string_view folder, std::uint32_t label) {
  folders_.push_back({.text = text_.size(),
                      .first_file = names_.size(),
                      .path_bytes = static_cast<std::uint32_t>(folder.size()),
                      .label = label});
  text_.insert(text_.end(), folder.begin(), folder.end());
}

void ImageFolderIndex::add_file(std::string_view name) {
  BATCHCAST_ASSERT(!folders_.empty());
  const std::uint64_t start = text_.size() - folders_.back().text;
  if (start > std::numeric_limits<std::uint32_t>::max()) {
    throw BadDataset(
        text("batchcast: {} has more files than one folder can be read with.",
             std::string(text_.data() + folders_.back().text, folders_.back().path_bytes)));
  }
  names_.push_back(static_cast<std::uint32_t>(start));
  text_.insert(text_.end(), name.begin(), name.end());
  text_.push_back('\0');
}

ImageFolderIndex::File ImageFolderIndex::operator[](std::uint64_t file) const noexcept {
  BATCHCAST_ASSERT(file < names_.size());
  const auto after =
      std::upper_bound(folders_.begin(), folders_.end(), file,
                       [](std::uint64_t id, const Folder& f) { return id < f.first_file; });
  const Folder& folder = *(after - 1);
  const char* const text = text_.data() + folder.text;
  return {.folder = {text, folder.path_bytes}, .name = text + names_[file], .label = folder.label};
}

std::size_t ImageFolderIndex::byte_count() const noexcept {
  return text_.capacity() + folders_.capacity() * sizeof(Folder) +
         names_.capacity() * sizeof(std::uint32_t);
}

}  // namespace batchcast::inline v0_1::detail
