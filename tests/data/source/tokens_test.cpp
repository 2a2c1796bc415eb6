// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/data/source.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "catch.hpp"
#include "source_support.hpp"

using batchcast::BadDataset;
using batchcast::DType;
using batchcast::InvalidArgument;
using batchcast::open_source;
using namespace source_test;
using source_test::mentions;

namespace {

// first, first + 1, ...
template <class T>
std::string counting(std::size_t count, T first = 0) {
  std::vector<T> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return bytes_of(tokens);
}

using Tokens = std::vector<std::uint16_t>;

// As llm.c's dev/data/data_common.py writes them: 256 i32 and the tokens.
std::string llmc_file(std::int32_t magic, std::int32_t version, std::size_t count,
                      const std::string& tokens) {
  std::vector<std::int32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = static_cast<std::int32_t>(count);
  return bytes_of(header) + tokens;
}

std::string npy_file(const std::string& descr, const std::string& shape, const std::string& data) {
  std::string head = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  head.resize(117, ' ');
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + head + '\n' + data;
}

}  // namespace

TEST_CASE("windows of tokens follow each other and share one token") {
  const TemporaryFolder folder;
  const std::string spec = "tokens:" + folder.write("train.bin", counting<std::uint16_t>(13));
  const auto source = open_source(spec + "?length=4");
  REQUIRE(source->size() == 3);
  CHECK(source->parts() ==
        std::vector<batchcast::PartSpec>{{.name = "tokens", .dtype = DType::u16, .shape = {5}}});
  CHECK(values_of<std::uint16_t>(*source, 0, 0) == Tokens{0, 1, 2, 3, 4});
  CHECK(values_of<std::uint16_t>(*source, 1, 0) == Tokens{4, 5, 6, 7, 8});
  CHECK(values_of<std::uint16_t>(*source, 2, 0) == Tokens{8, 9, 10, 11, 12});
  CHECK(source->name_of(1) == "train.bin[4:9]");
  CHECK(source->in_memory());
  CHECK(open_source(spec + "?length=5")->size() == 2);
  CHECK(open_source(spec + "?length=6")->size() == 2);
  CHECK(open_source(spec + "?length=12")->size() == 1);
}

TEST_CASE("windows may overlap, or leave out what lies between them") {
  const TemporaryFolder folder;
  const std::string spec = "tokens:" + folder.write("t.bin", counting<std::uint16_t>(10));
  const auto each = open_source(spec + "?length=3&stride=1");
  REQUIRE(each->size() == 7);
  CHECK(values_of<std::uint16_t>(*each, 6, 0) == Tokens{6, 7, 8, 9});
  const auto few = open_source(spec + "?length=3&stride=6");
  REQUIRE(few->size() == 2);
  CHECK(values_of<std::uint16_t>(*few, 1, 0) == Tokens{6, 7, 8, 9});
  CHECK(open_source(spec + "?length=3&stride=7")->size() == 1);
  CHECK(open_source(spec + "?length=3&stride=18446744073709551615")->size() == 1);
}

TEST_CASE("a pair is a window's tokens and those that follow them") {
  const TemporaryFolder folder;
  const std::string file = folder.write("t.bin", counting<std::int32_t>(9, -2));
  const auto source = open_source("tokens:" + file + "?dtype=i32&length=4&pairs=true");
  REQUIRE(source->size() == 2);
  CHECK(source->parts() ==
        std::vector<batchcast::PartSpec>{{.name = "input", .dtype = DType::i32, .shape = {4}},
                                         {.name = "target", .dtype = DType::i32, .shape = {4}}});
  CHECK(values_of<std::int32_t>(*source, 1, 0) == std::vector<std::int32_t>{2, 3, 4, 5});
  CHECK(values_of<std::int32_t>(*source, 1, 1) == std::vector<std::int32_t>{3, 4, 5, 6});
}

TEST_CASE("no window crosses from one file to the next") {
  const TemporaryFolder folder;
  folder.write("part_b.bin", counting<std::uint16_t>(7, 100));
  folder.write("part_a.bin", counting<std::uint16_t>(5, 0));
  folder.write("part_c.bin", counting<std::uint16_t>(2, 200));
  folder.write("part_d.bin", counting<std::uint16_t>(3, 300));
  const std::vector<Tokens> expected = {{0, 1, 2},       {2, 3, 4},       {100, 101, 102},
                                        {102, 103, 104}, {104, 105, 106}, {300, 301, 302}};
  const std::string list = folder.path("part_a.bin") + "," + folder.path("part_b.bin") + "," +
                           folder.path("part_[cd].bin");
  for (const std::string& files : {folder.path("part_?.bin"), list}) {
    const auto source = open_source("tokens:" + files + "?length=2");
    REQUIRE(source->size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CHECK(values_of<std::uint16_t>(*source, i, 0) == expected[i]);
    }
    CHECK(source->name_of(5) == "part_d.bin[0:3]");
    REQUIRE(source->remarks().size() == 1);
    CHECK(mentions(source->remarks()[0], {"part_c.bin", "2 tokens"}));
  }
  CHECK(mentions(refusal_to_open<BadDataset>("tokens:" + folder.path("no*.bin") + "?length=2"),
                 {"no*.bin", "no file"}));
}

