// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "control/control_support.hpp"
#include "start_command.hpp"
#include "start_difference.hpp"
#include "start_lock.hpp"
#include "start_log.hpp"

#include <batchcast/batchcast.hpp>
#include <batchcast/data/synthetic_maker.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "catch.hpp"

using namespace batchcast;
using namespace batchcast::test;
using namespace batchcast::detail;
using Catch::Matchers::Contains;
using Json = nlohmann::json;

namespace {

namespace fs = std::filesystem;

bool exists(const std::string& path) { return fs::exists(path); }

std::string make_program(const fs::path& path) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "#!/bin/sh\n";
  fs::permissions(path, fs::perms::owner_all);
  return path.string();
}

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
  pipeline.seed = options.seed;
  pipeline.shard = shard;
  return Pipeline(std::move(pipeline)).recipe_json();
}

}  // namespace

TEST_CASE("the command is looked for where the header says, in that order") {
  const TemporaryDirectory base;
  const fs::path root(base.path());
  const Environment unset("BATCHCAST_COMMAND", nullptr);
  CommandPlaces places;
  places.program = (root / "build/examples/05").string();
  places.path = (root / "nowhere").string() + ":" + (root / "path").string();
  places.installed = (root / "installed/batchcast").string();

  CHECK_THROWS_AS(find_command("", places), StartFailed);
  CHECK_THROWS_WITH(find_command("", places),
                    Contains((root / "build/examples/batchcast").string()) &&
                        Contains((root / "build/batchcast").string()) &&
                        Contains((root / "path/batchcast").string()) &&
                        Contains(places.installed) && Contains("Set BATCHCAST_COMMAND"));
  // From the last place to the first.
  for (const fs::path& place : {root / "installed/batchcast", root / "path/batchcast",
                                root / "build/batchcast", root / "build/examples/batchcast"}) {
    CHECK(find_command("", places) == make_program(place));
  }
  const std::string named = make_program(root / "other");
  {
    const Environment variable("BATCHCAST_COMMAND", named.c_str());
    CHECK(find_command("", places) == named);
    CHECK(find_command("batchcast", places) == (root / "path/batchcast").string());
  }
  const Environment wrong("BATCHCAST_COMMAND", "/no/such/file");
  CHECK_THROWS_WITH(find_command("", places),
                    Contains("BATCHCAST_COMMAND") && Contains("/no/such/file"));
  CHECK(find_command(named, places) == named);
  CHECK_THROWS_WITH(find_command("no-such-command", places), Contains("on the PATH"));
}

TEST_CASE("folders and files that cannot be run are not taken for the command") {
  const TemporaryDirectory base;
  const fs::path root(base.path());
  const Environment unset("BATCHCAST_COMMAND", nullptr);
  CommandPlaces places;
  places.program = (root / "a/b/program").string();
  fs::create_directories(root / "a/b/batchcast");
  std::ofstream(root / "a/batchcast") << "text";
  CHECK_THROWS_AS(find_command("", places), StartFailed);
}

TEST_CASE("serve gets what the options say") {
  StartOptions options;
  options.source = "imagefolder:a b";
  options.recipe = "imagenet-train";
  options.seed = 7;
  options.memory = 1'000'000;
  options.epochs = 3;
  options.wait_for = 2;
  options.idle_exit_s = 0.5;
  options.arguments = {"--workers", "2"};
  CHECK(shell_text(serve_words("/bin/batchcast", "s", options)) ==
        "/bin/batchcast serve 'imagefolder:a b' --stream s --recipe imagenet-train --seed 7 "
        "--memory 1000000 --epochs 3 --wait-for 2 --idle-exit 0.5 --workers 2");
  options = {.source = "synthetic:8", .idle_exit_s = -1};
  CHECK(shell_text(serve_words("batchcast", "s", options)) ==
        "batchcast serve synthetic:8 --stream s --seed 0 --memory 268435456");
  options.idle_exit_s = 0;
  CHECK_THROWS_WITH(serve_words("batchcast", "s", options), Contains("idle_exit_s"));
  CHECK_THROWS_AS(serve_words("batchcast", "s", {}), InvalidArgument);
  options = {.source = "synthetic:8", .arguments = {"--seed=3"}};
  CHECK_THROWS_WITH(serve_words("batchcast", "s", options), Contains("--seed"));
  const std::string twice = GENERATE("--recipe", "--recipe=mnist", "--seed", "--idle-exit=3");
  options = {.source = "synthetic:8", .arguments = {twice, "mnist"}};
  CHECK_THROWS_WITH(serve_words("batchcast", "s", options),
                    Contains(twice.substr(0, twice.find('='))) && Contains("StartOptions"));
  CHECK(shell_text({"it's"}) == "'it'\\''s'");
}

