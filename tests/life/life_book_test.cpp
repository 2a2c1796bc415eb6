// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "life/life_book.hpp"
#include "../catch.hpp"
#include "../temporary_folder.hpp"
#include "life/life_files.hpp"

#include <sys/resource.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace batchcast;
using namespace batchcast::detail;
using namespace batchcast::testing;

namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;

/// One producer after the other.
class Lives {
 public:
  /// It is as if the one before had been killed.
  LifeBook& begin(const std::string& identity = std::string(32, 'a')) {
    Life life;
    life.identity = identity;
    life.incarnation = incarnation();
    book_.emplace(folder_.path(), life,
                  [this](LogLevel, std::string_view text) { told_.emplace_back(text); });
    ++number_;
    return *book_;
  }
  [[nodiscard]] std::string incarnation() const { return std::string(32, char('1' + number_)); }
  [[nodiscard]] LifeMember member(std::uint64_t id, std::uint64_t floor) const {
    LifeMember member;
    member.key = {std::string(32, char('0' + number_)), id};
    member.name = "t" + std::to_string(id);
    member.floor = {floor};
    return member;
  }
  [[nodiscard]] const std::string& path() const noexcept { return folder_.path(); }
  [[nodiscard]] const std::vector<std::string>& told() const noexcept { return told_; }

 private:
  TemporaryFolder folder_;
  std::optional<LifeBook> book_;
  std::vector<std::string> told_;
  int number_ = 0;
};

/// This process has none of that meanwhile.
class Limited {
 public:
  explicit Limited(int resource) : resource_(static_cast<__rlimit_resource>(resource)) {
    ::getrlimit(resource_, &limit_);
    const rlimit none{0, limit_.rlim_max};
    ::setrlimit(resource_, &none);
  }
  ~Limited() {
    ::setrlimit(resource_, &limit_);
    std::signal(SIGXFSZ, before_);
  }
  Limited(const Limited&) = delete;
  Limited& operator=(const Limited&) = delete;

 private:
  const __rlimit_resource resource_;
  void (*const before_)(int) = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit_ = {};
};

}  // namespace

TEST_CASE("the next producer finds the members that live, and where they are") {
  Lives lives;
  LifeBook& first = lives.begin();
  CHECK_FALSE(first.before());
  FileDescriptor one = first.admit(lives.member(1, 10));
  FileDescriptor two = first.admit(lives.member(2, 20));
  FileDescriptor three = first.admit(lives.member(3, 30));
  CHECK((one && two && three));
  first.remove(lives.member(2, 0).key);
  first.note({100}, 4, {{lives.member(1, 0).key, {15}}, {lives.member(3, 0).key, {35}}},
             5 * second_ns);
  three.reset();  // it dies
  const Life before = lives.begin().before().value();
  CHECK(before.position == StreamPoint{100});
  CHECK(before.epoch == 4);
  REQUIRE(before.members.size() == 1);
  CHECK(before.members.front().name == "t1");
  CHECK(before.members.front().floor == StreamPoint{15});
}

TEST_CASE("members whose locks were removed with the directory are known, and have no place") {
  Lives lives;
  LifeBook& first = lives.begin();
  const FileDescriptor one = first.admit(lives.member(1, 10));
  const LifeMember known = lives.member(1, 0);
  std::filesystem::remove_all(lives.path());
  std::filesystem::create_directory(lives.path());
  FileDescriptor two = first.admit(lives.member(2, 20));
  const Life before = lives.begin().before().value();
  REQUIRE(before.members.size() == 1);
  CHECK(before.members.front().name == "t2");
  REQUIRE(before.lost.size() == 1);
  CHECK(before.lost.front().key == known.key);
}

