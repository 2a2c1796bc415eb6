// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/data/source.hpp>

#include <cstdint>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "catch.hpp"
#include "data/source/idx/idx_file.hpp"
#include "source_support.hpp"

namespace fs = std::filesystem;
using batchcast::BadDataset;
using batchcast::InvalidArgument;
using batchcast::open_source;
using batchcast::detail::parse_idx_header;
using namespace source_test;
using source_test::mentions;

namespace {

std::string big_endian(std::uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 255);
  return text;
}

std::string header(int type, const std::vector<std::uint32_t>& shape) {
  std::string text = {'\0', '\0', static_cast<char>(type), static_cast<char>(shape.size())};
  for (const std::uint32_t extent : shape) text += big_endian(extent);
  return text;
}

std::uint32_t crc32_of(const std::string& text) {
  std::uint32_t crc = ~0U;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320U : 0U);
  }
  return ~crc;
}

std::string little_endian(std::uint32_t value) {
  const std::string text = big_endian(value);
  return {text.rbegin(), text.rend()};
}

// One stored block: what any gzip reader takes.
std::string gzipped(const std::string& text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  std::string packed = {'\x1f', '\x8b', 8, 0, 0, 0, 0, 0, 0, 3, 1};
  packed += little_endian(size).substr(0, 2) + little_endian(~size).substr(0, 2) + text;
  return packed + little_endian(crc32_of(text)) + little_endian(size);
}

const std::string three_images = header(8, {3, 2, 2}) + "aaaabbbbcccc";
const std::string three_labels = header(8, {3}) + std::string("\x07\x00\xff", 3);

std::string write_pair(const TemporaryFolder& folder, const std::string& images,
                       const std::string& labels) {
  return "idx:" + folder.write("images", images) + "," + folder.write("labels", labels);
}

void check_three(const batchcast::Source& source) {
  REQUIRE(source.size() == 3);
  CHECK(part_of(source, 0, 0) == "aaaa");
  CHECK(part_of(source, 2, 0) == "cccc");
  CHECK(label_of(source, 0) == 7);
  CHECK(label_of(source, 1) == 0);
  CHECK(label_of(source, 2) == 255);
  CHECK(source.in_memory());
  CHECK(source.parts()[0] == batchcast::PartSpec{.name = "image", .shape = {2, 2}});
  CHECK(source.parts()[1] == batchcast::PartSpec{.name = "label", .dtype = batchcast::DType::i64});
}

}  // namespace

TEST_CASE("two IDX files are images and labels") {
  const TemporaryFolder folder;
  const auto source = open_source(write_pair(folder, three_images, three_labels));
  check_three(*source);
  CHECK(source->name_of(2) == "images[2]");
}

TEST_CASE("a folder has a split for training and one for testing, packed or not") {
  const TemporaryFolder folder;
  folder.write("a/train-images-idx3-ubyte", three_images);
  folder.write("a/train-labels-idx1-ubyte.gz", gzipped(three_labels));
  folder.write("a/t10k-images.idx3-ubyte.gz", gzipped(header(8, {1, 1, 1}) + "t"));
  folder.write("a/t10k-labels.idx1-ubyte", header(8, {1}) + "\x01");
  const std::string spec = "idx:" + folder.path("a");
  check_three(*open_source(spec));
  check_three(*open_source(spec + "?split=train"));
  const auto test = open_source(spec + "?split=test");
  CHECK(part_of(*test, 0, 0) == "t");
  CHECK(test->name_of(0) == "t10k-images.idx3-ubyte.gz[0]");
  CHECK(mentions(refusal_to_open<InvalidArgument>(spec + "?split=tset"), {"`tset`", "`test`?"}));
  fs::create_directories(folder.path("MNIST"));
  fs::rename(folder.path("a"), folder.path("MNIST/raw"));
  check_three(*open_source("idx:" + folder.path("MNIST")));
}

