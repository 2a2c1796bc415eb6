// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/data/source.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "data/source/token_limit.hpp"
#include "source_support.hpp"

using batchcast::BadDataset;
using batchcast::DType;
using batchcast::InvalidArgument;
using batchcast::open_source;
using batchcast::PartSpec;
using batchcast::SampleParts;
using Catch::Matchers::Contains;
using namespace source_test;
using source_test::mentions;

namespace {

template <class T>
std::string number(T value) {
  return bytes_of(std::vector<T>{value});
}

// An index as Megatron-LM writes it; tests change what they are about.
struct Index {
  std::string magic{"MMIDIDX\0\0", 9};
  std::uint64_t version = 1;
  std::uint8_t code = 4;  // i32
  std::vector<std::int32_t> lengths;
  std::vector<std::int64_t> pointers;
  std::vector<std::int64_t> documents;
  std::string end;

  [[nodiscard]] std::string bytes() const {
    return magic + number(version) + number(code) + number<std::uint64_t>(lengths.size()) +
           number<std::uint64_t>(documents.size()) + bytes_of(lengths) + bytes_of(pointers) +
           bytes_of(documents) + end;
  }
};

// Three documents of the tokens 0, 1, 2 …: 3 + 2 of them in two sequences, none, 1.
struct Dataset {
  TemporaryFolder folder;
  Index index{.lengths = {3, 2, 1}, .pointers = {0, 12, 20}, .documents = {0, 2, 2, 3}, .end = {}};
  std::string bin = bytes_of(std::vector<std::int32_t>{0, 1, 2, 3, 4, 5});

  std::string write() {
    folder.write("c.bin", bin);
    folder.write("c.idx", index.bytes());
    return "megatron:" + folder.path("c");
  }
  std::string why_not() { return refusal_to_open<BadDataset>(write()); }
};

}  // namespace

TEST_CASE("a document of Megatron's index is a sample of any length", "[megatron]") {
  Dataset files;
  const auto source = open_source(files.write());
  REQUIRE(source->size() == 3);
  CHECK(source->parts() ==
        std::vector<PartSpec>{{.name = "tokens", .dtype = DType::i32, .axis = "tokens"}});
  CHECK(values_of<std::int32_t>(*source, 0, 0) == std::vector<std::int32_t>{0, 1, 2, 3, 4});
  CHECK(values_of<std::int32_t>(*source, 1, 0).empty());
  CHECK(values_of<std::int32_t>(*source, 2, 0) == std::vector<std::int32_t>{5});
  const auto lengths = source->lengths("tokens");
  REQUIRE(lengths != nullptr);
  CHECK((*lengths)[0] == 5);
  CHECK((*lengths)[1] == 0);
  CHECK((*lengths)[2] == 1);
  CHECK(source->lengths("other") == nullptr);
  CHECK(source->name_of(2) == "c[2]");
  CHECK(source->in_memory());
  for (const char* const ending : {".bin", ".idx"}) {
    CHECK(open_source("megatron:" + files.folder.path("c") + ending)->size() == 3);
  }
}

TEST_CASE("a document's sequences may lie apart, in any order, and more than once", "[megatron]") {
  Dataset files;
  files.index.pointers = {8, 0, 8};
  files.folder.write("c.loss_mask", std::string("\1\0\1\0\1\0", 6));
  const auto source = open_source(files.write());
  CHECK(values_of<std::int32_t>(*source, 0, 0) == std::vector<std::int32_t>{2, 3, 4, 0, 1});
  CHECK(values_of<std::uint8_t>(*source, 0, 1) == std::vector<std::uint8_t>{1, 0, 1, 1, 0});
  CHECK(values_of<std::int32_t>(*source, 2, 0) == std::vector<std::int32_t>{2});
}

namespace {

// The first document of a dataset of this type, read as i64; `served` is what it is without that.
template <class T>
std::vector<std::int64_t> first_of(std::uint8_t code, const std::vector<T>& values, DType served) {
  constexpr auto width = static_cast<std::int64_t>(sizeof(T));
  Dataset files;
  files.index.code = code;
  files.index.pointers = {0, 3 * width, 5 * width};
  files.bin = bytes_of(values);
  const std::string spec = files.write();
  CHECK(open_source(spec)->parts().at(0).dtype == served);
  const auto wide = open_source(spec + "?dtype=i64");
  CHECK(wide->parts().at(0).dtype == DType::i64);
  return values_of<std::int64_t>(*wide, 0, 0);
}

}  // namespace