TEST_CASE("a member survives a second death, whether it has come or not") {
  Lives lives;
  LifeBook& first = lives.begin();
  const FileDescriptor comes = first.admit(lives.member(1, 10));
  const LifeMember comes_then = lives.member(1, 10);
  const FileDescriptor stays_away = first.admit(lives.member(2, 20));
  LifeBook& second = lives.begin();
  REQUIRE(second.before()->members.size() == 2);
  LifeMember again = lives.member(1, 50);
  again.follows = comes_then.key;
  FileDescriptor new_lock = second.admit(again);
  {
    // It has two attachments, and counts once.
    const Life before = lives.begin().before().value();
    REQUIRE(before.members.size() == 2);
    CHECK(before.members[0].key == again.key);
    CHECK(before.members[1].name == "t2");
  }
  new_lock.reset();  // the welcome was lost with its producer
  const Life before = lives.begin().before().value();
  REQUIRE(before.members.size() == 2);
  CHECK(before.members[0].key == comes_then.key);
}

TEST_CASE(
    "a member that did not read the welcome of a producer that was killed goes on as before") {
  Lives lives;
  FileDescriptor first = lives.begin().admit(lives.member(7, 10));
  const MemberKey first_key = lives.member(7, 0).key;
  LifeBook& second = lives.begin();
  LifeMember again = lives.member(8, 40);
  again.follows = first_key;
  FileDescriptor welcome = second.admit(again);  // in the socket of a trainer that sleeps
  LifeBook& third = lives.begin();
  REQUIRE(third.before());
  REQUIRE(third.before()->members.size() == 1);
  const LifeMember& member = third.before()->members.front();
  CHECK(member.floor == StreamPoint{40});
  CHECK(member.is(again.key));
  CHECK(member.is(first_key));
  CHECK_FALSE(member.is(lives.member(7, 0).key));
  welcome.reset();  // it finds its producer dead
  CHECK(third.is_alive(member));
  first.reset();
  CHECK_FALSE(third.is_alive(member));
}

TEST_CASE("attachments that follow each other in a ring do not hold a producer up") {
  Lives lives;
  LifeBook& first = lives.begin();
  LifeMember one = lives.member(1, 10);
  LifeMember two = lives.member(2, 20);
  LifeMember three = lives.member(3, 30);
  one.follows = two.key;
  two.follows = one.key;
  three.follows = two.key;
  const FileDescriptor locks[] = {first.admit(one), first.admit(two), first.admit(three)};
  const LifeBook& next = lives.begin();
  REQUIRE(next.before());
  REQUIRE(next.before()->members.size() == 1);
  CHECK(next.before()->members.front().name == "t3");
}

TEST_CASE("without a living member, or with another identity, nothing is left of a life") {
  Lives lives;
  FileDescriptor lock = lives.begin().admit(lives.member(1, 10));
  SECTION("none lives") {
    lock.reset();
    CHECK_FALSE(lives.begin().before());
  }
  SECTION("another identity") { CHECK_FALSE(lives.begin(std::string(32, 'b')).before()); }
  CHECK_FALSE(read_life(lives.path()));
  CHECK_FALSE(is_member_alive(lives.path(), "11111111.1"));
}

TEST_CASE("positions are written once a second where they move") {
  Lives lives;
  LifeBook& book = lives.begin();
  const FileDescriptor lock = book.admit(lives.member(1, 10));
  const auto note = [&](std::uint64_t floor, std::uint64_t ns) {
    book.note({floor}, 0, {{lives.member(1, 0).key, {floor}}}, ns);
    return read_life(lives.path())->members.front().floor.position;
  };
  CHECK(note(11, 2 * second_ns) == 11);
  CHECK(note(12, 2 * second_ns + 1) == 11);
  CHECK(note(13, 3 * second_ns) == 13);
  remove_lives(lives.path());
  book.note({13}, 0, {{lives.member(1, 0).key, {13}}}, 5 * second_ns);
  CHECK_FALSE(read_life(lives.path()));  // nothing moved
}

