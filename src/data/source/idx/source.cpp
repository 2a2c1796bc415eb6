// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>

#include <array>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "data/fingerprint_builder.hpp"
#include "data/source/idx/file.hpp"
#include "data/source/source_kinds.hpp"
#include "data/tensor_part.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

struct IdxPaths {
  std::string images;
  std::string labels;
};

// MNIST's names as they are and as some unpackers write them; torchvision keeps them in raw/.
std::string find_file(const std::string& folder, const std::string& split,
                      const std::string& what) {
  for (const std::string place : {"", "raw"}) {
    for (const std::string middle : {"-", "."}) {
      for (const std::string packing : {"", ".gz"}) {
        const std::filesystem::path path =
            std::filesystem::path(folder) / place / (split + "-" + what + packing);
        std::filesystem::path candidate = path;
        if (middle == ".") {
          std::string name = path.filename().string();
          name[name.find("-idx")] = '.';
          candidate.replace_filename(name);
        }
        if (is_there(candidate)) return candidate.string();
      }
    }
  }
  throw BadDataset("batchcast: " + folder + " has no " + split + "-" + what +
                   " (or with .gz). Other names are given as idx:IMAGES,LABELS.");
}

IdxPaths find_paths(std::string_view rest, const SourceOptions& options) {
  const std::vector<std::string> paths = split_paths("idx", rest);
  std::error_code ignored;
  if (paths.size() == 2) {
    options.allow({});
    return {paths[0], paths[1]};
  }
  if (paths.size() > 2 || std::filesystem::is_regular_file(paths[0], ignored)) {
    throw InvalidArgument("batchcast: `idx:" + std::string(rest) +
                          "`: write a folder, or two files as idx:IMAGES,LABELS.");
  }
  options.allow({"split"});
  const std::string split =
      options.one_of("split", {"train", "test"}) == "train" ? "train" : "t10k";
  if (!std::filesystem::is_directory(paths[0], ignored)) {
    throw BadDataset("batchcast: " + paths[0] + " cannot be read: there is no such folder.");
  }
  return {find_file(paths[0], split, "images-idx3-ubyte"),
          find_file(paths[0], split, "labels-idx1-ubyte")};
}

class IdxSource final : public Source {
 public:
  explicit IdxSource(const IdxPaths& paths) : images_(paths.images), labels_file_(paths.labels) {
    check();
    labels_ = labels_file_.integers();
    const IdxHeader& header = images_.header();
    sample_bytes_ = header.data_bytes / labels_.size();
    PartSpec image{.name = "image", .dtype = header.type == IdxType::u8 ? DType::u8 : DType::i8};
    image.shape.assign(header.shape.begin() + 1, header.shape.end());
    image.channels_last = has_channels_last(image.dtype, image.shape);
    parts_ = {std::move(image), {.name = "label", .dtype = DType::i64}};
  }

  [[nodiscard]] std::uint64_t size() const noexcept override { return labels_.size(); }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override { return parts_; }
  void read(std::uint64_t sample_id, SampleParts& parts) const override {
    parts.resize(2);
    parts.set(0, images_.data().subspan(sample_id * sample_bytes_, sample_bytes_));
    parts.set(1, std::as_bytes(std::span(labels_).subspan(sample_id, 1)));
  }
  [[nodiscard]] std::string name_of(std::uint64_t sample_id) const override {
    return std::string(images_.name()) + "[" + std::to_string(sample_id) + "]";
  }
  [[nodiscard]] Fingerprint fingerprint() const override {
    FingerprintBuilder builder;
    builder.add("idx");
    for (const IdxFile* file : {&images_, &labels_file_}) {
      builder.add(file->name());
      builder.add(file->file_bytes());
      builder.add(static_cast<std::uint64_t>(file->header().type));
      builder.add(file->header().shape.size());
      for (const std::int64_t extent : file->header().shape) {
        builder.add(static_cast<std::uint64_t>(extent));
      }
    }
    return builder.finish();
  }
  [[nodiscard]] bool in_memory() const noexcept override { return true; }

 private:
  void check() const {
    const IdxHeader& images = images_.header();
    const IdxHeader& labels = labels_file_.header();
    if (labels.shape.size() != 1) {
      throw BadDataset("batchcast: " + labels_file_.path() + " has " +
                       std::to_string(labels.shape.size()) +
                       " dimensions where labels have one. The order is idx:IMAGES,LABELS.");
    }
    if (images.shape.size() < 2 || images.shape.size() - 1 > limits::dimensions_max) {
      throw BadDataset("batchcast: " + images_.path() + " has " +
                       std::to_string(images.shape.size()) +
                       " dimensions, which is no row of images.");
    }
    if (size_of(images.type) != 1) {
      throw BadDataset("batchcast: " + images_.path() +
                       ": its elements have several bytes, in big-endian order; images of single "
                       "bytes are expected. Save it as .npy and use npy:.");
    }
    if (images.data_bytes == 0)
      throw BadDataset("batchcast: " + images_.path() + " holds no images.");
    if (images.shape[0] != labels.shape[0]) {
      throw BadDataset("batchcast: " + images_.path() + " holds " +
                       std::to_string(images.shape[0]) + " images, but " + labels_file_.path() +
                       " holds " + std::to_string(labels.shape[0]) +
                       " labels: the files do not belong together.");
    }
  }

  IdxFile images_;
  IdxFile labels_file_;
  std::vector<std::int64_t> labels_;
  std::size_t sample_bytes_ = 0;
  std::vector<PartSpec> parts_;
};

}  // namespace

std::unique_ptr<Source> open_idx(std::string_view rest, const SourceOptions& options) {
  return std::make_unique<IdxSource>(find_paths(rest, options));
}

}  // namespace batchcast::inline v0_1::detail
