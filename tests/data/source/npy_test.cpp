// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/data/source.hpp>

#include <cstdint>
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
using batchcast::detail::NpyHeader;
using batchcast::detail::parse_npy_header;
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
