// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "control/control_support.hpp"
#include "data/webdataset/tar_writer.hpp"
#include "start/recipe_check.hpp"
#include "start/recipe_difference.hpp"

#include <batchcast/batchcast.hpp>
#include <batchcast/data/synthetic.hpp>

#include <filesystem>
#include <fstream>

#include "catch.hpp"

using namespace batchcast;
using namespace batchcast::test;
using namespace batchcast::detail;
using Catch::Contains;
using Json = nlohmann::json;

namespace {

namespace fs = std::filesystem;

std::string refusal_of(const std::string& board, const StartOptions& options) {
  try {
    check_recipe("s", board, options);
  } catch (const RecipeMismatch& mismatch) {
    return mismatch.what();
  }
  return "";
}

/// An npy dataset of so many rows, whose values are of no interest.
void write_npy(const fs::path& path, int rows) {
  std::string header =
      "{'descr': '|u1', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", 2), }";
  header.resize(117, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY" << '\x01' << '\0' << '\x76' << '\0' << header
       << std::string(static_cast<std::size_t>(rows) * 2, 'x');
}

std::string board_of(const StartOptions& options, const Shard& shard = {}) {
  PipelineOptions pipeline;
  pipeline.source = open_source(options.source);
  pipeline.location = options.source;
  if (!options.recipe.empty()) pipeline.recipe = Recipe::load(options.recipe);
  pipeline.seed = options.seed.value_or(0);
  pipeline.shard = shard;
  return Pipeline(std::move(pipeline)).recipe_json();
}

}  // namespace

TEST_CASE("lists of other stages differ by what they do") {
  const Json stream =
      Json::parse(R"({"stages":[{"stage":"to","dtype":"f32"},{"stage":"normalize","mean":[1]}]})");
  const Json asked = Json::parse(R"({"stages":[{"stage":"random_crop","size":[28,28]},
      {"stage":"to","dtype":"f32"},{"stage":"normalize","mean":[1]}]})");
  CHECK(recipe_differences(stream, asked) ==
        std::vector<std::string>{
            "stages: the stream has to, normalize; asked for random_crop, to, normalize"});
}

TEST_CASE("stages and fields that one recipe lacks are named, not shown as JSON") {
  const Json stream = Json::parse(R"({"fields":[{"name":"image","from":"image","stages":[
      {"stage":"decode","mode":"rgb"},{"stage":"resize","size":[8,8]}]},
      {"name":"label","from":"label","stages":[]}]})");
  Json asked = stream;
  asked["fields"][0]["stages"].clear();
  asked["fields"].erase(1);
  CHECK(recipe_differences(stream, asked) ==
        std::vector<std::string>{
            "fields[0].stages: the stream has decode, resize; asked for none",
            "fields[1]: the stream has label, asked for nothing",
        });
  CHECK(in_words(stream["fields"]) == "image (decode, resize), label");
  CHECK(in_words(Json::array()) == "[]");
  CHECK(in_words({1, 2}) == "[1,2]");
}

TEST_CASE("recipes differ key by key") {
  const Json stream =
      Json::parse(R"({"a":1,"list":[{"size":224,"mean":[1,2]},{"x":true}],"b":"t"})");
  CHECK(recipe_differences(stream, stream).empty());
  Json asked = stream;
  asked["list"][0]["size"] = 192;
  asked["list"][0]["mean"] = {1, 3};
  asked["list"].erase(1);
  asked.erase("a");
  asked["c"] = nullptr;
  CHECK(recipe_differences(stream, asked) ==
        std::vector<std::string>{
            "a: the stream has 1, asked for nothing",
            "c: the stream has nothing, asked for null",
            "list[0].mean: the stream has [1,2], asked for [1,3]",
            "list[0].size: the stream has 224, asked for 192",
            "list[1]: the stream has {\"x\":true}, asked for nothing",
        });
  const auto long_ones = recipe_differences({{"k", std::string(500, 'y')}}, {{"k", 1}});
  REQUIRE(long_ones.size() == 1);
  CHECK(long_ones[0].size() < 200);
}

TEST_CASE("a stream of another folder's Python is refused with both folders") {
  CHECK_THAT(
      refusal_of(R"({"served_from":"python:m:g","directory":"/first"})", {.source = "python:m:g"}),
      Contains("the stream has `python:m:g` of the directory /first, asked for `python:m:g` of the "
               "directory " +
               fs::current_path().string()));
}

TEST_CASE("a synthetic stream is what was asked for, or refused") {
  SyntheticRecipe recipe = SyntheticRecipe::parse("synthetic:3x8x8");
  recipe.seed = 5;
  recipe.epochs = 3;
  StartOptions options{.source = "synthetic:3x8x8", .seed = 5};
  CHECK(refusal_of(recipe.to_json(), options) == "");
  options.seed = 6;
  CHECK_THAT(refusal_of(recipe.to_json(), options),
             Contains("stream `s`") && Contains("seed: the stream has 5, asked for 6") &&
                 Contains("batchcast stop s"));
  options.seed = 5;
  options.arguments = {"--dtype", "u8", "--samples=10", "--order", "fixed"};
  CHECK_THAT(refusal_of(recipe.to_json(), options),
             Contains("dtype: the stream has \"f32\", asked for \"u8\"") &&
                 Contains("samples_per_epoch: the stream has 50000, asked for 10") &&
                 Contains("order: the stream has \"reshuffle\", asked for \"fixed\""));
  CHECK_THAT(refusal_of(recipe.to_json(), {.source = "imagefolder:a"}),
             Contains("source: the stream has `synthetic:") && Contains("imagefolder:a"));
}

