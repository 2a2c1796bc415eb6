// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/data/pipeline.hpp>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "data/source/json_parts.hpp"
#include "data/webdataset/webdataset_support.hpp"

using namespace webdataset_test;

// Labels that are not numbers in a file of their own: names, and values inside JSON.

namespace {

std::shared_ptr<const bc::Source> with(const std::shared_ptr<const bc::Source>& source,
                                       const Strings& from) {
  std::vector<bc::FieldRecipe> fields;
  for (const std::string& one : from) fields.push_back({"field", one, {}});
  return bc::detail::with_json_parts(source, fields);
}

// Sample i has the json that stands in `documents`.
std::shared_ptr<const bc::Source> jsons(const TemporaryFolder& folder, const Strings& documents,
                                        const std::string& options = {}) {
  TarWriter tar;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    tar.add(std::to_string(i) + ".json", documents[i]);
  }
  return open(folder.write("a.tar", tar.finished()), options);
}

std::string as_bytes_of(double value) {
  std::string text(sizeof value, '\0');
  std::memcpy(text.data(), &value, sizeof value);
  return text;
}

std::string last_part(const bc::Source& source, std::uint64_t sample) {
  return part_bytes(source, sample).back();
}

Strings names_of(const bc::Source& source) {
  return {source.class_names().begin(), source.class_names().end()};
}

}  // namespace

TEST_CASE("webdataset: names of classes become labels in the order of their bytes",
          "[webdataset]") {
  TarWriter tar;
  tar.add("0.cls", "dog\n").add("1.cls", " cat").add("2.cls", "Zebra").add("3.cls", "cat\r\n");
  tar.add("4.cls", " \n").add("5.cls", std::string(300, 'x'));
  const TemporaryFolder folder;
  const std::string path = folder.write("a.tar", tar.finished());
  folder.write("a.tar.gz", gzip_of(tar.finished()));
  for (const std::string name : {"a.tar", "a.tar.gz"}) {
    const auto source = open(folder / name, "labels=names");
    CHECK(source->parts()[0] == bc::PartSpec{.name = "label", .dtype = bc::DType::i64});
    CHECK(names_of(*source) == Strings{"Zebra", "cat", "dog"});
    CHECK(part_bytes(*source, 0) == Strings{as_bytes(2)});
    CHECK(part_bytes(*source, 1) == Strings{as_bytes(1)});
    CHECK(part_bytes(*source, 2) == Strings{as_bytes(0)});
    CHECK(part_bytes(*source, 3) == Strings{as_bytes(1)});
    CHECK_THROWS_AS(part_bytes(*source, 4), bc::BadSample);
    CHECK_THROWS_WITH(part_bytes(*source, 5), Contains("class"));
  }
  const auto numbers = open(path);
  CHECK(numbers->class_names().empty());
  CHECK_THROWS_WITH(part_bytes(*numbers, 0), Contains("`?labels=names`"));
  CHECK_FALSE(open(path, "labels=names")->fingerprint() == numbers->fingerprint());
  CHECK(open(path, "labels=numbers")->fingerprint() == numbers->fingerprint());
}

TEST_CASE("webdataset: other names are another dataset, though they are as long", "[webdataset]") {
  const TemporaryFolder folder;
  const auto print = [&](const char* first) {
    const TarWriter tar = TarWriter().add("0.cls", first).add("1.cls", "dog");
    return open(folder.write("a.tar", tar.finished()), "labels=names")->fingerprint();
  };
  CHECK(print("cat") == print("cat"));
  CHECK_FALSE(print("cat") == print("elk"));
  folder.write("t.tar", TarWriter().add("0.jpg", "x").finished());
  CHECK_THROWS_AS(open(folder / "t.tar", "labels=names"), bc::InvalidArgument);
}