TEST_CASE("a header is passed over") {
  const TemporaryFolder folder;
  const std::string file = folder.write("t.bin", std::string(5, 'h') + counting<std::uint16_t>(3));
  const auto source = open_source("tokens:" + file + "?length=2&header=5");
  REQUIRE(source->size() == 1);
  CHECK(values_of<std::uint16_t>(*source, 0, 0) == Tokens{0, 1, 2});
  CHECK(mentions(refusal_to_open<BadDataset>("tokens:" + file + "?length=2&header=12"),
                 {"shorter than its header"}));
}

TEST_CASE("token files that are too short, cut or missing are refused") {
  const TemporaryFolder folder;
  const std::string four = "tokens:" + folder.write("4.bin", counting<std::uint16_t>(4));
  CHECK(mentions(refusal_to_open<BadDataset>(four + "?length=4"), {"too short", "4 + 1", "4."}));
  CHECK(
      mentions(refusal_to_open<BadDataset>(four + "?length=18446744073709551615"), {"too short"}));
  CHECK(open_source(four + "?length=3")->size() == 1);
  CHECK(mentions(refusal_to_open<BadDataset>("tokens:" + folder.write("0.bin", "") + "?length=1"),
                 {"too short"}));
  CHECK(mentions(
      refusal_to_open<BadDataset>("tokens:" + folder.write("7.bin", "1234567") + "?length=1"),
      {"7 bytes", "u16"}));
  CHECK(mentions(refusal_to_open<BadDataset>("tokens:" + folder.path("none.bin") + "?length=1"),
                 {"No such file"}));
}