TEST_CASE("the types of a Megatron dataset are served as they are, u16 as i32", "[megatron]") {
  const std::vector<std::int64_t> low = {-1, 2, 3, 4, 5};
  const std::vector<std::int64_t> high = {255, 2, 3, 4, 5};
  CHECK(first_of<std::uint8_t>(1, {255, 2, 3, 4, 5, 6}, DType::u8) == high);
  CHECK(first_of<std::int8_t>(2, {-1, 2, 3, 4, 5, 6}, DType::i8) == low);
  CHECK(first_of<std::int16_t>(3, {-1, 2, 3, 4, 5, 6}, DType::i16) == low);
  CHECK(first_of<std::int32_t>(4, {-1, 2, 3, 4, 5, 6}, DType::i32) == low);
  CHECK(first_of<std::int64_t>(5, {-1, 2, 3, 4, 5, 6}, DType::i64) == low);
  CHECK(first_of<std::uint16_t>(8, {255, 2, 3, 4, 5, 6}, DType::i32) == high);
  Dataset i64;
  i64.index.code = 5;
  i64.index.pointers = {0, 24, 40};
  i64.bin = std::string(48, '\0');
  CHECK(mentions(refusal_to_open<InvalidArgument>(i64.write() + "?dtype=i32"), {"i64", "leave"}));
}

// tests/oracle/megatron_golden.py made the files with Megatron-LM.
TEST_CASE("what Megatron-LM wrote is read", "[megatron]") {
  const std::string golden = BATCHCAST_CHECKOUT "/tests/data/source/megatron_golden/";
  for (const char* const name : {"int32", "uint16"}) {
    const auto source = open_source("megatron:" + golden + name);
    REQUIRE(source->size() == 4);
    CHECK(source->parts().at(0).dtype == DType::i32);
    const auto document = [&](std::uint64_t id) { return values_of<std::int32_t>(*source, id, 0); };
    CHECK(document(0) == std::vector<std::int32_t>{1, 2, 3, 4, 5});
    CHECK(document(1).empty());
    CHECK(document(2) == std::vector<std::int32_t>{60000});
    CHECK(document(3) == std::vector<std::int32_t>{7, 7, 7, 7, 7, 8, 9, 10});
  }
}

TEST_CASE("floats are refused by name", "[megatron]") {
  Dataset files;
  files.index.code = 7;
  CHECK(mentions(files.why_not(), {"c.idx", "f32", "u16"}));
  files.index.code = 6;
  CHECK(mentions(files.why_not(), {"f64"}));
  files.index.code = 9;
  CHECK(mentions(files.why_not(), {"code", "9"}));
  files.index.code = 0;
  CHECK(mentions(files.why_not(), {"code"}));
}

TEST_CASE("a broken index of Megatron is refused with what is wrong", "[megatron]") {
  const auto why = [](auto change) {
    Dataset files;
    change(files);
    return files.why_not();
  };
  CHECK(mentions(why([](Dataset& d) { d.index.magic = "MMIDIDY\0\0"; }), {"MMIDIDX"}));
  CHECK(mentions(why([](Dataset& d) { d.index.magic = std::string("TNTIDX\0\0\0", 9); }),
                 {"old form", "preprocess_data"}));
  CHECK(mentions(why([](Dataset& d) { d.index.version = 2; }), {"version 2"}));
  CHECK(mentions(why([](Dataset& d) { d.index.end = "x"; }), {"1 bytes follow"}));
  CHECK(mentions(why([](Dataset& d) { d.index.end = "xxx"; }), {"multimodal"}));
  CHECK(mentions(why([](Dataset& d) { d.index.lengths[1] = -1; }), {"sequence 1"}));
  CHECK(mentions(why([](Dataset& d) { d.index.lengths[2] = 2; }), {"sequence 2", "6 elements"}));
  CHECK(mentions(why([](Dataset& d) { d.index.pointers[0] = -4; }), {"sequence 0"}));
  CHECK(mentions(why([](Dataset& d) { d.index.pointers[0] = 2; }), {"sequence 0"}));
  CHECK(mentions(why([](Dataset& d) { d.index.pointers[1] = std::int64_t{1} << 62; }),
                 {"sequence 1"}));
  CHECK(mentions(why([](Dataset& d) { d.index.documents = {0}; }), {"no document"}));
  CHECK(mentions(why([](Dataset& d) { d.index.documents = {}; }), {"no document"}));
  CHECK(mentions(why([](Dataset& d) { d.index.documents[0] = 1; }), {"begins at sequence 1"}));
  CHECK(mentions(why([](Dataset& d) { d.index.documents[2] = 1; }), {"document 1", "2 to 1"}));
  CHECK(mentions(why([](Dataset& d) { d.index.documents[3] = 4; }), {"document 2", "there are 3"}));
  CHECK(mentions(why([](Dataset& d) { d.index.documents[3] = 2; }), {"end at sequence 2"}));
  CHECK(mentions(why([](Dataset& d) { d.bin.resize(20); }), {"sequence 2", "5 elements"}));
}