TEST_CASE("the end of a log is shown, line by line") {
  const TemporaryDirectory base;
  const std::string path = base.path() + "/log";
  CHECK(last_lines(path) == "");
  std::ofstream(path) << "one\n\ntwo\nthree";
  CHECK(last_lines(path) == "\n  one\n  two\n  three");
  {
    std::ofstream file(path);
    for (int i = 0; i < 10'000; ++i) file << "line " << i << "\n";
  }
  const std::string shown = last_lines(path);
  CHECK(std::count(shown.begin(), shown.end(), '\n') == 20);
  CHECK_THAT(shown, Catch::Matchers::EndsWith("\n  line 9999"));
}

TEST_CASE("one of those who queue holds the start lock, and a failure reaches only them") {
  const TemporaryDirectory base;
  std::optional<StartLock> holder(std::in_place, base.path(), "s");
  REQUIRE(holder->try_take());
  CHECK_FALSE(holder->failed_meanwhile());
  StartLock waiter(base.path(), "s");
  REQUIRE_FALSE(waiter.try_take());
  holder->tell_failure({{"batchcast", "serve"}, "no such file"});
  CHECK_FALSE(waiter.try_take());
  holder.reset();
  REQUIRE(waiter.try_take());
  const auto failure = waiter.failed_meanwhile();
  REQUIRE(failure);
  CHECK(failure->text == "no such file");
  CHECK(failure->words == std::vector<std::string>{"batchcast", "serve"});
  StartLock later(base.path(), "s");
  CHECK_FALSE(later.try_take());
  CHECK_FALSE(later.failed_meanwhile());
  waiter.tell_failure({{"batchcast"}, std::string(60'000, 'x')});
  waiter.tell_failure({{"batchcast"}, "\xff is no UTF-8"});
  REQUIRE(later.failed_meanwhile());
  CHECK_THAT(later.failed_meanwhile()->text, Contains("is no UTF-8"));
}

TEST_CASE("a start lock whose file was replaced is taken at its new place") {
  const TemporaryDirectory base;
  std::optional<StartLock> first(std::in_place, base.path(), "s");
  REQUIRE(first->try_take());
  StartLock second(base.path(), "s");
  REQUIRE_FALSE(second.try_take());
  fs::remove_all(base.path() + "/s");
  REQUIRE(second.try_take());
  StartLock third(base.path(), "s");
  CHECK_FALSE(third.try_take());
  first.reset();  // lets go of what nobody can see any more
  CHECK_FALSE(third.try_take());
}

TEST_CASE("a producer's end leaves nothing but what a start under way needs") {
  const TemporaryDirectory base;
  const StreamPaths paths = stream_paths(base.path(), "s");
  std::optional<StartLock> start(std::in_place, base.path(), "s");
  REQUIRE(start->try_take());
  static_cast<void>(start->make_log());
  std::optional<StreamDirectory> directory(
      std::in_place, StreamDirectory::Options{.stream = "s", .base = base.path()});
  SECTION("a start is under way") {
    directory->forget_log();
    directory.reset();
    CHECK(exists(paths.start));
    CHECK(exists(paths.log));
    CHECK_FALSE(exists(paths.lock));
  }
  SECTION("it failed") {
    start.reset();
    directory.reset();
    CHECK(exists(paths.log));
    CHECK_FALSE(exists(paths.start));
    CHECK_FALSE(exists(paths.lock));
  }
  SECTION("it came to its end") {
    start.reset();
    directory->forget_log();
    directory.reset();
    CHECK_FALSE(exists(paths.directory));
  }
}

TEST_CASE("a stream is stopped for want of consumers only when nobody was attached for so long") {
  const TemporaryDirectory base;
  ProducerOptions made;
  made.stream = "s";
  made.schema = {{"x", DType::u8, {8}}};
  made.memory = 1 << 16;
  made.directory = base.path();
  Producer producer(made);
  ConsumerOptions options;
  options.stream = "s";
  options.directory = base.path();
  options.observes = true;
  const Consumer onlooker(options);  // who is nobody
  options.observes = false;
  CHECK_FALSE(producer.stop_if_unattended(3'600, "idle"));
  std::optional<Consumer> consumer(std::in_place, options);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  CHECK_FALSE(producer.stop_if_unattended(0, "idle"));
  consumer.reset();
  while (producer.stats().consumers.size() > 1) std::this_thread::yield();
  CHECK_FALSE(producer.stop_if_unattended(0.5, "idle"));  // it left just now
  CHECK(producer.stop_if_unattended(0, "idle"));
  CHECK(producer.stats().state == "stopped");
  CHECK_FALSE(producer.stop_if_unattended(0, "idle"));
  CHECK_THROWS_AS(Consumer(options), Stopped);
}

TEST_CASE("who wants another recipe is no consumer, not even for a moment") {
  const TemporaryDirectory base;
  SyntheticRecipe recipe = SyntheticRecipe::parse("synthetic:8");
  recipe.seed = 1;
  recipe.samples_per_epoch = 10;
  ProducerOptions made;
  made.stream = "s";
  made.schema = {{"x", DType::u8, {8}}};
  made.memory = 1 << 16;
  made.samples_per_epoch = 10;
  made.epochs = 1;
  made.wait_for = 1;
  made.recipe_json = recipe.to_json();
  made.directory = base.path();
  Producer producer(made);
  while (auto loan = producer.loan(10)) loan->publish();
  ConsumerOptions options;
  options.stream = "s";
  options.directory = base.path();
  options.start = {.source = "synthetic:8", .seed = 2, .arguments = {"--samples=10"}};
  CHECK_THROWS_AS(Consumer(options), RecipeMismatch);
  CHECK(producer.stats().state == "starting");
  CHECK_FALSE(producer.finish(100));
  options.start.seed = 1;
  Consumer consumer(options);
  CHECK(consumer.next());
}

TEST_CASE("a stream that all have read lets nobody in any more") {
  const TemporaryDirectory base;
  ProducerOptions made;
  made.stream = "s";
  made.schema = {{"x", DType::u8, {8}}};
  made.memory = 1 << 16;
  made.samples_per_epoch = 10;
  made.epochs = 1;
  made.directory = base.path();
  Producer producer(made);
  ConsumerOptions options;
  options.stream = "s";
  options.directory = base.path();
  std::optional<Consumer> consumer(std::in_place, options);
  while (auto loan = producer.loan(10)) loan->publish();
  REQUIRE(consumer->next());
  REQUIRE_FALSE(consumer->next());
  consumer.reset();
  REQUIRE(producer.finish(10'000));
  CHECK_THROWS_AS(Consumer(options), StreamFinished);
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
  CHECK_THAT(refusal_of(of_recipe, served), Contains("as it stands (no recipe)"));
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
