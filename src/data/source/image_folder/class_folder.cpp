// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/image_folder/class_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <batchcast/core/error.hpp>
#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/printable.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <system_error>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { ::closedir(folder); }
};
using OpenFolder = std::unique_ptr<DIR, CloseFolder>;

// Walks one class. It remembers each folder with the one that it was found in, so that it sees a
// link back to one of those.
class Walk {
 public:
  Walk(int dataset, const std::string& dataset_path)
      : dataset_(dataset), dataset_path_(dataset_path) {}

  ClassFolder run(const std::string& name) {
    pending_.push_back({name, nowhere});
    while (!pending_.empty()) {
      const Pending next = std::move(pending_.back());
      pending_.pop_back();
      read(next);
    }
    std::sort(result_.folders.begin(), result_.folders.end(),
              [](const ImageFolder& a, const ImageFolder& b) { return a.path < b.path; });
    return std::move(result_);
  }

 private:
  static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

  struct Met {
    dev_t device;
    ino_t inode;
    std::size_t within;
  };
  struct Pending {
    std::string path;
    std::size_t within;
  };

  [[noreturn]] void refuse(const std::string& path, int error) const {
    throw BadDataset(text("batchcast: {}/{} cannot be read: {}.", dataset_path_, printable(path),
                          std::generic_category().message(error)));
  }

  [[nodiscard]] bool is_circle(const struct stat& status, std::size_t within) const {
    for (std::size_t at = within; at != nowhere; at = met_[at].within) {
      if (met_[at].device == status.st_dev && met_[at].inode == status.st_ino) return true;
    }
    return false;
  }

  void read(const Pending& here) {
    FileDescriptor file(
        ::openat(dataset_, here.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY));
    struct stat status = {};
    if (!file || ::fstat(file.get(), &status) != 0) refuse(here.path, errno);
    if (is_circle(status, here.within)) {
      result_.remarks.push_back(
          text("{} leads back to a folder that it lies in; not followed.", here.path));
      return;
    }
    met_.push_back({status.st_dev, status.st_ino, here.within});
    OpenFolder folder(::fdopendir(file.get()));
    if (!folder) refuse(here.path, errno);
    const int fd = file.release();  // `folder` owns it now
    ImageFolder images{.path = here.path, .names = {}, .files = {}};
    for (;;) {
      errno = 0;
      const dirent* const entry = ::readdir(folder.get());
      if (entry == nullptr) break;
      take(fd, *entry, images);
    }
    if (errno != 0) refuse(here.path, errno);
    if (images.files.empty()) return;
    std::sort(images.files.begin(), images.files.end(),
              [&](const ClassFile& a, const ClassFile& b) {
                return std::strcmp(images.name_of(a), images.name_of(b)) < 0;
              });
    result_.folders.push_back(std::move(images));
  }

  void take(int folder, const dirent& entry, ImageFolder& images) {
    const std::string_view name = entry.d_name;
    if (name == "." || name == "..") return;
    const bool image = is_image_name(name);
    bool below = entry.d_type == DT_DIR;
    std::uint64_t bytes = unknown_bytes;
    // For a link, or a file system that does not say, only stat tells.
    const bool unclear = entry.d_type == DT_LNK || entry.d_type == DT_UNKNOWN;
    if (!below && (image || unclear)) {
      struct stat status = {};
      if (::fstatat(folder, entry.d_name, &status, 0) == 0) {
        below = S_ISDIR(status.st_mode);
        bytes = static_cast<std::uint64_t>(status.st_size);
      }
    }
    if (below) {
      pending_.push_back({text("{}/{}", images.path, entry.d_name), met_.size() - 1});
    } else if (image) {
      if (images.names.size() > std::numeric_limits<std::uint32_t>::max()) {
        refuse(images.path, EFBIG);
      }
      images.files.push_back({static_cast<std::uint32_t>(images.names.size()), bytes});
      images.names.insert(images.names.end(), name.begin(), name.end());
      images.names.push_back('\0');
    } else {
      ++result_.left_out[extension_of(name)];
    }
  }

  int dataset_;
  const std::string& dataset_path_;
  ClassFolder result_;
  std::vector<Met> met_;
  std::vector<Pending> pending_;
};

}  // namespace

bool is_image_name(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 4> extensions = {".jpg", ".jpeg", ".png", ".webp"};
  return std::any_of(extensions.begin(), extensions.end(), [&](std::string_view extension) {
    if (name.size() < extension.size()) return false;
    const std::string_view end = name.substr(name.size() - extension.size());
    return std::equal(end.begin(), end.end(), extension.begin(),
                      [](char a, char b) { return lower(a) == b; });
  });
}

std::string extension_of(std::string_view name) {
  constexpr std::size_t longest = 8;
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || name.size() - dot > longest) return {};
  std::string extension(name.substr(dot));
  std::transform(extension.begin(), extension.end(), extension.begin(), lower);
  return extension;
}

ClassFolder read_class_folder(int dataset, const std::string& dataset_path,
                              const std::string& name) {
  return Walk(dataset, dataset_path).run(name);
}

}  // namespace batchcast::inline v0_1::detail