TEST_CASE("an index of Megatron that was cut short is refused wherever it was cut", "[megatron]") {
  Dataset files;
  const std::string spec = files.write();
  const std::string whole = files.index.bytes();
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    files.folder.write("c.idx", whole.substr(0, bytes));
    INFO(bytes);
    CHECK(mentions(refusal_to_open<BadDataset>(spec), {"c.idx"}));
  }
  // Counts whose products overflow.
  for (const std::uint64_t count :
       {~std::uint64_t{0}, std::uint64_t{1} << 61, (std::uint64_t{1} << 62) + 1}) {
    files.folder.write("c.idx", whole.substr(0, 18) + number(count) + whole.substr(26));
    CHECK(mentions(refusal_to_open<BadDataset>(spec), {"cut short"}));
    files.folder.write("c.idx", whole.substr(0, 26) + number(count) + whole.substr(34));
    CHECK(mentions(refusal_to_open<BadDataset>(spec), {"cut short"}));
  }
}

TEST_CASE("a loss mask lies beside Megatron's files", "[megatron]") {
  Dataset files;
  files.folder.write("c.loss_mask", std::string("\0\1\1\0\1\1", 6));
  const std::string spec = files.write();
  const auto source = open_source(spec);
  REQUIRE(source->parts().size() == 2);
  CHECK(source->parts()[1] == PartSpec{.name = "loss_mask", .dtype = DType::u8, .axis = "tokens"});
  CHECK(values_of<std::uint8_t>(*source, 0, 1) == std::vector<std::uint8_t>{0, 1, 1, 0, 1});
  CHECK(values_of<std::uint8_t>(*source, 2, 1) == std::vector<std::uint8_t>{1});
  files.folder.write("c.loss_mask", "12345");
  CHECK(mentions(refusal_to_open<BadDataset>(spec), {"c.loss_mask", "5 bytes", "6 tokens"}));
}

TEST_CASE("a mask that the manifest speaks of has to be there", "[megatron]") {
  Dataset files;
  const std::string spec = files.write();
  const auto manifest = [&](const std::string& form, const std::string& train_on) {
    files.folder.write("c.json",
                       "{\"batchcast_corpus\": 1, \"key\": \"a\", \"documents\": 3, \"tokens\": 6, "
                       "\"form\": \"" +
                           form + "\", \"train_on\": \"" + train_on + "\"}");
  };
  manifest("messages", "assistant");
  CHECK(mentions(refusal_to_open<BadDataset>(spec), {"no", "c.loss_mask", "trained"}));
  files.folder.write("c.loss_mask", std::string("\0\1\1\0\1\1", 6));
  CHECK(open_source(spec)->parts().size() == 2);
  CHECK(std::filesystem::remove(files.folder / "c.loss_mask"));
  for (const auto& [form, train_on] : {std::pair{"messages", "all"}, {"text", "assistant"}}) {
    manifest(form, train_on);
    CHECK(open_source(spec)->parts().size() == 1);
  }
}