TEST_CASE("that a member paused is written at once") {
  Lives lives;
  LifeBook& book = lives.begin();
  LifeMember member = lives.member(1, 10);
  member.between_epochs = BetweenEpochs::let_go;
  const FileDescriptor lock = book.admit(member);
  const auto gates_after = [&](bool in_loop, std::uint64_t ns) {
    book.note({20}, 0, {{member.key, {{10}, in_loop}}}, ns);
    return read_life(lives.path())->members.front().gates();
  };
  CHECK(gates_after(true, 2 * second_ns));
  CHECK_FALSE(gates_after(false, 2 * second_ns + 1));
  CHECK(gates_after(true, 2 * second_ns + 2));
}

TEST_CASE("a life that cannot be written costs one warning") {
  Lives lives;
  LifeBook& book = lives.begin();
  std::filesystem::remove_all(lives.path());
  CHECK_FALSE(book.admit(lives.member(1, 10)));
  CHECK_FALSE(book.admit(lives.member(2, 10)));
  book.note({13}, 0, {}, 5 * second_ns);
  CHECK(lives.told().size() == 1);
}

TEST_CASE("deaths count while no producer publishes more than those before") {
  Lives lives;
  const FileDescriptor lock = lives.begin().admit(lives.member(1, 10));
  const auto left = [&] { return read_life(lives.path()).value(); };
  const auto begin_after = [&](std::uint32_t deaths) -> LifeBook& {
    ::setenv(deaths_variable, std::to_string(deaths).c_str(), 1);
    LifeBook& book = lives.begin();
    ::unsetenv(deaths_variable);
    return book;
  };
  CHECK(deaths_in_a_row(left()) == 1);  // it came to no sample
  LifeBook& second = begin_after(1);
  CHECK(deaths_in_a_row(left()) == 2);
  second.note({100}, 0, {}, 5 * second_ns);
  CHECK(deaths_in_a_row(left()) == 0);
  LifeBook& third = begin_after(0);
  CHECK(deaths_in_a_row(left()) == 1);
  third.note({40}, 0, {}, 10 * second_ns);  // where its trainers are: this is no going back
  third.note({100}, 0, {}, 11 * second_ns);
  CHECK(deaths_in_a_row(left()) == 1);
  CHECK(third.is_to_pass());
  third.note({101}, 0, {}, 11 * second_ns + 1);  // this is written at once
  CHECK_FALSE(third.is_to_pass());
  CHECK(deaths_in_a_row(left()) == 0);
  LifeBook& fourth = begin_after(2);
  fourth.note({90}, 0, {}, 15 * second_ns);
  fourth.note({60}, 0, {}, 20 * second_ns);  // it went back
  fourth.note({61}, 0, {}, 21 * second_ns);
  CHECK(deaths_in_a_row(left()) == 0);
  lives.begin();  // by hand
  CHECK(left().deaths == 0);
}