TEST_CASE("a number inside JSON is a part", "[webdataset]") {
  const TemporaryFolder folder;
  const auto source = jsons(folder, {R"({"label": 3, "box": [1.5, {"a/b": true}], "big": 1})",
                                     R"({"box": [2, {"a/b": false}], "label": -4})",
                                     R"({"label": 3.5, "box": [-1e3, {}]})", "{broken",
                                     R"({"label": 18446744073709551615})"});
  const auto labels = with(source, {"json:/label"});
  REQUIRE(part_names(*labels) == Strings{"json", "json:/label"});
  CHECK(labels->parts()[1] == bc::PartSpec{.name = "json:/label", .dtype = bc::DType::i64});
  CHECK(last_part(*labels, 0) == as_bytes(3));
  CHECK(last_part(*labels, 1) == as_bytes(-4));
  CHECK_THROWS_WITH(last_part(*labels, 2), Contains("`json:/label`") && Contains("3.5"));
  CHECK_THROWS_WITH(last_part(*labels, 3), Contains("no valid JSON"));
  CHECK_THROWS_WITH(last_part(*labels, 4), Contains("i64"));
  CHECK(labels->fingerprint() == source->fingerprint());

  const auto reals = with(source, {"json:/box/0"});
  CHECK(reals->parts()[1].dtype == bc::DType::f64);
  CHECK(last_part(*reals, 0) == as_bytes_of(1.5));
  CHECK(last_part(*reals, 1) == as_bytes_of(2));
  CHECK(last_part(*reals, 2) == as_bytes_of(-1000));
  CHECK_THROWS_WITH(last_part(*reals, 4), Contains("has no `json:/box/0`"));

  // Two of one document, whichever comes first; booleans are 1 and 0.
  const auto both = with(source, {"json:/box/1/a~1b", "json:/label", "json:/label"});
  CHECK(part_bytes(*both, 0) == Strings{part_bytes(*source, 0)[0], as_bytes(1), as_bytes(3)});
  CHECK(part_bytes(*both, 1) == Strings{part_bytes(*source, 1)[0], as_bytes(0), as_bytes(-4)});
}

TEST_CASE("a text inside JSON is a label where labels are names", "[webdataset]") {
  const TemporaryFolder folder;
  const Strings documents = {R"({"class": "dog"})", R"({"class": " cat "})", R"({"class": 7})",
                             R"({"class": "ant"})", "{}"};
  const auto source = jsons(folder, documents, "labels=names");
  CHECK(source->class_names().empty());
  const auto labels = with(source, {"json:/class"});
  CHECK(labels->parts()[1].dtype == bc::DType::i64);
  CHECK(names_of(*labels) == Strings{"ant", "cat", "dog"});
  CHECK(last_part(*labels, 0) == as_bytes(2));
  CHECK(last_part(*labels, 1) == as_bytes(1));
  CHECK(last_part(*labels, 3) == as_bytes(0));
  CHECK_THROWS_AS(last_part(*labels, 2), bc::BadSample);
  CHECK_THROWS_AS(last_part(*labels, 4), bc::BadSample);
  CHECK_FALSE(labels->fingerprint() == source->fingerprint());

  try {
    with(jsons(folder, documents), {"json:/class"});
    FAIL("texts are no numbers");
  } catch (const bc::InvalidArgument& refused) {
    CHECK_THAT(refused.what(),
               Contains("a.tar/0") && Contains("`json:/class`") && Contains("labels=names"));
  }
}

TEST_CASE("what is no value in JSON is refused with the reason", "[webdataset]") {
  const TemporaryFolder folder;
  const auto source = jsons(folder, {"{}", R"({"a": 5, "list": []})"});
  CHECK(with(source, {"json", "lost:/a", "other"}) == source);
  CHECK(last_part(*with(source, {"json:/a"}), 1) == as_bytes(5));
  CHECK_THROWS_WITH(with(source, {"json:/b"}), Contains("a.tar/0") && Contains("`json:/b`"));
  CHECK_THROWS_WITH(with(source, {"json:/list"}), Contains("array"));
  CHECK_THROWS_WITH(with(source, {"json:/a~2"}), Contains("JSON pointer"));
  CHECK_THROWS_WITH(with(source, {"json:/list/99999999999999999999"}), Contains("a.tar/0"));
  folder.write("l.tar", TarWriter().add("0.cls", "1").finished());
  CHECK_THROWS_WITH(with(std::shared_ptr<const bc::Source>(open(folder / "l.tar")), {"label:/a"}),
                    Contains("`label` holds no JSON"));
}