TEST_CASE("a key in the manifest is part of the identity", "[megatron]") {
  Dataset files;
  const std::string spec = files.write();
  const auto fingerprint = [&] { return open_source(spec)->fingerprint().to_hex(); };
  const auto manifest = [&](const std::string& text) { files.folder.write("c.json", text); };
  const std::string without = fingerprint();
  manifest("{\"another\": 1}");
  CHECK(fingerprint() == without);
  manifest("{\"batchcast_corpus\": 1, \"key\": \"a\", \"documents\": 3, \"tokens\": 6}");
  const std::string with_a = fingerprint();
  CHECK(with_a != without);
  CHECK(fingerprint() == with_a);
  manifest("{\"batchcast_corpus\": 1, \"key\": \"b\", \"documents\": 3, \"tokens\": 6}");
  CHECK(fingerprint() != with_a);
  manifest("{\"batchcast_corpus\": 1, \"key\": \"b\", \"documents\": 4, \"tokens\": 6}");
  CHECK(mentions(refusal_to_open<BadDataset>(spec), {"c.json", "4 documents", "different runs"}));
  manifest("{\"batchcast_corpus\": 1, \"key\": 7, \"documents\": 4, \"tokens\": 6}");
  CHECK(mentions(refusal_to_open<BadDataset>(spec), {"c.json", "broken"}));
  manifest("{\"batchcast_corpus\": 1, \"key\": \"a\", \"documents\": 3, \"tok");
  CHECK(mentions(refusal_to_open<BadDataset>(spec), {"c.json", "broken", "no JSON"}));
  manifest("{\"text\": \"another's\"}\n{\"text\": \"lines\"}\n");
  CHECK(fingerprint() == without);
}

TEST_CASE("Megatron's fingerprint is of name, size, type and index", "[megatron]") {
  Dataset files;
  const std::string spec = files.write();
  const std::string first = open_source(spec)->fingerprint().to_hex();
  CHECK(open_source(spec)->fingerprint().to_hex() == first);
  CHECK(open_source(spec + "?dtype=i64")->fingerprint().to_hex() != first);
  Dataset elsewhere;
  CHECK(open_source(elsewhere.write())->fingerprint().to_hex() == first);
  elsewhere.index.documents = {0, 1, 2, 3};
  CHECK(open_source(elsewhere.write())->fingerprint().to_hex() != first);
  files.folder.write("c.loss_mask", "123456");
  CHECK(open_source(spec)->fingerprint().to_hex() != first);
}

TEST_CASE("Megatron's fingerprint is of the bytes of tokens and mask", "[megatron]") {
  Dataset files;
  const auto fingerprint = [&] { return open_source(files.write())->fingerprint().to_hex(); };
  const std::string first = fingerprint();
  files.bin = bytes_of(std::vector<std::int32_t>{0, 1, 2, 9, 4, 5});
  CHECK(fingerprint() != first);  // the same lengths
  files.folder.write("c.loss_mask", std::string("\0\1\1\0\1\1", 6));
  const std::string masked = fingerprint();
  files.folder.write("c.loss_mask", std::string("\0\1\1\1\1\1", 6));
  CHECK(fingerprint() != masked);
}