TEST_CASE("a stream that is given up names the samples at which its producers died") {
  Lives lives;
  const FileDescriptor lock = lives.begin().admit(lives.member(1, 10));
  LifeBook& second = lives.begin();
  second.note_death({40, 50, {7, 4'711}});
  const Life left = read_life(lives.path()).value();
  CHECK(left.greatest == 40);
  const std::string why = given_up_text("s", left, 3);
  INFO(why);
  CHECK(why.find("positions 40 to 49 (samples 7, 4711 and 8 more)") != std::string::npos);
  second.note_death({40, 42, {7, 4'711}, {"cat/7.jpg", "dog/\n.jpg"}});
  LifeBook& third = lives.begin();  // the second one was killed before any trainer came to it
  const std::string named = given_up_text("s", read_life(lives.path()).value(), 3);
  INFO(named);
  CHECK(named.find("(samples 7 `cat/7.jpg`, 4711 `dog/\\n.jpg`)") != std::string::npos);
  third.note_death({40, 42, {}, {"cat/7.jpg"}});  // ids are not known where others may stand in
  const std::string named_only = given_up_text("s", read_life(lives.path()).value(), 3);
  INFO(named_only);
  CHECK(named_only.find("(samples `cat/7.jpg` and 1 more)") != std::string::npos);
  const std::vector<std::string> many(100, std::string(300, 'x'));
  third.note_death({40, 140, {}, many});
  CHECK(given_up_text("s", read_life(lives.path()).value(), 3).size() < 3'000);
  third.note({41}, 0, {}, 5 * second_ns);  // it comes further
  CHECK_FALSE(read_life(lives.path())->died);
}

TEST_CASE("ranks that are gone stay in the file while others of their group live") {
  Lives lives;
  LifeBook& book = lives.begin();
  const auto rank = [&](std::uint32_t number) {
    LifeMember member = lives.member(number + 1, 10);
    member.group = Group("ddp", number, 3);
    member.tail = Tail::pad;
    return member;
  };
  std::vector<FileDescriptor> locks;
  for (const std::uint32_t number : {0U, 1U, 2U}) locks.push_back(book.admit(rank(number)));
  const FileDescriptor single = book.admit(lives.member(7, 10));
  book.note({20}, 0, {{rank(1).key, {{10}, true, 4}}}, 5 * second_ns);
  book.remove(rank(1).key, RankLoss::evicted, 5);
  book.remove(lives.member(7, 10).key);
  locks[2].reset();  // its process dies
  const auto gone_in = [&](const Life& life) {
    std::string all;
    for (const LifeMember& member : life.members) {
      CHECK((member.group.world == 3 && member.tail == Tail::pad));
      all += !member.gone ? "-" : *member.gone == RankLoss::died ? "d" : "e";
    }
    return all;
  };
  const std::optional<Life> before = lives.begin().before();
  REQUIRE(before);
  CHECK(gone_in(*before) == "-ed");
  CHECK(before->members[1].ended == 5);
  CHECK_FALSE(before->members[1].gates());
  locks[0].reset();
  CHECK_FALSE(lives.begin().before());  // none lives
}

TEST_CASE("a rank that left one of its two places is not gone") {
  Lives lives;
  LifeBook& book = lives.begin();
  const auto rank = [&](std::uint64_t id, std::uint32_t number) {
    LifeMember member = lives.member(id, 10);
    member.group = Group("ddp", number, 2);
    return member;
  };
  const FileDescriptor other = book.admit(rank(1, 1));
  FileDescriptor in_head = book.admit(rank(2, 0));
  LifeMember there = rank(3, 0);
  there.follows = rank(2, 0).key;
  const FileDescriptor in_leading_ring = book.admit(there);
  in_head.reset();
  book.remove(rank(2, 0).key, RankLoss::left);
  const std::optional<Life> before = lives.begin().before();
  REQUIRE(before);
  REQUIRE(before->members.size() == 2);
  for (const LifeMember& member : before->members) CHECK_FALSE(member.gone);
}

TEST_CASE("without descriptors, or on a full disk, a member keeps its place") {
  Lives lives;
  LifeBook& book = lives.begin();
  const FileDescriptor lock = book.admit(lives.member(1, 10));
  bool is_alive = false;
  {
    const Limited limited(GENERATE(RLIMIT_NOFILE, RLIMIT_FSIZE));
    book.note({100}, 0, {{lives.member(1, 0).key, {20}}}, 5 * second_ns);
    book.note({200}, 0, {{lives.member(1, 0).key, {30}}}, 10 * second_ns);
    is_alive = is_member_alive(lives.path(), "11111111.1");
  }
  CHECK(is_alive);
  CHECK(lives.told().size() == 1);
  CHECK(read_life(lives.path())->members.front().floor == StreamPoint{10});  // the last whole one
  book.note({300}, 0, {{lives.member(1, 0).key, {40}}}, 15 * second_ns);
  CHECK(read_life(lives.path())->members.front().floor == StreamPoint{40});
  CHECK(lives.begin().before()->members.size() == 1);
}

TEST_CASE("what a full disk had no room for is written once it has, though nothing moves") {
  Lives lives;
  LifeBook& book = lives.begin();
  FileDescriptor one;
  FileDescriptor two;
  {
    // Files may be made, and have no bytes.
    const Limited no_bytes(RLIMIT_FSIZE);
    one = book.admit(lives.member(1, 10));
  }
  {
    const Limited no_files(RLIMIT_NOFILE);
    two = book.admit(lives.member(2, 20));
  }
  CHECK(one);
  CHECK_FALSE(two);
  CHECK(lives.told().size() == 1);
  CHECK_FALSE(read_life(lives.path()));
  const auto note = [&](std::uint64_t ns) {
    book.note({}, 0, {{lives.member(1, 0).key, {{10}}}, {lives.member(2, 0).key, {{20}}}}, ns);
    return read_life(lives.path()).has_value();
  };
  {
    const Limited no_bytes(RLIMIT_FSIZE);
    CHECK_FALSE(note(2 * second_ns));
  }
  CHECK_FALSE(note(2 * second_ns + 1));  // once a second
  CHECK(note(3 * second_ns));
  const MemberKey second = lives.member(2, 0).key;
  const Life before = lives.begin().before().value();
  REQUIRE(before.members.size() == 1);
  CHECK(before.members.front().name == "t1");
  REQUIRE(before.lost.size() == 1);  // it has no place, and is no stranger
  CHECK(before.lost.front().key == second);
}

TEST_CASE("what stands in for bad samples is written before it is published") {
  Lives lives;
  LifeBook& first = lives.begin();
  first.decide(5, 6);  // no trainer is there yet: it is written with the first
  CHECK_FALSE(read_life(lives.path()));
  const FileDescriptor lock = first.admit(lives.member(1, 3));
  first.decide(9, 10);
  using Decided = std::map<std::uint64_t, std::uint64_t>;
  CHECK(read_life(lives.path())->stand_ins == Decided{{5, 6}, {9, 10}});
  LifeBook& second = lives.begin();
  CHECK(second.at(5) == 6);
  CHECK(second.at(9) == 10);
  CHECK_FALSE(second.at(6));
  second.forget_decisions_below(9);  // its member has not come, and may need more
  CHECK(second.at(5) == 6);
  second.forget_decisions_below(1);
  CHECK(second.at(5) == 6);
  LifeBook& third = lives.begin(std::string(32, 'b'));  // another stream
  CHECK_FALSE(third.at(5));
  third.decide(5, 6);
  third.decide(9, 10);
  third.forget_decisions_below(9);
  CHECK_FALSE(third.at(5));
  CHECK(third.at(9) == 10);
}

TEST_CASE("what was set is for a producer that is started again by itself") {
  Lives lives;
  using Values = std::map<std::string, std::string>;
  LifeBook& first = lives.begin();
  first.keep_settings({{"ahead", "5"}}, 2);
  first.keep_settings({{"ahead", "4"}}, 1);  // both were set at once, and this one was first
  CHECK(read_life(lives.path())->settings == Values{{"ahead", "5"}});
  SECTION("started by a keeper, also where no trainer is there") {
    for (int death = 0; death < 2; ++death) {
      ::setenv(deaths_variable, "0", 1);
      LifeBook& next = lives.begin();
      ::unsetenv(deaths_variable);
      CHECK(next.settings() == Values{{"ahead", "5"}});
      CHECK_FALSE(next.before());
    }
  }
  SECTION("started by hand") {
    CHECK(lives.begin().settings().empty());
    CHECK_FALSE(read_life(lives.path()));
  }
}

TEST_CASE("no more stand-ins are written than a life file may have, and one warning says so") {
  Lives lives;
  LifeBook& book = lives.begin();
  constexpr std::uint64_t most = 100'000;
  for (std::uint64_t position = 0; position <= most; ++position) book.decide(position, 1);
  const FileDescriptor lock = book.admit(lives.member(1, 0));
  CHECK(read_life(lives.path())->stand_ins.size() == most);
  book.decide(most + 1, 1);
  CHECK(lives.told().size() == 1);
  CHECK(lives.begin().at(most - 1) == 1);
}