TEST_CASE("a recipe's label comes out of JSON", "[webdataset][pipeline]") {
  const TemporaryFolder folder;
  bc::PipelineOptions options;
  options.source =
      jsons(folder, {R"({"class": "dog", "weight": 0.5})", R"({"class": "cat", "weight": 2})"},
            "labels=names");
  options.recipe = bc::Recipe::from_toml(R"(
[order]
mode = "sequential"
[[field]]
name = "label"
from = "json:/class"
[[field]]
name = "weight"
from = "json:/weight"
stages = [{ stage = "to", dtype = "f32" }]
)",
                                         "test");
  const bc::Pipeline pipeline(options);
  REQUIRE(pipeline.schema().size() == 2);
  CHECK(pipeline.schema()[0].dtype == bc::DType::i64);
  CHECK(pipeline.schema()[1].dtype == bc::DType::f32);
  CHECK(names_of(pipeline.source()) == Strings{"cat", "dog"});
  CHECK_THAT(pipeline.recipe_json(), Contains(R"("from":"json:/class")"));

  std::vector<std::int64_t> labels(2);
  std::vector<float> weights(2);
  std::vector<std::uint64_t> ids(2);
  std::vector<bc::FieldSlots> slots = {
      {reinterpret_cast<std::byte*>(labels.data()), sizeof(std::int64_t)},
      {reinterpret_cast<std::byte*>(weights.data()), sizeof(float)}};
  pipeline.worker()->make({0, 0, slots, ids});
  CHECK(labels == std::vector<std::int64_t>{1, 0});
  CHECK(weights == std::vector<float>{0.5F, 2.0F});
}

TEST_CASE("webdataset: arrays in JSON are tensors of the first sample's shape", "[webdataset]") {
  const TemporaryFolder folder;
  const auto source = with(
      jsons(folder,
            {R"({"box": [1, 2, 3, 4.5], "flags": [true, 0], "grid": [[1, 2], [3, 4], [5, 6]]})",
             R"({"box": [5, 6, 7, 8], "flags": [1], "grid": [[1, 2], [3, 4], [5]]})",
             R"({"box": 5, "flags": [1, 0.5], "grid": [[1, 2], [3, 4], [5, "6"]]})"}),
      {"json:/box", "json:/flags", "json:/grid"});
  REQUIRE(source->parts().size() == 4);
  CHECK(source->parts()[1] ==
        bc::PartSpec{.name = "json:/box", .dtype = bc::DType::f64, .shape = {4}});
  CHECK(source->parts()[2] ==
        bc::PartSpec{.name = "json:/flags", .dtype = bc::DType::i64, .shape = {2}});
  CHECK(source->parts()[3] ==
        bc::PartSpec{.name = "json:/grid", .dtype = bc::DType::i64, .shape = {3, 2}});
  const Strings first = part_bytes(*source, 0);
  CHECK(first[1] == as_bytes_of(1) + as_bytes_of(2) + as_bytes_of(3) + as_bytes_of(4.5));
  CHECK(first[2] == as_bytes(1) + as_bytes(0));
  CHECK(first[3] ==
        as_bytes(1) + as_bytes(2) + as_bytes(3) + as_bytes(4) + as_bytes(5) + as_bytes(6));
  CHECK_THROWS_WITH(
      part_bytes(*source, 1),
      Contains("`json:/flags` is an array of the shape [1], and in the first sample it "
               "is an array of the shape [2]") &&
          Contains("multi_hot"));
  CHECK_THROWS_WITH(part_bytes(*source, 2), Contains("`json:/box` is no array"));
}

TEST_CASE("webdataset: arrays in JSON that are no tensor are refused or bad", "[webdataset]") {
  const TemporaryFolder folder;
  const auto one = [&](const std::string& document, const std::string& options = {}) {
    return with(jsons(folder, {document}, options), {"json:/a"});
  };
  CHECK_THROWS_WITH(one(R"({"a": []})"), Contains("`json:/a` is an empty array"));
  CHECK_THROWS_WITH(one(R"({"a": [[1], [1, 2]]})"), Contains("arrays of different lengths"));
  CHECK_THROWS_WITH(one(R"({"a": [1, [2]]})"), Contains("arrays of different lengths"));
  CHECK_THROWS_WITH(one(R"({"a": ["x"]})"), Contains("`webdataset:…?labels=names`"));
  CHECK_THROWS_WITH(one(R"({"a": [1, "x"]})", "labels=names"), Contains("numbers and texts"));
  CHECK_THROWS_WITH(one(R"({"a": [{}]})"), Contains("object"));
  CHECK_THROWS_WITH(one(R"({"a": [[[[[[[[[1]]]]]]]]]})"), Contains("arrays in arrays"));
  const auto later = with(jsons(folder, {R"({"a": [1, 2]})", R"({"a": [1, null]})"}), {"json:/a"});
  CHECK_THROWS_WITH(part_bytes(*later, 1), Contains("`json:/a` is null"));
}

