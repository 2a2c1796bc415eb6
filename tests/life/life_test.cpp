// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "life/life.hpp"
#include "../catch.hpp"
#include "../temporary_folder.hpp"
#include "life/life_files.hpp"

#include <batchcast/core/error.hpp>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

using namespace batchcast;
using namespace batchcast::detail;
using namespace batchcast::testing;

namespace {

const std::string first(32, '1');
const std::string second(32, '2');

Life sample_life() {
  Life life;
  life.identity = std::string(32, 'a');
  life.incarnation = second;
  life.pid = 4711;
  life.position = {12'345};
  life.epoch = 12;
  life.greatest = 13'000;
  life.deaths = 2;
  LifeMember member;
  member.key = {second, 3};
  member.follows = MemberKey{first, 7};
  member.lock = "22222222.3";
  member.name = "lr-0.1";
  member.pid = 99;
  member.pace = Pace::free;
  member.between_epochs = BetweenEpochs::let_go;
  member.batch_size = 64;
  member.floor = {12'000};
  member.in_loop = true;
  life.members.push_back(member);
  life.settings = {{"ahead", "5"}, {"workers", "auto"}};
  life.stand_ins = {{7, 8}, {12'400, 3}};
  return life;
}

}  // namespace

TEST_CASE("a life is read as it was written") {
  const Life sent = sample_life();
  const Life life = life_from(to_json(sent)).value();
  CHECK((life.identity == sent.identity && life.incarnation == sent.incarnation));
  CHECK((life.pid == 4711 && life.position == StreamPoint{12'345} && life.epoch == 12));
  CHECK((life.greatest == 13'000 && life.deaths == 2));
  REQUIRE(life.members.size() == 1);
  const LifeMember& member = life.members.front();
  CHECK(member.key == MemberKey{second, 3});
  CHECK(member.follows == MemberKey{first, 7});
  CHECK((member.lock == "22222222.3" && member.name == "lr-0.1" && member.pid == 99));
  CHECK((member.pace == Pace::free && member.between_epochs == BetweenEpochs::let_go));
  CHECK((member.ring == "host" && member.batch_size == 64 && member.floor == StreamPoint{12'000}));
  CHECK(member.in_loop);
  CHECK(life.settings == sent.settings);
  CHECK(life.stand_ins == sent.stand_ins);
}

TEST_CASE("what stands in, or was set, and is wrong costs no member its place") {
  const std::string good = to_json(sample_life());
  for (const auto& [text, other] :
       {std::pair("\"12400\": 3", "\"12400\": -3"), std::pair("\"12400\": 3", "\"x\": 3"),
        std::pair("\"ahead\": \"5\"", "\"ahead\": 5")}) {
    std::string changed = good;
    changed.replace(changed.find(text), std::string(text).size(), other);
    const auto life = life_from(changed);
    REQUIRE(life);
    CHECK(life->members.size() == 1);
    CHECK((life->stand_ins.empty() || life->settings.empty()));
  }
}

TEST_CASE("no secret of a producer's environment is kept for the next one") {
  for (const char* name :
       {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HOME", "BATCHCAST_X", "OTHER"}) {
    ::setenv(name, "value", 1);
  }
  const StartedWith started = started_here({"batchcast", "serve"});
  const auto is_kept = [&](const std::string& name) {
    const std::vector<std::string>& all = started.environment;
    return std::find(all.begin(), all.end(), name + "=value") != all.end();
  };
  CHECK((is_kept("HF_HOME") && is_kept("BATCHCAST_X")));
  CHECK_FALSE(is_kept("HF_TOKEN"));
  CHECK_FALSE(is_kept("HUGGING_FACE_HUB_TOKEN"));
  CHECK_FALSE(is_kept("OTHER"));
  for (const char* name :
       {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HOME", "BATCHCAST_X", "OTHER"}) {
    ::unsetenv(name);
  }
}

TEST_CASE("what is no life is none") {
  std::string good = to_json(sample_life());
  const auto with = [&](const std::string& text, const std::string& other) {
    std::string changed = good;
    changed.replace(changed.find(text), text.size(), other);
    return changed;
  };
  CHECK(life_from(good));
  for (const std::string& bad :
       {std::string(), std::string("null"), std::string("[]"), good.substr(0, good.size() / 2),
        with("\"version\": 1", "\"version\": 2"), with("12345", "9223372036854775808"),
        good + "x"}) {
    INFO(bad);
    CHECK_FALSE(life_from(bad));
  }
  Life two = sample_life();  // a member that is wrong is left out alone
  two.members.push_back(two.members.front());
  two.members.back().name = "other";
  good = to_json(two);
  for (const std::string& bad :
       {with("22222222.3", "../22222222"), with("\"free\"", "\"slow\""), with("12000", "-1"),
        with("12000", "9223372036854775808"), with(first, "12"),
        with("\"batch_size\": 64", "\"batch_size\": 0")}) {
    INFO(bad);
    const auto life = life_from(bad);
    REQUIRE(life);
    REQUIRE(life->members.size() == 1);
    CHECK(life->members.front().name == "other");
  }
}

TEST_CASE("a life file is replaced as a whole, and removed with its locks") {
  const TemporaryFolder folder;
  CHECK_FALSE(read_life(folder.path()));
  write_life(folder.path(), sample_life());
  CHECK(read_life(folder.path())->pid == 4711);
  std::ofstream(folder / "life") << "{";
  CHECK_FALSE(read_life(folder.path()));
  write_life(folder.path(), sample_life());
  CHECK(read_life(folder.path()));
  const FileDescriptor lock = make_member_lock(folder.path(), "a.1");
  std::ofstream(folder / "door") << "";
  remove_lives(folder.path());
  CHECK_FALSE(read_life(folder.path()));
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    CHECK(entry.path().filename() == "door");
    ++files;
  }
  CHECK(files == 1);
  for (const char* const name : {"life", "life.new", "member.b"}) {  // of no use to anyone
    std::filesystem::create_directories(folder / (std::string(name) + "/inside"));
  }
  CHECK_FALSE(read_life(folder.path()));
  write_life(folder.path(), sample_life());
  CHECK(read_life(folder.path()));
  remove_lives(folder.path());
  CHECK_FALSE(std::filesystem::exists(folder / "member.b"));
  REQUIRE(::mkfifo((folder / "life.new").c_str(), 0600) == 0);  // a pipe without a reader
  write_life(folder.path(), sample_life());
  CHECK(read_life(folder.path()));
  CHECK_THROWS_AS(write_life(folder / "none", sample_life()), SystemError);
}

TEST_CASE("a member lives until the last copy of its lock is closed") {
  const TemporaryFolder folder;
  CHECK_FALSE(is_member_alive(folder.path(), "a.1"));
  FileDescriptor lock = make_member_lock(folder.path(), "a.1");
  CHECK(is_member_alive(folder.path(), "a.1"));
  FileDescriptor copy(::dup(lock.get()));
  lock.reset();
  CHECK(is_member_alive(folder.path(), "a.1"));
  copy.reset();
  CHECK_FALSE(is_member_alive(folder.path(), "a.1"));
  lock = make_member_lock(folder.path(), "a.1");
  const pid_t child = ::fork();
  if (child == 0) {  // it holds the lock as well, until it is gone
    ::pause();
    ::_exit(0);
  }
  lock.reset();
  CHECK(is_member_alive(folder.path(), "a.1"));
  ::kill(child, SIGKILL);
  static_cast<void>(::waitpid(child, nullptr, 0));
  CHECK_FALSE(is_member_alive(folder.path(), "a.1"));
}
