// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <batchcast/core/error.hpp>
#include <batchcast/core/file_descriptor.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "data/fingerprint_builder.hpp"
#include "data/source/file_key.hpp"
#include "data/source/image_folder/class_folder.hpp"
#include "data/source/image_folder/class_folder_reader.hpp"
#include "data/source/image_folder/class_list.hpp"
#include "data/source/image_folder/folder_index.hpp"
#include "data/source/image_folder/remarks.hpp"
#include "data/source/source_kinds.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

// A larger file is no image, and a sparse file may claim any size.
constexpr off_t file_bytes_max = 0xffff'ffff;

std::string reason_of(int error) { return std::generic_category().message(error); }

// The contents of the dataset's own folder.
struct TopFolder {
  std::vector<std::string> classes;  ///< sorted
  std::uint64_t images = 0;          ///< that lie there, beside the classes
};

TopFolder read_top_folder(const std::string& path) {
  TopFolder top;
  std::error_code error;
  for (std::filesystem::directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code dangling;
    std::string name = it->path().filename().string();
    if (it->is_directory(dangling)) {
      top.classes.push_back(std::move(name));
    } else if (is_image_name(name)) {
      ++top.images;
    }
  }
  if (error) throw BadDataset(text("batchcast: {} cannot be read: {}.", path, error.message()));
  std::sort(top.classes.begin(), top.classes.end());
  return top;
}

using FilePath = std::array<char, 4096>;  // PATH_MAX: the kernel takes no longer ones

/// Inside the dataset. False where it is too long.
bool write_path(const ImageFolderIndex::File& file, FilePath& path) noexcept {
  const std::size_t name_bytes = file.name.size() + 1;
  if (file.folder.size() + 1 + name_bytes > path.size()) return false;
  std::memcpy(path.data(), file.folder.data(), file.folder.size());
  path[file.folder.size()] = '/';
  std::memcpy(path.data() + file.folder.size() + 1, file.name.data(), name_bytes);
  return true;
}

class ImageFolderSource final : public Source {
 public:
  struct Options {
    bool allow_empty = false;
    std::string classes = {};  ///< the path of a file that names them; empty: all folders
  };

  ImageFolderSource(std::string path, const Options& options) : path_(std::move(path)) {
    while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
    folder_ = FileDescriptor(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY));
    if (!folder_) {
      const int error = errno;
      throw BadDataset(
          text("batchcast: {} cannot be read: {}. A folder with a folder of images for each class "
               "is expected.",
               path_, reason_of(error)));
    }
    TopFolder top = read_top_folder(path_);
    classes_ = std::move(top.classes);
    if (classes_.empty()) refuse_without_classes(top.images);
    if (!options.classes.empty()) choose_classes(options.classes);
    read_classes(options.allow_empty);
    if (top.images > 0) {
      remarks_.push_back(
          text("{} beside the class folders left out.", counted(top.images, "image")));
    }
    if (const std::string split = split_among(classes_); !split.empty()) {
      remarks_.push_back(text("The classes are named {}: should it be imagefolder:{}/{}?",
                              few_of(classes_), path_, split));
    }
    labels_.resize(classes_.size());
    for (std::size_t i = 0; i < labels_.size(); ++i) labels_[i] = static_cast<std::int64_t>(i);
  }

  [[nodiscard]] std::uint64_t size() const noexcept override { return index_.size(); }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override { return parts_; }
  void read(std::uint64_t sample_id, SampleParts& parts) const override;
  void read_wanted(std::uint64_t sample_id, std::span<const std::uint8_t> wanted,
                   SampleParts& parts) const override;
  [[nodiscard]] std::optional<PartKey> key_of(std::uint64_t sample_id,
                                              std::size_t part) const noexcept override;
  [[nodiscard]] std::string name_of(std::uint64_t sample_id) const override {
    const ImageFolderIndex::File file = index_[sample_id];
    return text("{}/{}", file.folder, file.name);
  }
  [[nodiscard]] Fingerprint fingerprint() const override { return fingerprint_; }
  [[nodiscard]] std::span<const std::string> class_names() const noexcept override {
    return classes_;
  }
  [[nodiscard]] std::span<const std::string> remarks() const noexcept override { return remarks_; }

 private:
  [[noreturn]] void refuse_without_classes(std::uint64_t images) const {
    const std::string found =
        images == 0 ? text("{} has no folders in it", path_)
                    : text("{} has {} in it, but no folders", path_, counted(images, "image"));
    throw BadDataset(
        text("batchcast: {}. A folder with a folder of images for each class is expected: "
             "{}/CLASS/NAME.jpg.",
             found, path_));
  }

  void choose_classes(const std::string& file);
  void read_classes(bool allow_empty);
  void add(const ClassFolder& content, std::uint32_t label, FingerprintBuilder& builder);
  [[nodiscard]] FileDescriptor open_file(const ImageFolderIndex::File& file) const;
  void set_label(const ImageFolderIndex::File& file, SampleParts& parts) const {
    parts.set(1, std::as_bytes(std::span(labels_).subspan(file.label, 1)));
  }

  std::string path_;
  FileDescriptor folder_;
  std::vector<std::string> classes_;
  std::vector<std::int64_t> labels_;
  std::vector<PartSpec> parts_ = {{.name = "image", .kind = PartKind::image},
                                  {.name = "label", .dtype = DType::i64}};
  ImageFolderIndex index_;
  Fingerprint fingerprint_;
  std::vector<std::string> remarks_;
};