TEST_CASE("of a large dataset of Megatron's, blocks from the first to the last are its fingerprint",
          "[megatron]") {
  Dataset files;
  constexpr std::uint64_t bytes = std::uint64_t{66} << 20;
  const auto length = static_cast<std::int32_t>(bytes / 4);
  files.index.lengths = {length};
  files.index.pointers = {0};
  files.index.documents = {0, 1};
  const std::string spec = files.write();
  std::filesystem::resize_file(files.folder.path("c.bin"), bytes);
  const auto with = [&](std::uint64_t offset) {
    std::fstream file(files.folder.path("c.bin"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put('\1');
    file.close();
    return open_source(spec)->fingerprint().to_hex();
  };
  std::set<std::string> all = {open_source(spec)->fingerprint().to_hex()};
  all.insert(with(0));
  // The last byte, and one of the block at a third of the file.
  all.insert(with(bytes - 1));
  all.insert(with((bytes - (64 << 10)) / 255 * 85 + 1000));
  CHECK(all.size() == 4);
}

TEST_CASE("a document's sequences that lie apart are truncated and split as one text",
          "[megatron][max_tokens]") {
  using batchcast::Overlong;
  Dataset files;
  files.index.lengths = {3, 2, 1};
  files.index.pointers = {8, 0, 8};
  files.folder.write("c.loss_mask", std::string("\1\0\1\0\1\0", 6));
  const std::shared_ptr<const batchcast::Source> source = open_source(files.write());
  const auto limited = [&](std::uint64_t most, Overlong overlong) {
    return batchcast::detail::limit_tokens(source, most, overlong).source;
  };
  // 2, 3, 4, 0, 1; nothing; 2.
  const auto split = limited(2, Overlong::split);
  REQUIRE(split->size() == 5);
  CHECK(values_of<std::int32_t>(*split, 0, 0) == std::vector<std::int32_t>{2, 3});
  CHECK(values_of<std::int32_t>(*split, 1, 0) == std::vector<std::int32_t>{4, 0});
  CHECK(values_of<std::uint8_t>(*split, 1, 1) == std::vector<std::uint8_t>{1, 1});
  CHECK(values_of<std::int32_t>(*split, 2, 0) == std::vector<std::int32_t>{1});
  CHECK(values_of<std::int32_t>(*split, 3, 0).empty());
  CHECK(values_of<std::int32_t>(*split, 4, 0) == std::vector<std::int32_t>{2});
  CHECK(split->name_of(1) == "c[0], tokens 2 to 3");
  const auto truncated = limited(4, Overlong::truncate);
  CHECK(values_of<std::int32_t>(*truncated, 0, 0) == std::vector<std::int32_t>{2, 3, 4, 0});
  CHECK(values_of<std::uint8_t>(*truncated, 0, 1) == std::vector<std::uint8_t>{1, 0, 1, 1});
  CHECK(limited(4, Overlong::drop)->size() == 2);
  SampleParts parts;
  split->read_part(1, 1, parts);
  CHECK(text_of(parts[1]) == std::string("\1\1", 2));
}

TEST_CASE("an index of Megatron that is written over while it is served makes bad samples",
          "[megatron]") {
  Dataset files;
  const std::string spec = files.write();
  const auto source = open_source(spec);
  const auto is_refused = [&](auto change, std::uint64_t id) {
    Index index = files.index;
    change(index);
    const std::string bytes = index.bytes();
    std::fstream file(files.folder.path("c.idx"), std::ios::in | std::ios::out | std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    REQUIRE(file.flush());
    SampleParts parts;
    CHECK_THROWS_WITH(source->read(id, parts), Contains("index was changed"));
  };
  is_refused([](Index& index) { index.lengths[0] = 2; }, 0);
  is_refused([](Index& index) { index.lengths[0] = 4; }, 0);
  is_refused([](Index& index) { index.lengths[2] = 1'000'000; }, 2);
  is_refused([](Index& index) { index.pointers[2] = std::int64_t{1} << 40; }, 2);
  is_refused([](Index& index) { index.pointers[2] = -4; }, 2);
  is_refused([](Index& index) { index.documents[1] = -1; }, 0);
  is_refused([](Index& index) { index.documents[1] = 1; }, 1);
  is_refused([](Index& index) { index.documents[3] = std::int64_t{1} << 50; }, 2);
}

TEST_CASE("files of Megatron that are not there are named", "[megatron]") {
  Dataset files;
  const std::string spec = files.write();
  CHECK(mentions(refusal_to_open<BadDataset>(spec + "x"), {"cx.idx"}));
  CHECK(mentions(refusal_to_open<BadDataset>(spec + "?split=test"), {"c.test.idx", "--test 0.01"}));
  files.folder.write("d_text_document.idx", files.index.bytes());
  CHECK(mentions(refusal_to_open<BadDataset>("megatron:" + files.folder.path("d")),
                 {"megatron:", "d_text_document"}));
  CHECK(mentions(refusal_to_open<InvalidArgument>(spec + "?dtype=f32"), {"dtype", "i32"}));
  files.folder.write("c.test.bin", files.bin);
  files.folder.write("c.test.idx", files.index.bytes());
  CHECK(open_source(spec + "?split=test")->name_of(0) == "c.test[0]");
}