TEST_CASE("a stream without a recipe is not what a source would give") {
  const StartOptions options{.source = "synthetic:8"};
  CHECK_THAT(refusal_of("", options), Contains("no recipe") && Contains("synthetic:8"));
  CHECK_THAT(refusal_of("{}", options), Contains("of its program's own"));
  CHECK_THAT(refusal_of("not JSON", options), Contains("of its program's own"));
  CHECK_THAT(refusal_of(R"({"batchcast_recipe":1,"recipe":[1],"source":5})",
                        {.source = "npy:/no.npy", .recipe = "mnist"}),
             Contains("stream `s`"));
}

TEST_CASE("a dataset's stream is compared by recipe, draws and data") {
  const TemporaryDirectory base;
  const std::string path = base.path() + "/x.npy";
  write_npy(path, 10);
  fs::copy_file(path, base.path() + "/same.npy");
  fs::create_directories(base.path() + "/other");
  write_npy(base.path() + "/other/x.npy", 11);
  const StartOptions served{.source = "npy:" + path, .seed = 3};
  const std::string board = board_of(served);

  CHECK(refusal_of(board, served) == "");
  StartOptions asked = served;
  asked.seed = 4;
  CHECK_THAT(refusal_of(board, asked), Contains("seed: the stream has 3, asked for 4"));
  asked = served;
  asked.arguments = {"--shard", "1/2"};
  CHECK_THAT(refusal_of(board, asked), Contains("shard.index: the stream has 0, asked for 1") &&
                                           Contains("shard.count: the stream has 1, asked for 2"));
  CHECK(refusal_of(board_of(served, {1, 2}), asked) == "");
  asked.arguments = {"--on-bad-sample=substitute"};
  CHECK_THAT(refusal_of(board, asked), Contains("on_bad_sample"));

  asked = served;
  asked.source = "npy:" + base.path() + "/other/x.npy";
  CHECK_THAT(refusal_of(board, asked),
             Contains("holds other data: 10 samples there, 11 here") && Contains(asked.source));
  asked.source = "npy:" + base.path() + "/gone.npy";
  CHECK_THAT(refusal_of(board, asked), Contains("cannot be compared") && Contains("gone.npy"));
  fs::create_directories(base.path() + "/copy");
  fs::copy_file(path, base.path() + "/copy/x.npy");
  asked.source = "npy:" + base.path() + "/copy/x.npy";
  CHECK(refusal_of(board, asked) == "");  // the same data at another place

  const std::string recipe = base.path() + "/recipe.toml";
  std::ofstream(recipe) << "[[field]]\nname = \"x\"\nfrom = \"x\"\n"
                           "[[field.stages]]\nstage = \"to\"\ndtype = \"f32\"\n";
  asked = served;
  asked.recipe = recipe;
  CHECK_THAT(refusal_of(board, asked), Contains("recipe.fields[0].stages"));
  const std::string of_recipe = board_of(asked);
  CHECK(refusal_of(of_recipe, asked) == "");
  CHECK_THAT(
      refusal_of(of_recipe, served),
      Contains("\n  recipe.fields: the stream has x (to); asked for each part of the source, "
               "unchanged (no recipe)\n"));
}

TEST_CASE("class names out of JSON are the same data at another place") {
  const TemporaryDirectory base;
  const auto shard = [&](const std::string& folder, const char* first) {
    const std::string path = base.path() + "/" + folder;
    fs::create_directories(path);
    TarWriter tar;
    tar.add("0.json", std::string(R"({"class":")") + first + R"("})");
    tar.add("1.json", R"({"class":"dog"})");
    std::ofstream(path + "/a.tar", std::ios::binary) << tar.finished();
    return "webdataset:" + path + "/a.tar?labels=names";
  };
  const std::string recipe = base.path() + "/recipe.toml";
  std::ofstream(recipe) << "[[field]]\nname = \"label\"\nfrom = \"json:/class\"\n";
  StartOptions options{.source = shard("a", "cat"), .recipe = recipe};
  const std::string board = board_of(options);
  CHECK(refusal_of(board, options) == "");
  options.source = shard("b", "cat");
  CHECK(refusal_of(board, options) == "");
  options.source = shard("c", "cow");
  CHECK_THAT(refusal_of(board, options), Contains("holds other data"));
}

TEST_CASE("a relative path is the same data only where it is seen from the same directory") {
  const TemporaryDirectory base;
  for (const char* folder : {"/a", "/b"}) fs::create_directories(base.path() + folder);
  write_npy(base.path() + "/a/x.npy", 10);
  write_npy(base.path() + "/b/x.npy", 12);
  const std::string recipe = base.path() + "/recipe.toml";
  std::ofstream(recipe) << "[[field]]\nname = \"x\"\nfrom = \"x\"\n";
  const fs::path before = fs::current_path();
  const StartOptions options{.source = "npy:x.npy", .recipe = recipe};
  fs::current_path(base.path() + "/a");
  const std::string board = board_of(options);
  CHECK(refusal_of(board, options) == "");
  fs::current_path(base.path() + "/b");
  CHECK_THAT(refusal_of(board, options), Contains("holds other data"));
  fs::current_path(before);
}

TEST_CASE("data at the same absolute path is not opened again") {
  const TemporaryDirectory base;
  const std::string path = base.path() + "/x.npy";
  write_npy(path, 10);
  const std::string recipe = base.path() + "/recipe.toml";
  std::ofstream(recipe) << "[[field]]\nname = \"x\"\nfrom = \"x\"\n";
  const StartOptions options{.source = "npy:" + path, .recipe = recipe};
  const std::string board = board_of(options);
  fs::remove(path);
  CHECK(refusal_of(board, options) == "");
}