TEST_CASE("webdataset: names in arrays in JSON are labels", "[webdataset]") {
  const TemporaryFolder folder;
  const auto source = with(jsons(folder,
                                 {R"({"a": ["dog", "cat"]})", R"({"a": ["ape", "dog"]})",
                                  R"({"a": ["bee"]})", R"({"a": ["cat", 3]})"},
                                 "labels=names"),
                           {"json:/a"});
  CHECK(names_of(*source) == Strings{"ape", "cat", "dog"});
  CHECK(source->parts()[1] ==
        bc::PartSpec{.name = "json:/a", .dtype = bc::DType::i64, .shape = {2}});
  CHECK(last_part(*source, 0) == as_bytes(2) + as_bytes(1));
  CHECK(last_part(*source, 1) == as_bytes(0) + as_bytes(2));
  CHECK_THROWS_AS(last_part(*source, 2), bc::BadSample);
  CHECK_THROWS_AS(last_part(*source, 3), bc::BadSample);
}

namespace {

const std::string several_labels = R"(
[[field]]
name = "labels"
from = "json:/a"
stages = [{ stage = "multi_hot", classes = 4 }]
)";

std::vector<float> made_of(const bc::Pipeline& pipeline, std::uint64_t sample) {
  std::vector<float> out(4);
  std::array<std::uint64_t, 1> ids{};
  const std::vector<bc::FieldSlots> slots = {{reinterpret_cast<std::byte*>(out.data()), 16}};
  pipeline.worker()->make({0, sample, slots, ids});
  return out;
}

bc::Pipeline several(const std::shared_ptr<const bc::Source>& source) {
  return bc::Pipeline({.source = source,
                       .recipe = bc::Recipe::from_toml(
                           "[order]\nmode = \"sequential\"\n" + several_labels, "test.toml")});
}

}  // namespace

TEST_CASE("webdataset: lists of labels of any length become one number for each class",
          "[webdataset]") {
  const TemporaryFolder folder;
  const bc::Pipeline numbers =
      several(jsons(folder, {R"({"a": []})", R"({"a": [3, 0, 3]})", R"({"a": 2})", R"({"a": [4]})",
                             R"({"a": [-1]})", R"({"a": [0.5]})"}));
  CHECK(numbers.schema() == bc::Schema{{"labels", bc::DType::f32, {4}}});
  CHECK(made_of(numbers, 0) == std::vector<float>{0, 0, 0, 0});
  CHECK(made_of(numbers, 1) == std::vector<float>{1, 0, 0, 1});
  CHECK(made_of(numbers, 2) == std::vector<float>{0, 0, 1, 0});
  CHECK_THROWS_WITH(made_of(numbers, 3), Contains("the class 4, and multi_hot has classes = 4"));
  CHECK_THROWS_WITH(made_of(numbers, 4), Contains("the class -1"));
  CHECK_THROWS_WITH(made_of(numbers, 5), Contains("0.5, and not an integer"));

  const bc::Pipeline names = several(jsons(
      folder, {R"({"a": ["dog", "ape"]})", R"({"a": []})", R"({"a": ["cat"]})", R"({"a": [1]})"},
      "labels=names"));
  CHECK(made_of(names, 0) == std::vector<float>{1, 0, 1, 0});
  CHECK(made_of(names, 1) == std::vector<float>{0, 0, 0, 0});
  CHECK(made_of(names, 2) == std::vector<float>{0, 1, 0, 0});
  CHECK_THROWS_AS(made_of(names, 3), bc::BadSample);
  CHECK_THROWS_WITH(several(jsons(folder, {R"({"a": [0.5]})"})), Contains("`multi_hot` takes ids"));
}

TEST_CASE("webdataset: one list of labels is not taken in two ways", "[webdataset]") {
  const TemporaryFolder folder;
  const auto toml = several_labels + "[[field]]\nname = \"plain\"\nfrom = \"json:/a\"\n";
  CHECK_THROWS_WITH(bc::Pipeline({.source = jsons(folder, {R"({"a": [1]})"}),
                                  .recipe = bc::Recipe::from_toml(toml, "test.toml")}),
                    Contains("test.toml:6") && Contains("multi_hot"));
}