TEST_CASE("Fashion-MNIST is read as Debian ships it") {
  const std::string place = "/usr/share/datasets/fashion-mnist";
  if (!fs::exists(place)) return;
  const auto source = open_source("idx:" + place + "?split=test");
  REQUIRE(source->size() == 10'000);
  CHECK(source->parts()[0].shape == std::vector<std::int64_t>{28, 28});
  const std::vector<std::int64_t> first_labels = {9, 2, 1, 1, 6, 1, 4, 6, 5, 7};
  for (std::size_t i = 0; i < first_labels.size(); ++i) {
    CHECK(label_of(*source, i) == first_labels[i]);
  }
  const auto ankle_boot = source_test::values_of<std::uint8_t>(*source, 0, 0);
  CHECK(std::accumulate(ankle_boot.begin(), ankle_boot.end(), 0) == 33'456);
}

TEST_CASE("labels of any whole type are signed numbers") {
  const TemporaryFolder folder;
  const std::string images = header(9, {2, 3}) + "abcdef";
  const auto i8 = open_source(write_pair(folder, images, header(9, {2}) + "\xff\x02"));
  CHECK(i8->parts()[0].dtype == batchcast::DType::i8);
  CHECK(label_of(*i8, 0) == -1);
  CHECK(label_of(*i8, 1) == 2);
  const auto i16 = open_source(write_pair(folder, images, header(11, {2}) + "\xff\xfe\x01\x02"));
  CHECK(label_of(*i16, 0) == -2);
  CHECK(label_of(*i16, 1) == 258);
  const auto i32 = open_source(
      write_pair(folder, images, header(12, {2}) + big_endian(0x80000000U) + big_endian(70'000)));
  CHECK(label_of(*i32, 0) == -2147483648LL);
  CHECK(label_of(*i32, 1) == 70'000);
  CHECK(mentions(refusal_to_open<BadDataset>(
                     write_pair(folder, images, header(13, {2}) + std::string(8, 'x'))),
                 {"labels", "not whole"}));
}

TEST_CASE("colour images have their channels last where three come last") {
  const TemporaryFolder folder;
  const std::string labels = header(8, {1}) + "\x01";
  CHECK(open_source(write_pair(folder, header(8, {1, 2, 2, 3}) + std::string(12, 'x'), labels))
            ->parts()[0]
            .channels_last);
  CHECK_FALSE(
      open_source(write_pair(folder, header(8, {1, 3, 2, 2}) + std::string(12, 'x'), labels))
          ->parts()[0]
          .channels_last);
}

TEST_CASE("broken IDX files are refused with the file and what is wrong") {
  const TemporaryFolder folder;
  const auto images_refused = [&](const std::string& images) {
    return refusal_to_open<BadDataset>(write_pair(folder, images, three_labels));
  };
  CHECK(mentions(images_refused(""), {"images", "empty"}));
  CHECK(mentions(images_refused("no idx file"), {"images", "no file of the IDX format"}));
  CHECK(mentions(images_refused(header(10, {3, 2, 2}) + "aaaabbbbcccc"), {"element type 10"}));
  CHECK(mentions(images_refused(three_images.substr(0, 9)), {"within its header"}));
  CHECK(mentions(images_refused(three_images.substr(0, 20)), {"speaks of 28 bytes", "holds 20"}));
  CHECK(mentions(images_refused(three_images + "x"), {"speaks of 28 bytes", "holds 29"}));
  CHECK(mentions(images_refused(header(8, {~0U, ~0U, ~0U})), {"more bytes than can be counted"}));
  CHECK(mentions(images_refused(header(8, {0, 2, 2})), {"holds no images"}));
  CHECK(mentions(images_refused(header(8, {3}) + "abc"), {"1 dimensions"}));
  CHECK(mentions(images_refused(header(12, {3, 1}) + std::string(12, 'x')), {"several bytes"}));
  CHECK(mentions(images_refused(header(8, {2, 2, 2}) + "aaaabbbb"),
                 {"2 images", "3 labels", "do not belong together"}));
  CHECK(mentions(refusal_to_open<BadDataset>(write_pair(folder, three_labels, three_images)),
                 {"3 dimensions", "idx:IMAGES,LABELS"}));
}

TEST_CASE("broken gzip files are refused") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& images) {
    return refusal_to_open<BadDataset>(write_pair(folder, images, three_labels));
  };
  const std::string packed = gzipped(three_images);
  CHECK_FALSE(refused(packed.substr(0, packed.size() / 2)).empty());
  CHECK_FALSE(refused(packed.substr(0, 12)).empty());
  CHECK_FALSE(refused(packed.substr(0, 2)).empty());
  CHECK_FALSE(refused(packed.substr(0, 10) + std::string(30, '\xff')).empty());
  CHECK(mentions(refused(gzipped(three_images + "x")), {"speaks of 28 bytes", "holds more"}));
  CHECK(mentions(refused(gzipped(three_images.substr(0, 27))), {"speaks of 28 bytes", "holds 27"}));
  // 16 GB that nobody packed into so little.
  CHECK(mentions(refused(gzipped(header(8, {4'000'000, 64, 64}))), {"more than can be packed"}));
}

TEST_CASE("an IDX header is read from any bytes") {
  const auto parse = [](const std::string& text) {
    return parse_idx_header(source_test::as_bytes(text), "x");
  };
  const auto parsed = parse(header(11, {5, 7}));
  CHECK(parsed.shape == std::vector<std::int64_t>{5, 7});
  CHECK(parsed.data_offset == 12);
  CHECK(parsed.data_bytes == 70);
  for (std::size_t size = 0; size < 12; ++size) {
    CHECK_FALSE(refusal<BadDataset>([&] {
                  return parse(header(11, {5, 7}).substr(0, size));
                }).empty());
  }
  CHECK(parse(header(8, std::vector<std::uint32_t>(255, 1))).shape.size() == 255);
}

TEST_CASE("files that are not there are refused with what was looked for") {
  const TemporaryFolder folder;
  folder.make_folder("empty");
  CHECK(mentions(refusal_to_open<BadDataset>("idx:" + folder.path("empty")),
                 {"train-images-idx3-ubyte", ".gz", "idx:IMAGES,LABELS"}));
  CHECK(mentions(refusal_to_open<BadDataset>("idx:" + folder.path("none")), {"no such folder"}));
  CHECK(mentions(refusal_to_open<BadDataset>("idx:" + folder.path("a") + "," + folder.path("b")),
                 {"No such file"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("idx:" + folder.write("one", three_images)),
                 {"idx:IMAGES,LABELS"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("idx:a,b?split=test"), {"`split`"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("idx:a,,b"), {"file name is missing"}));
}

TEST_CASE("an IDX dataset's fingerprint is of names, sizes and shapes") {
  const TemporaryFolder folder;
  const auto first = open_source(write_pair(folder, three_images, three_labels))->fingerprint();
  CHECK(first.to_hex() == "68a6d4d413db8e23917afa3af86b47f1");
  folder.write("moved/images", three_images);
  folder.write("moved/labels", three_labels);
  folder.write("moved/other", three_labels);
  const std::string spec = "idx:" + folder.path("moved/images") + ",";
  CHECK(open_source(spec + folder.path("moved/labels"))->fingerprint() == first);
  CHECK_FALSE(open_source(spec + folder.path("moved/other"))->fingerprint() == first);
  CHECK_FALSE(open_source(write_pair(folder, header(8, {3, 1, 4}) + "aaaabbbbcccc", three_labels))
                  ->fingerprint() == first);
}