TEST_CASE("options of tokens are checked") {
  CHECK(mentions(refusal_to_open<InvalidArgument>("tokens:t.bin?stride=4"),
                 {"`stride`", "length=1024"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("tokens:t.bin?pairs=true"), {"`pairs`"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("tokens:t.bin?length=0"), {"`length`", "0"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("tokens:t.bin?length=4&stride=0"), {"`stride`"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("tokens:t.bin?length=4&dtype=f32"),
                 {"`f32`", "`u32`"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>("tokens:t.bin?lenght=4"), {"`length`?"}));
}

TEST_CASE("the fingerprint of tokens is of names, sizes and windows") {
  const TemporaryFolder folder;
  const std::string spec = "tokens:" + folder.write("t.bin", counting<std::uint16_t>(100));
  const auto first = open_source(spec + "?length=4")->fingerprint();
  const auto same = [&](const std::string& other) {
    return open_source(other)->fingerprint() == first;
  };
  CHECK(same("tokens:" + folder.write("copy/t.bin", counting<std::uint16_t>(100)) + "?length=4"));
  CHECK(same(spec + "?length=4&stride=4&dtype=u16&pairs=false"));
  CHECK_FALSE(same(spec + "?length=5"));
  CHECK_FALSE(same(spec + "?length=4&stride=3"));
  CHECK_FALSE(same(spec + "?length=4&pairs=true"));
  CHECK_FALSE(same(spec + "?length=4&dtype=i16"));
  CHECK_FALSE(same("tokens:" + folder.write("u.bin", counting<std::uint16_t>(100)) + "?length=4"));
  CHECK_FALSE(same("tokens:" + folder.write("t.bin", counting<std::uint16_t>(101)) + "?length=4"));
}

TEST_CASE("llm.c's files are read behind their headers") {
  const TemporaryFolder folder;
  const std::string gpt2 =
      folder.write("gpt2.bin", llmc_file(20240520, 1, 9, counting<std::uint16_t>(9)));
  const auto source = open_source("tokens:" + gpt2 + "?length=4");
  REQUIRE(source->size() == 2);
  CHECK(source->parts()[0].dtype == DType::u16);
  CHECK(values_of<std::uint16_t>(*source, 0, 0) == Tokens{0, 1, 2, 3, 4});
  CHECK(source->remarks().empty());
  // Whoever said so himself has the same stream.
  CHECK(open_source("tokens:" + gpt2 + "?length=4&header=1024&dtype=u16")->fingerprint() ==
        source->fingerprint());
  const auto raw = open_source("tokens:" + gpt2 + "?length=4&header=0");
  CHECK(raw->size() == 130);
  CHECK_FALSE(raw->fingerprint() == source->fingerprint());

  const std::string llama =
      folder.write("llama.bin", llmc_file(20240801, 7, 5, counting<std::uint32_t>(5, 128'000)));
  const auto wide = open_source("tokens:" + llama + "?length=4&pairs=true");
  CHECK(wide->parts()[1].dtype == DType::u32);
  CHECK(values_of<std::uint32_t>(*wide, 0, 1) ==
        std::vector<std::uint32_t>{128'001, 128'002, 128'003, 128'004});
}

TEST_CASE("llm.c's files that are no whole run of tokens are refused") {
  const TemporaryFolder folder;
  const std::string nine = counting<std::uint16_t>(9);
  const auto refused = [&](const std::string& content) {
    return refusal_to_open<BadDataset>("tokens:" + folder.write("t.bin", content) + "?length=4");
  };
  CHECK(
      mentions(refused(llmc_file(20240520, 1, 10, nine)), {"10 tokens", "18 bytes", "cut short"}));
  CHECK(mentions(refused(llmc_file(20240520, 1, 8, nine)), {"8 tokens", "18 bytes"}));
  CHECK(
      mentions(refused(llmc_file(20240520, 2, 9, nine)), {"version 2", "`header=1024&dtype=u16`"}));
  CHECK(mentions(refused(llmc_file(20240522, 1, 9, nine)), {"evaluation", "`header=0`"}));
  CHECK(mentions(refused(llmc_file(20240326, 3, 9, nine)), {"a model"}));
  const std::string llama =
      folder.write("l.bin", llmc_file(20240801, 7, 5, counting<std::uint32_t>(5)));
  CHECK(mentions(refusal_to_open<InvalidArgument>("tokens:" + llama + "?length=4&dtype=u16"),
                 {"u32", "not u16", "`dtype=u32`"}));
  const std::string gpt2 = folder.write("g.bin", llmc_file(20240520, 1, 9, nine));
  CHECK(mentions(refusal_to_open<BadDataset>("tokens:" + gpt2 + "," + llama + "?length=4"),
                 {"l.bin", "u32", "g.bin", "u16"}));
}

TEST_CASE("an array of tokens is read behind its header") {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("t.npy", npy_file("<u4", "(6,)", counting<std::uint32_t>(6, 70'000)) + "more");
  const auto source = open_source("tokens:" + file + "?length=2");
  REQUIRE(source->size() == 2);
  CHECK(source->parts()[0].dtype == DType::u32);
  CHECK(values_of<std::uint32_t>(*source, 1, 0) ==
        std::vector<std::uint32_t>{70'002, 70'003, 70'004});
  CHECK(mentions(refusal_to_open<InvalidArgument>("tokens:" + file + "?length=2&dtype=u16"),
                 {"u32", "`dtype=u32`"}));

  const auto refused = [&](const std::string& descr, const std::string& shape) {
    const std::string content = npy_file(descr, shape, std::string(64, '\1'));
    return refusal_to_open<BadDataset>("tokens:" + folder.write("r.npy", content) + "?length=2");
  };
  CHECK(mentions(refused("<u2", "(4, 8)"), {"2 dimensions", "`npy:", "reshape(-1)"}));
  CHECK(mentions(refused("<f4", "(16,)"), {"f32", "astype(np.uint16)"}));
  CHECK(mentions(refused("<i4", "()"), {"a single number"}));
  CHECK(mentions(refused(">u2", "(32,)"), {"big-endian"}));
  CHECK(mentions(refused("<u2", "(33,)"), {"cut short"}));
}

TEST_CASE("files of other formats are no tokens, and what makes tokens of them is said") {
  const TemporaryFolder folder;
  const std::string rest(64, '\0');
  const auto refused = [&](const std::string& content) {
    return refusal_to_open<BadDataset>("tokens:" + folder.write("t.bin", content) + "?length=4");
  };
  using namespace std::string_literals;
  CHECK(mentions(refused("PK\x03\x04"s + rest), {".npz", "np.load", "torch.load", "`header=0`"}));
  CHECK(mentions(refused("\x1f\x8b\x08\0\0\0\0\0\0\x03"s + rest), {"gzip", "gzip -dk", "t.bin"}));
  CHECK(mentions(refused("\x28\xb5\x2f\xfd"s + rest), {"Zstandard", "zstd -d"}));
  CHECK(mentions(refused("\xfd\x37zXZ\0"s + rest), {"xz -dk"}));
  CHECK(mentions(refused("BZh91AY&SY" + rest), {"bzip2 -dk"}));
  CHECK(mentions(refused("\x04\x22\x4d\x18"s + rest), {"lz4 -dk"}));
  CHECK(mentions(refused("PAR1" + rest + "PAR1"), {"Parquet", "read_table"}));
  CHECK(mentions(refused("ARROW1\0\0"s + rest), {"Arrow", "open_file"}));
  CHECK(mentions(refused("\x89HDF\r\n\x1a\n" + rest), {"HDF5", "h5py"}));
  CHECK(mentions(refused("\x10\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\"}}"s + rest),
                 {"safetensors", "load_file"}));
  const std::string zip = folder.write("z.bin", "PK\x03\x04"s + rest);
  CHECK(open_source("tokens:" + zip + "?length=4&header=0")->size() == 8);
}

TEST_CASE("tokens that happen to look like the beginning of a compressed file are tokens") {
  const TemporaryFolder folder;
  const auto opens = [&](const std::vector<std::uint16_t>& first) {
    std::vector<std::uint16_t> tokens(32, 1000);
    std::copy(first.begin(), first.end(), tokens.begin());
    return open_source("tokens:" + folder.write("t.bin", bytes_of(tokens)) + "?length=4")->size();
  };
  CHECK(opens({0x8b1f}) == 7);
  CHECK(opens({0x8b1f, 0x0008}) == 7);
  CHECK(opens({0x5a42, 0x3968}) == 7);
  CHECK(opens({0x4150, 0x3152}) == 7);
  CHECK(opens({16, 0, 0, 0}) == 7);
}

TEST_CASE("tokens read as half as wide as they are get a remark") {
  const TemporaryFolder folder;
  const auto remarks = [&](const std::string& content, const std::string& dtype) {
    const auto source =
        open_source("tokens:" + folder.write("t.bin", content) + "?length=4&dtype=" + dtype);
    return std::vector<std::string>(source->remarks().begin(), source->remarks().end());
  };
  const std::string u32 = counting<std::uint32_t>(100, 400);
  REQUIRE(remarks(u32, "u16").size() == 1);
  CHECK(mentions(remarks(u32, "u16")[0], {"t.bin", "every second", "0", "`dtype=u32`?"}));
  CHECK(remarks(u32, "u32").empty());
  // Llama 3 has 128,256 tokens: the upper halves are 0 and 1.
  CHECK(mentions(remarks(counting<std::uint32_t>(100, 65'500), "u16").at(0), {"`dtype=u32`?"}));
  CHECK(mentions(remarks(counting<std::uint64_t>(100, 400), "u16").at(0), {"`dtype=u64`?"}));
  CHECK(mentions(remarks(counting<std::uint64_t>(100, 400), "u32").at(0), {"`dtype=u64`?"}));
  CHECK(mentions(remarks(counting<std::uint16_t>(100), "u8").at(0), {"`dtype=u16`?"}));
  CHECK(remarks(counting<std::uint16_t>(100), "u16").empty());
  CHECK(remarks(std::string(200, '\0'), "u16").empty());
  CHECK(remarks(counting<std::uint8_t>(200), "u8").empty());
}

TEST_CASE("without a length tokens come in pieces, the last of a file shorter") {
  const TemporaryFolder folder;
  const std::string spec = "tokens:" + folder.write("a.bin", counting<std::uint16_t>(150'000)) +
                           "," + folder.write("b.bin", "") + "," +
                           folder.write("c.bin", counting<std::uint16_t>(65'536)) + "," +
                           folder.write("d.bin", counting<std::uint16_t>(1));
  const auto source = open_source(spec);
  REQUIRE(source->size() == 5);
  CHECK(source->parts() == std::vector<batchcast::PartSpec>{
                               {.name = "tokens", .dtype = DType::u16, .axis = "tokens"}});
  const auto lengths = source->lengths("tokens");
  REQUIRE(lengths != nullptr);
  const std::vector<std::size_t> wanted = {65'536, 65'536, 18'928, 65'536, 1};
  for (std::uint64_t id = 0; id < source->size(); ++id) {
    const auto tokens = values_of<std::uint16_t>(*source, id, 0);
    CHECK(tokens.size() == wanted[id]);
    CHECK((*lengths)[id] == wanted[id]);
    CHECK(tokens.front() == (id < 3 ? id * 65'536 % 65'536 : 0));
  }
  CHECK(lengths->size() == 5);
  CHECK(values_of<std::uint16_t>(*source, 2, 0).back() == 149'999 % 65'536);
  CHECK(source->name_of(2) == "a.bin[131072:150000]");
  CHECK(source->lengths("label") == nullptr);
  REQUIRE(source->remarks().size() == 1);
  CHECK(mentions(std::string(source->remarks()[0]), {"b.bin", "no tokens"}));
  CHECK_FALSE(source->fingerprint() == open_source(spec + "?length=65535")->fingerprint());
  CHECK(
      mentions(refusal_to_open<BadDataset>("tokens:" + folder.path("b.bin")), {"holds no tokens"}));
}
