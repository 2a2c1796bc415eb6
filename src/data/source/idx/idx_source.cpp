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
#include "data/source/idx/idx_file.hpp"
#include "data/source/record_source.hpp"
#include "data/source/source_kinds.hpp"
#include "data/tensor_part.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

struct IdxPaths {
  std::string images;
  std::string labels;
};

// MNIST's names, as published and as some unpackers write them; torchvision keeps them in raw/.
std::string find_file(const std::string& folder, const std::string& split,
                      const std::string& what) {
  for (const std::string place : {"", "raw"}) {
    for (const std::string middle : {"-", "."}) {
      for (const std::string packing : {"", ".gz"}) {
        const std::filesystem::path path =
            std::filesystem::path(folder) / place / text("{}-{}{}", split, what, packing);
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
  throw BadDataset(
      text("batchcast: {} has no {}-{} (or with .gz). Other names are given as idx:IMAGES,LABELS.",
           folder, split, what));
}

IdxPaths find_paths(std::string_view rest, const SourceOptions& options) {
  const std::vector<std::string> paths = split_paths("idx", rest);
  std::error_code ignored;
  if (paths.size() == 2) {
    options.allow({});
    return {paths[0], paths[1]};
  }
  if (paths.size() > 2 || std::filesystem::is_regular_file(paths[0], ignored)) {
    throw InvalidArgument(
        text("batchcast: `idx:{}`: write a folder, or two files as idx:IMAGES,LABELS.", rest));
  }
  options.allow({"split"});
  const std::string split =
      options.one_of("split", {"train", "test"}) == "train" ? "train" : "t10k";
  if (!std::filesystem::is_directory(paths[0], ignored)) {
    throw BadDataset(text("batchcast: {} cannot be read: there is no such folder.", paths[0]));
  }
  return {find_file(paths[0], split, "images-idx3-ubyte"),
          find_file(paths[0], split, "labels-idx1-ubyte")};
}

void check(const IdxFile& image_file, const IdxFile& label_file) {
  const IdxHeader& images = image_file.header();
  const IdxHeader& labels = label_file.header();
  if (labels.shape.size() != 1) {
    throw BadDataset(text(
        "batchcast: {} has {} dimensions where labels have one. The order is idx:IMAGES,LABELS.",
        label_file.path(), labels.shape.size()));
  }
  if (images.shape.size() < 2 || images.shape.size() - 1 > limits::dimensions_max) {
    throw BadDataset(text("batchcast: {} has {} dimensions, which is no row of images.",
                          image_file.path(), images.shape.size()));
  }
  if (size_of(images.type) != 1) {
    throw BadDataset(
        text("batchcast: {}: its elements have several bytes, in big-endian order; images of "
             "single bytes are expected. Save it as .npy and use npy:.",
             image_file.path()));
  }
  if (images.data_bytes == 0)
    throw BadDataset(text("batchcast: {} holds no images.", image_file.path()));
  if (images.shape[0] != labels.shape[0]) {
    throw BadDataset(text(
        "batchcast: {} holds {} images, but {} holds {} labels: the files do not belong together.",
        image_file.path(), images.shape[0], label_file.path(), labels.shape[0]));
  }
}

void add_to(FingerprintBuilder& fingerprint, const IdxFile& file) {
  fingerprint.add(file.name());
  fingerprint.add(file.file_bytes());
  fingerprint.add(static_cast<std::uint64_t>(file.header().type));
  fingerprint.add(file.header().shape.size());
  for (const std::int64_t extent : file.header().shape) {
    fingerprint.add(static_cast<std::uint64_t>(extent));
  }
}

}  // namespace

std::unique_ptr<Source> open_idx(std::string_view rest, const SourceOptions& options) {
  const IdxPaths paths = find_paths(rest, options);
  RecordSet set;
  const IdxFile& images = keep(set, IdxFile(paths.images));
  const IdxFile label_file(paths.labels);
  check(images, label_file);
  const std::vector<std::int64_t>& labels = keep(set, label_file.integers());
  const IdxHeader& header = images.header();
  PartSpec image{.name = "image", .dtype = header.type == IdxType::u8 ? DType::u8 : DType::i8};
  image.shape.assign(header.shape.begin() + 1, header.shape.end());
  image.channels_last = has_channels_last(image.dtype, image.shape);
  set.files = {{std::string(images.name()), labels.size()}};
  set.parts = {{.spec = std::move(image),
                .records = {images.data()},
                .record_bytes = header.data_bytes / labels.size()},
               {.spec = {.name = "label", .dtype = DType::i64},
                .records = {std::as_bytes(std::span(labels))},
                .record_bytes = sizeof(std::int64_t)}};
  FingerprintBuilder fingerprint;
  fingerprint.add("idx");
  add_to(fingerprint, images);
  add_to(fingerprint, label_file);
  set.fingerprint = fingerprint.finish();
  return make_record_source(std::move(set));
}

}  // namespace batchcast::inline v0_1::detail
