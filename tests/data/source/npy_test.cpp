// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/data/source.hpp>

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "data/source/npy/npy_header.hpp"
#include "source_support.hpp"

using batchcast::BadDataset;
using batchcast::DType;
using batchcast::InvalidArgument;
using batchcast::open_source;
using batchcast::SampleParts;
using batchcast::detail::NpyHeader;
using batchcast::detail::parse_npy_header;
using Catch::Matchers::Contains;
using namespace source_test;
using source_test::mentions;

namespace {

std::string head(const std::string& dictionary, int version = 1) {
  std::string text = "\x93NUMPY" + std::string{static_cast<char>(version), '\0'};
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  std::string padded = dictionary;
  while ((text.size() + length_bytes + padded.size() + 1) % 64 != 0) padded += ' ';
  padded += '\n';
  for (std::size_t i = 0; i < length_bytes; ++i) {
    text += static_cast<char>(padded.size() >> (8 * i) & 255);
  }
  return text + padded;
}

std::string dictionary(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

std::string array(const std::string& descr, const std::string& shape, const std::string& data) {
  return head(dictionary(descr, shape)) + data;
}

const std::vector<std::int64_t> three_numbers = {5, -6, 7};
const std::string three_labels = array("<i8", "(3,)", bytes_of(three_numbers));

NpyHeader parse(const std::string& file) {
  return parse_npy_header(source_test::as_bytes(file), "x.npy");
}
std::string why_not(const std::string& file) {
  return refusal<BadDataset>([&] { return parse(file); });
}

}  // namespace

TEST_CASE("aligned arrays are parts of the same samples") {
  const TemporaryFolder folder;
  const std::vector<float> floats = {1, 2, 3, 4, 5, 6};
  const std::string spec =
      "npy:" + folder.write("x/some points.npy", array("<f4", "(3, 2)", bytes_of(floats))) +
      ",label=" + folder.write("y=1.npy", three_labels);
  const auto source = open_source(spec);
  REQUIRE(source->size() == 3);
  CHECK(source->parts() ==
        std::vector<batchcast::PartSpec>{{.name = "some points", .dtype = DType::f32, .shape = {2}},
                                         {.name = "label", .dtype = DType::i64}});
  CHECK(values_of<float>(*source, 1, 0) == std::vector<float>{3, 4});
  CHECK(source_test::label_of(*source, 1) == -6);
  CHECK(source->name_of(2) == "some points.npy[2]");
  CHECK(source->in_memory());
  CHECK(source->remarks().empty());
}

TEST_CASE("every element type that can be served is known") {
  const std::vector<std::pair<std::string, DType>> types = {
      {"|u1", DType::u8},  {"|i1", DType::i8},  {"<i2", DType::i16}, {"<i4", DType::i32},
      {"<i8", DType::i64}, {"<u2", DType::u16}, {"<u4", DType::u32}, {"<u8", DType::u64},
      {"<f2", DType::f16}, {"<f4", DType::f32}, {"<f8", DType::f64}, {"|b1", DType::boolean}};
  for (const auto& [descr, dtype] : types) {
    const std::string data(2 * batchcast::size_of(dtype), 'x');
    CHECK(parse(array(descr, "(2,)", data)).dtype == dtype);
  }
}

TEST_CASE("headers of all versions and writers are read") {
  for (const int version : {1, 2, 3}) {
    const NpyHeader header =
        parse(head(dictionary("<u2", "(2, 3)"), version) + std::string(12, 'x'));
    CHECK(header.shape == std::vector<std::int64_t>{2, 3});
    CHECK(header.data_bytes == 12);
    CHECK(header.data_offset % 64 == 0);
  }
  CHECK(parse(head("{\"shape\":(2L,),\"fortran_order\":False,\"descr\":\"<u2\"}") + "xxxx").shape ==
        std::vector<std::int64_t>{2});
  CHECK(
      parse(head("{'descr': '<u2', 'fortran_order': True, 'shape': (2,)}") + "xxxx").shape.size() ==
      1);
  CHECK(parse(array("<u2", "()", "xx")).shape.empty());
}

TEST_CASE("arrays that cannot be served are refused with what to do") {
  CHECK(mentions(why_not(array(">f4", "(1,)", "xxxx")), {"x.npy", "big-endian", "newbyteorder"}));
  CHECK(mentions(why_not(array("|O", "(1,)", "xxxx")), {"Python objects"}));
  CHECK(mentions(why_not(array("<c8", "(1,)", "xxxxxxxx")), {"`<c8`"}));
  CHECK(mentions(why_not(array("<U3", "(1,)", std::string(12, 'x'))), {"`<U3`"}));
  CHECK(mentions(
      why_not(head("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,)}") + "xxxx"),
      {"several columns"}));
  CHECK(mentions(why_not(head("{'descr': '<i4', 'fortran_order': True, 'shape': (1, 2)}") +
                         std::string(8, 'x')),
                 {"Fortran", "ascontiguousarray"}));
}

TEST_CASE("broken .npy files are refused") {
  CHECK(mentions(why_not(""), {"empty"}));
  CHECK(mentions(why_not("PK\x03\x04 a zip file"), {"no .npy file"}));
  CHECK(mentions(why_not(head(dictionary("<i4", "(1,)"), 4)), {"version 4"}));
  CHECK(mentions(why_not(three_labels.substr(0, three_labels.size() - 1)),
                 {"cut short", "24 bytes", "23"}));
  CHECK(mentions(why_not(array("<i8", "(4000000000, 4000000000)", "")), {"more bytes than"}));
  CHECK(mentions(why_not(array("<i8", "(99999999999999999999,)", "")), {"header"}));
  CHECK(mentions(why_not(array("<i8", "(-1,)", "")), {"negative"}));
  std::string many = "(";
  for (int i = 0; i < 40; ++i) many += "1,";
  CHECK(mentions(why_not(array("<i8", many + ")", std::string(8, 'x'))), {"32 dimensions"}));
  const std::vector<std::string> dictionaries = {
      "",
      "{",
      "{}",
      "[]",
      "{'descr': '<i4'}",
      "{'descr': '<i4', 'fortran_order': 0, 'shape': (1,)}",
      "{'descr': '<i4', 'fortran_order': False, 'shape': 1}",
      "{'descr': '<i4', 'fortran_order': False, 'shape': (1 2)}",
      "{'descr': '<i4', 'fortran_order': False, 'shape': (1,",
      "{'descr': '<i4', 'fortran_order': False, 'shape': (1,)} more",
      "{'descr': '<i4', 'descr': '<i4', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<i4', 'fortran_order': False, 'shape': (1,), 'extra': 1}",
      "{'descr': 'i4', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<i4, 'fortran_order': False, 'shape': (1,)}"};
  for (const std::string& broken : dictionaries) {
    INFO(broken);
    CHECK_FALSE(why_not(head(broken) + "xxxx").empty());
  }
}

TEST_CASE("an .npy file that ends anywhere is refused, a wrong header length too") {
  for (std::size_t size = 0; size < three_labels.size(); ++size) {
    REQUIRE_FALSE(why_not(three_labels.substr(0, size)).empty());
  }
  std::string longer = three_labels;
  longer[9] = '\x7f';
  CHECK(mentions(why_not(longer), {"within its header"}));
  std::string shorter = three_labels;
  shorter[8] = 20;
  CHECK_FALSE(why_not(shorter).empty());
  const std::string huge = "\x93NUMPY" + std::string("\x02\x00\xff\xff\xff\xff{", 7);
  CHECK(mentions(why_not(huge), {"within its header"}));
}

TEST_CASE("arrays that do not fit each other or hold nothing are refused") {
  const TemporaryFolder folder;
  const std::string three = folder.write("three.npy", three_labels);
  const std::string two = folder.write("two.npy", array("|u1", "(2,)", "ab"));
  CHECK(mentions(refusal_to_open<BadDataset>("npy:" + three + "," + two),
                 {"two.npy holds 2", "three.npy holds 3"}));
  CHECK(mentions(
      refusal_to_open<BadDataset>("npy:" + folder.write("0.npy", array("<i8", "(0, 3)", ""))),
      {"no samples"}));
  CHECK(mentions(
      refusal_to_open<BadDataset>("npy:" + folder.write("1.npy", array("<i8", "(3, 0)", ""))),
      {"empty"}));
  CHECK(
      mentions(refusal_to_open<BadDataset>("npy:" + folder.write("2.npy", array("|u1", "()", "a"))),
               {"single number"}));
  CHECK(mentions(refusal_to_open<BadDataset>(
                     "npy:" + folder.write("3.npy", array("|u1", "(1,1,1,1,1,1,1,1,1,1)", "a"))),
                 {"9 dimensions"}));
  CHECK(mentions(refusal_to_open<BadDataset>("npy:" + folder.path("none.npy")), {"No such file"}));
  CHECK(mentions(refusal_to_open<BadDataset>("npy:" + folder.path()), {"is a folder"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("npy:" + three + "," + three),
                 {"two arrays are named `three`", "npy:NAME="}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("npy:sample_id=" + three), {"sample_id"}));
}

TEST_CASE("an array of images has its channels last where it looks like it") {
  const TemporaryFolder folder;
  const std::string hwc =
      folder.write("hwc.npy", array("|u1", "(1, 2, 4, 3)", std::string(24, 'x')));
  const std::string chw =
      folder.write("chw.npy", array("|u1", "(1, 3, 2, 4)", std::string(24, 'x')));
  const auto is_last = [](const std::string& spec) {
    return open_source(spec)->parts()[0].channels_last;
  };
  CHECK(is_last("npy:images=" + hwc));
  CHECK_FALSE(is_last("npy:" + hwc));
  CHECK_FALSE(is_last("npy:image=" + chw));
}

TEST_CASE("bytes behind an array are remarked") {
  const TemporaryFolder folder;
  const auto source = open_source("npy:" + folder.write("a.npy", three_labels + "more"));
  CHECK(values_of<std::int64_t>(*source, 2, 0) == std::vector<std::int64_t>{7});
  REQUIRE(source->remarks().size() == 1);
  CHECK(mentions(source->remarks()[0], {"a.npy", "4 bytes"}));
}

TEST_CASE("the fingerprint of arrays is of names, sizes and shapes") {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.npy", three_labels);
  const auto first = open_source("npy:" + a)->fingerprint();
  CHECK(first.to_hex() == "54635299c3fdd52ffa7041d730d7860e");
  CHECK(open_source("npy:" + folder.write("copy/a.npy", three_labels))->fingerprint() == first);
  CHECK_FALSE(open_source("npy:" + folder.write("b.npy", three_labels))->fingerprint() == first);
  CHECK_FALSE(open_source("npy:b=" + a)->fingerprint() == first);
  folder.write("a.npy", array("<u8", "(3,)", bytes_of(three_numbers)));
  CHECK_FALSE(open_source("npy:" + a)->fingerprint() == first);
}

TEST_CASE("archives of arrays are no arrays, and what makes arrays of them is said") {
  const TemporaryFolder folder;
  using namespace std::string_literals;
  const std::string npz = folder.write("a.npz", "PK\x03\x04"s + std::string(64, '\0'));
  CHECK(
      mentions(refusal_to_open<BadDataset>("npy:" + npz), {"a.npz", ".npz", "np.load", "np.save"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>(npz), {"np.save", "`npy:A.npy,B.npy`"}));
  const std::string hdf = folder.write("a.h5", "\x89HDF\r\n\x1a\n" + std::string(64, '\0'));
  CHECK(mentions(refusal_to_open<BadDataset>("npy:" + hdf), {"HDF5", "np.save"}));
  const std::string gz = folder.write("a.npy.xz", "\xfd\x37zXZ\0"s + std::string(64, '\0'));
  CHECK(mentions(refusal_to_open<BadDataset>("npy:" + gz), {"xz -dk", "a.npy.xz"}));
}

namespace {

template <class T>
std::string list_of(const std::vector<T>& values) {
  const std::string descr = sizeof(T) == 8 ? "<i8" : "<i4";
  return array(descr, "(" + std::to_string(values.size()) + ",)", bytes_of(values));
}

// Seven boxes of three images: 2, 0 and 5.
struct Boxes {
  TemporaryFolder folder;
  int files = 0;
  std::string boxes = folder.write("boxes.npy", array("<f4", "(7, 2)", bytes_of(numbers())));
  std::string classes =
      folder.write("classes.npy",
                   array("<i8", "(7,)", bytes_of(std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7})));
  std::string labels = folder.write("label.npy", three_labels);
  std::string offsets = offsets_of<std::int64_t>({0, 2, 2, 7});

  static std::vector<float> numbers() {
    std::vector<float> values;
    for (int i = 0; i < 14; ++i) values.push_back(static_cast<float>(i));
    return values;
  }
  template <class T>
  std::string offsets_of(const std::vector<T>& values) {
    return folder.write("o" + std::to_string(++files) + ".npy", list_of(values));
  }
  std::string refusal_of_offsets(const std::string& path) {
    return refusal_to_open<BadDataset>("npy:boxes=" + boxes + ",boxes.offsets=" + path);
  }
};

}  // namespace

TEST_CASE("arrays with offsets have samples of any length") {
  Boxes files;
  for (const std::string& offsets : {files.offsets, files.offsets_of<std::int32_t>({0, 2, 2, 7})}) {
    const auto source = open_source("npy:boxes=" + files.boxes + ",boxes.offsets=" + offsets +
                                    ",classes=" + files.classes + ",classes.offsets=" + offsets +
                                    "," + files.labels);
    REQUIRE(source->size() == 3);
    CHECK(source->parts() ==
          std::vector<batchcast::PartSpec>{
              {.name = "boxes", .dtype = DType::f32, .shape = {2}, .axis = "boxes"},
              {.name = "classes", .dtype = DType::i64, .axis = "boxes"},
              {.name = "label", .dtype = DType::i64}});
    CHECK(values_of<float>(*source, 0, 0) == std::vector<float>{0, 1, 2, 3});
    CHECK(values_of<float>(*source, 1, 0).empty());
    CHECK(values_of<std::int64_t>(*source, 2, 1) == std::vector<std::int64_t>{3, 4, 5, 6, 7});
    CHECK(values_of<std::int64_t>(*source, 1, 2).at(0) == -6);
    const auto lengths = source->lengths("boxes");
    REQUIRE(lengths != nullptr);
    REQUIRE(lengths->size() == 3);
    CHECK((*lengths)[0] == 2);
    CHECK((*lengths)[1] == 0);
    CHECK((*lengths)[2] == 5);
    CHECK(source->lengths("label") == nullptr);
    CHECK(source->in_memory());
  }
}

TEST_CASE(
    "offsets that are written over while they are served make bad samples, and no longer ones") {
  Boxes files;
  const auto source = open_source("npy:boxes=" + files.boxes + ",boxes.offsets=" + files.offsets);
  const auto write_over = [&](const std::vector<std::int64_t>& offsets) {
    const std::string bytes = list_of(offsets);
    std::fstream file(files.offsets, std::ios::in | std::ios::out | std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    REQUIRE(file.flush());
  };
  const auto is_refused = [&](std::uint64_t id) {
    SampleParts parts;
    CHECK_THROWS_WITH(source->read(id, parts), Contains("offsets were changed"));
  };
  write_over({0, 7, 7, 7});
  is_refused(0);
  is_refused(2);
  write_over({std::int64_t{1} << 40, (std::int64_t{1} << 40) + 2, 2, 7});
  is_refused(0);
  write_over({0, 2, -3, 2});
  is_refused(2);
  const auto lengths = source->lengths("boxes");
  CHECK((*lengths)[0] == 2);
  CHECK((*lengths)[1] == 0);
  CHECK((*lengths)[2] == 5);
}

TEST_CASE("the name of an axis is that of the first field with the offsets, or what is said") {
  Boxes files;
  const std::string other = files.offsets_of<std::int64_t>({0, 2, 2, 7});
  const std::string both = "npy:boxes=" + files.boxes + ",boxes.offsets=" + files.offsets +
                           ",classes=" + files.classes + ",classes.offsets=";
  const auto axes = [](const std::string& spec) {
    const auto source = open_source(spec);
    return source->parts().at(0).axis + " " + source->parts().at(1).axis;
  };
  CHECK(axes(both + files.offsets) == "boxes boxes");
  CHECK(axes(both + files.folder.path("./o1.npy")) == "boxes boxes");
  CHECK(axes(both + other) == "boxes classes");
  CHECK(axes(both + other + ",classes.axis=boxes") == "boxes boxes");
  CHECK(axes(both + files.offsets + ",classes.axis=things") == "things things");
  CHECK(axes(both + files.offsets + ",classes.axis=b,boxes.axis=a") == "a b");
  const std::string unlike = files.offsets_of<std::int64_t>({0, 2, 3, 7});
  CHECK(mentions(refusal_to_open<BadDataset>(both + unlike + ",classes.axis=boxes"),
                 {"sample 1 has 0 rows of `boxes` and 1 of `classes`", "classes.axis=NAME"}));
}

TEST_CASE("offsets are checked when the source is opened") {
  Boxes files;
  using Numbers = std::vector<std::int64_t>;
  const auto why = [&](const Numbers& offsets) {
    return files.refusal_of_offsets(files.offsets_of(offsets));
  };
  CHECK(mentions(why({1, 2, 7}), {"first offset is 1", "cumsum"}));
  CHECK(mentions(why({0, 5, 2, 7}), {"fall from 5 to 2 at [2]"}));
  CHECK(mentions(why({0, 9, 7}), {"fall from 9 to 7"}));
  CHECK(mentions(why({0, 2, 6}), {"last offset is 6", "boxes.npy has 7 rows"}));
  CHECK(mentions(why({0, 2, 8}), {"last offset is 8"}));
  CHECK(mentions(why({0}), {"1 offsets"}));
  CHECK(mentions(files.refusal_of_offsets(
                     files.folder.write("f.npy", array("<f8", "(2,)", std::string(16, '\0')))),
                 {"f64", "i64 or i32", "astype(np.int64)"}));
  CHECK(mentions(files.refusal_of_offsets(
                     files.folder.write("2.npy", array("<i8", "(1, 2)", std::string(16, '\0')))),
                 {"2 dimensions"}));
  CHECK(mentions(files.refusal_of_offsets(files.folder.path("none.npy")), {"none.npy"}));
  CHECK(mentions(
      refusal_to_open<BadDataset>("npy:boxes=" + files.boxes + ",boxes.offsets=" +
                                  files.offsets_of<std::int64_t>({0, 7}) + "," + files.labels),
      {"label.npy holds 3 samples", "boxes holds 1"}));
}

TEST_CASE("what stands beside an array has to fit to one") {
  Boxes files;
  const std::string boxes = "npy:boxes=" + files.boxes;
  CHECK(mentions(refusal_to_open<InvalidArgument>(boxes + ",box.offsets=" + files.offsets),
                 {"no array is named `box`"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>(boxes + ",boxes.ofsets=" + files.offsets),
                 {"`ofsets`", "Did you mean `offsets`?"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>(boxes + ",boxes.axis=things"),
                 {"boxes.offsets=OFFSETS.npy"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>(boxes + ",boxes.offsets="), {"says nothing"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>(boxes + ",boxes.offsets=a,boxes.offsets=b"),
                 {"twice"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("npy:a.offsets=b"), {"no array is named `a`"}));
}

TEST_CASE(
    "offsets and the axis's name are part of a source's fingerprint, and no sample has rows") {
  Boxes files;
  const auto print = [&](const std::string& offsets, const std::string& more = {}) {
    return open_source("npy:boxes=" + files.boxes + ",boxes.offsets=" + offsets + more)
        ->fingerprint();
  };
  const auto first = print(files.offsets);
  CHECK(print(files.offsets_of<std::int64_t>({0, 2, 2, 7})) == first);
  CHECK_FALSE(print(files.offsets_of<std::int64_t>({0, 1, 2, 7})) == first);
  CHECK_FALSE(print(files.offsets, ",boxes.axis=x") == first);
  const std::string none = files.folder.write("none.npy", array("<f4", "(0, 2)", ""));
  const auto empty =
      open_source("npy:boxes=" + none + ",boxes.offsets=" + files.offsets_of<std::int64_t>({0, 0}));
  CHECK(empty->size() == 1);
  CHECK((*empty->lengths("boxes"))[0] == 0);
  CHECK(values_of<float>(*empty, 0, 0).empty());
}