void ImageFolderSource::choose_classes(const std::string& file) {
  std::vector<std::string> chosen = read_class_list(file, classes_);
  std::vector<std::string> others;
  std::copy_if(classes_.begin(), classes_.end(), std::back_inserter(others),
               [sorted = std::set<std::string>(chosen.begin(), chosen.end())](
                   const std::string& name) { return sorted.count(name) == 0; });
  if (!others.empty()) {
    remarks_.push_back(text("{} not in {} left out: {}.", counted(others.size(), "class folder"),
                            file, few_of(others)));
  }
  classes_ = std::move(chosen);
}

void ImageFolderSource::read_classes(bool allow_empty) {
  std::vector<EmptyClass> empty;
  std::map<std::string, std::uint64_t> left_out;
  FingerprintBuilder builder;
  builder.add("imagefolder");
  ClassFolderReader reader(folder_.get(), path_, classes_);
  for (std::size_t label = 0; label < classes_.size(); ++label) {
    const ClassFolder content = reader.next();
    builder.add(classes_[label]);
    add(content, static_cast<std::uint32_t>(label), builder);
    if (content.folders.empty()) empty.push_back({classes_[label], content.left_out});
    for (const auto& [extension, count] : content.left_out) left_out[extension] += count;
    remarks_.insert(remarks_.end(), content.remarks.begin(), content.remarks.end());
  }
  fingerprint_ = builder.finish();
  if (!left_out.empty()) remarks_.push_back(describe_left_out(left_out));
  if (empty.size() == classes_.size()) {
    throw BadDataset(
        text("batchcast: {} holds no images: no .jpg, .jpeg, .png or .webp file in {} ({}).", path_,
             counted(classes_.size(), "class folder"), few_of(classes_)));
  }
  if (empty.empty()) return;
  const std::string remark = describe_empty(empty, classes_.size());
  if (!allow_empty) {
    throw BadDataset(text(
        "batchcast: {}: {} {} the folders, or add ?allow_empty=true.", path_, remark,
        remark.find(" no images") != std::string::npos ? "Remove" : "Convert the files, remove"));
  }
  remarks_.push_back(remark);
}

void ImageFolderSource::add(const ClassFolder& content, std::uint32_t label,
                            FingerprintBuilder& builder) {
  for (const ImageFolder& folder : content.folders) {
    builder.add(folder.path);
    builder.add(folder.files.size());
    index_.begin_folder(folder.path, label);
    for (const ClassFile& file : folder.files) {
      const std::string_view name = folder.name_of(file);
      builder.add(name);
      builder.add(file.bytes);
      index_.add_file(name);
    }
  }
}

FileDescriptor ImageFolderSource::open_file(const ImageFolderIndex::File& file) const {
  FilePath path;
  if (!write_path(file, path)) throw BadSample(reason_of(ENAMETOOLONG));
  for (;;) {
    // With O_NONBLOCK a pipe does not make us wait for its other end.
    FileDescriptor opened(
        ::openat(folder_.get(), path.data(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (opened) return opened;
    const int error = errno;
    if (error == EINTR) continue;
    if (error == EMFILE || error == ENFILE || error == ENOMEM) {
      throw SystemError("batchcast: a file of the dataset cannot be opened", error);
    }
    throw BadSample(reason_of(error) + (error == ENOENT || error == ENOTDIR
                                            ? "; it was there when the index was built"
                                            : ""));
  }
}

void ImageFolderSource::read(std::uint64_t sample_id, SampleParts& parts) const {
  const ImageFolderIndex::File file = index_[sample_id];
  const FileDescriptor opened = open_file(file);
  struct stat status = {};
  if (::fstat(opened.get(), &status) != 0) throw BadSample(reason_of(errno));
  if (!S_ISREG(status.st_mode)) throw BadSample("it is not a regular file");
  if (status.st_size == 0) throw BadSample("the file is empty");
  if (status.st_size > file_bytes_max) throw BadSample("the file has 4 GiB or more");
  parts.resize(2);
  const std::span<std::byte> bytes = parts.make(0, static_cast<std::size_t>(status.st_size));
  for (std::size_t filled = 0; filled < bytes.size();) {
    const ssize_t got = ::read(opened.get(), bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw BadSample(reason_of(errno));
    if (got == 0) throw BadSample("the file was cut short while it was being read");
    filled += static_cast<std::size_t>(got);
  }
  set_label(file, parts);
}

void ImageFolderSource::read_wanted(std::uint64_t sample_id, std::span<const std::uint8_t> wanted,
                                    SampleParts& parts) const {
  if (wanted[0] != 0) return read(sample_id, parts);
  parts.resize(2);
  set_label(index_[sample_id], parts);
}

std::optional<PartKey> ImageFolderSource::key_of(std::uint64_t sample_id,
                                                 std::size_t part) const noexcept {
  FilePath path;
  struct stat status = {};
  if (part != 0 || !write_path(index_[sample_id], path)) return std::nullopt;
  if (::fstatat(folder_.get(), path.data(), &status, 0) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode)) return std::nullopt;
  return key_of_file(status, 0, static_cast<std::uint64_t>(status.st_size));
}

}  // namespace

std::unique_ptr<Source> open_imagefolder(std::string_view rest, const SourceOptions& options) {
  options.allow({"allow_empty", "classes"});
  ImageFolderSource::Options chosen{.allow_empty = options.boolean("allow_empty", false)};
  if (const auto file = options.value_of("classes")) {
    if (file->empty()) options.refuse("classes", "names no file");
    chosen.classes = with_home(*file);
  }
  return std::make_unique<ImageFolderSource>(with_home(rest), chosen);
}

}  // namespace batchcast::inline v0_1::detail
