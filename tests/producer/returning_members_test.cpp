// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "producer/returning_members.hpp"
#include "../catch.hpp"
#include "producer/life_notes.hpp"
#include "producer/returning_groups.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace batchcast;
using namespace batchcast::detail;

namespace {

constexpr std::uint64_t began_ns = 1'000'000'000;
constexpr std::uint64_t over_ns = began_ns + ReturningMembers::gather_ns;
constexpr std::uint64_t epoch_samples = 100;
constexpr std::uint64_t capacity = 50;

const std::string incarnation = "01" + std::string(30, '0');

LifeMember member(std::uint64_t id, std::uint64_t floor) {
  LifeMember member;
  member.key = {incarnation, id};
  member.name = "t" + std::to_string(id);
  member.floor = {floor};
  return member;
}

Hello resuming(std::uint64_t id, std::uint64_t position) {
  Hello hello;
  hello.join = Join::at;
  hello.cursor = position;
  hello.resumes = Resumes{.incarnation = {1}, .consumer_id = id};
  return hello;
}

Life life_of(std::vector<LifeMember> members) {
  Life life;
  life.position = {1'234};
  life.epoch = 12;
  life.members = std::move(members);
  return life;
}

struct Given {
  std::optional<std::uint64_t> begin;
  std::vector<std::string> places;  ///< `KEY or NAME@POSITION`
};

Given decide(ReturningMembers& returning, bool all_live = true) {
  const auto decision =
      returning.decide(epoch_samples, [&](const LifeMember&) { return all_live; });
  Given given{decision.begin, {}};
  for (const auto& place : decision.places) {
    const std::string position = place.position ? std::to_string(*place.position) : "?";
    given.places.push_back((place.waiting ? "came" : place.missing->name) + "@" + position);
  }
  return given;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("the stream goes on where the one furthest behind asks") {
  ReturningMembers returning;
  CHECK_FALSE(returning.is_to_wait(Hello()));
  CHECK(returning.is_to_wait(resuming(1, 70)));
  static_cast<void>(returning.add(resuming(1, 70), 1, began_ns));
  static_cast<void>(returning.add(resuming(2, 50), 1, began_ns + 1));
  CHECK(returning.is_to_wait(Hello()));  // newcomers wait with them
  static_cast<void>(returning.add(Hello(), 1, began_ns + 2));
  CHECK_FALSE(returning.is_due(over_ns - 1));
  CHECK(returning.is_due(over_ns));
  const Given given = decide(returning);
  CHECK(given.begin == 50U);
  CHECK(given.places == Names{"came@50", "came@70", "came@?"});
  CHECK_FALSE(returning.is_to_wait(resuming(3, 40)));
}

TEST_CASE("members of heads do not decide where the leading ring begins") {
  ReturningMembers returning;
  LifeMember behind = member(1, 5), absent = member(2, 8);
  behind.in_head = absent.in_head = true;
  const bool allowed = GENERATE(true, false);
  if (allowed) returning.allow_heads();
  SECTION("where others are there") {
    returning.expect(life_of({behind, absent, member(3, 60)}), capacity);
    static_cast<void>(returning.add(resuming(1, 7), 1, began_ns));
    static_cast<void>(returning.add(Hello(), 1, began_ns));
    static_cast<void>(returning.add(resuming(3, 70), 1, began_ns));
    const Given given = decide(returning);
    CHECK(given.begin == (allowed ? 70U : 7U));
    // Those of the leading ring come first, and so does the memory.
    CHECK(given.places == (allowed ? Names{"came@70", "came@7", "t2@8", "came@?"}
                                   : Names{"came@7", "t2@8", "came@70", "came@?"}));
  }
  SECTION("where there are no others") {
    returning.expect(life_of({behind, absent}), capacity);
    static_cast<void>(returning.add(resuming(1, 7), 1, began_ns));
    const Given given = decide(returning);
    CHECK(given.begin == 7U);
    CHECK(given.places == Names{"came@7", "t2@8"});
  }
}

TEST_CASE("members that have not come keep their places") {
  ReturningMembers returning;
  returning.expect(life_of({member(1, 40), member(2, 30), member(3, 60)}), capacity);
  CHECK(returning.is_to_wait(Hello()));
  static_cast<void>(returning.add(resuming(1, 45), 1, began_ns));
  CHECK_FALSE(returning.is_due(over_ns - 1));
  CHECK(returning.is_due(over_ns));
  SECTION("at their floors") {
    const Given given = decide(returning);
    CHECK(given.begin == 30U);
    CHECK(given.places == Names{"t2@30", "came@45", "t3@60"});
  }
  SECTION("or where their ring begins") {
    Hello other = resuming(3, 61);
    other.resumes->kept_from = 35;
    other.resumes->valid_from = 20;
    other.resumes->published = 80;
    static_cast<void>(returning.add(other, 1, began_ns));
    const Given given = decide(returning);
    CHECK(given.begin == 35U);
    CHECK(given.places == Names{"t2@35", "came@45", "came@61"});
  }
  SECTION("but no hello takes them beyond what its ring had") {
    Hello other = resuming(3, 61);
    other.resumes->kept_from = 81;
    other.resumes->valid_from = 35;
    other.resumes->published = 80;
    static_cast<void>(returning.add(other, 1, began_ns));
    CHECK(decide(returning).begin == 35U);
  }
  SECTION("nor beyond where the stream was") {
    Hello other = resuming(3, 2'000);
    other.resumes->kept_from = other.resumes->published = limits::position_max;
    static_cast<void>(returning.add(other, 1, began_ns));
    const Given given = decide(returning);
    CHECK(given.begin == 45U);
    CHECK(given.places == Names{"came@45", "t2@1284", "came@2000"});
  }
  SECTION("but not those that have died") {
    const Given given = decide(returning, false);
    CHECK(given.begin == 45U);
    CHECK(given.places == Names{"came@45"});
  }
}

TEST_CASE("once all have come, none waits any longer") {
  ReturningMembers returning;
  LifeMember pauses = member(3, 10);
  pauses.between_epochs = BetweenEpochs::let_go;
  returning.expect(life_of({member(1, 40), member(2, 30), pauses}), capacity);
  const ConsumerKey first = returning.add(resuming(1, 45), 1, began_ns);
  CHECK_FALSE(returning.is_due(began_ns));
  const ConsumerKey second = returning.add(resuming(2, 35), 1, began_ns + 1);
  CHECK(first != second);
  CHECK(returning.is_due(began_ns + 1));
  CHECK(returning.remove(second));
  CHECK_FALSE(returning.remove(second));
  CHECK_FALSE(returning.is_due(began_ns + 1));
}

TEST_CASE("a member comes by an attachment that it had before, too") {
  ReturningMembers returning;
  LifeMember twice = member(5, 40);
  twice.earlier = {{{incarnation, 2}, "lock"}};
  returning.expect(life_of({twice}), capacity);
  static_cast<void>(returning.add(resuming(3, 45), 1, began_ns));
  CHECK_FALSE(returning.is_due(began_ns));
  static_cast<void>(returning.add(resuming(2, 45), 1, began_ns));
  CHECK(returning.is_due(began_ns));
}

TEST_CASE("a hello that resumes what the life file does not have moves neither stream nor member") {
  ReturningMembers returning;
  Life life = life_of({member(1, 40), member(2, 30)});
  life.lost = {member(3, 20)};
  returning.expect(life, capacity);
  Hello stranger = resuming(9, 0);
  stranger.resumes->kept_from = 35;
  stranger.resumes->published = 80;
  SECTION("another consumer") {
    static_cast<void>(returning.add(stranger, 1, began_ns));
    CHECK_FALSE(returning.is_due(over_ns - 1));
    const Given given = decide(returning);
    CHECK(given.begin == 30U);
    CHECK(given.places == Names{"t2@30", "t1@40", "came@?"});
  }
  SECTION("the consumer, as a rank that it was not") {
    Hello rank = resuming(2, 0);
    rank.group = "g";
    rank.world = 2;
    static_cast<void>(returning.add(rank, 1, began_ns));
    CHECK(returning.missing().size() == 2);
    CHECK(decide(returning).begin == 30U);
  }
  SECTION("but one whose lock was removed is no stranger") {
    static_cast<void>(returning.add(resuming(3, 25), 1, began_ns));
    const Given given = decide(returning);
    CHECK(given.begin == 25U);
    CHECK(given.places == Names{"came@25", "t2@30", "t1@40"});
  }
}

TEST_CASE("a rank is the member that it was, and no other") {
  LifeMember rank = member(1, 40);
  rank.group = {"g", 1U, 2U};
  Hello hello = resuming(1, 45);
  CHECK_FALSE(is_from(rank, hello));
  hello.group = "g";
  hello.rank = 1;
  hello.world = 2;
  CHECK(is_from(rank, hello));
  hello.world = 3;
  CHECK_FALSE(is_from(rank, hello));
  hello.world = 2;
  hello.rank = 0;
  CHECK_FALSE(is_from(rank, hello));
  CHECK_FALSE(is_from(rank, Hello()));
}

TEST_CASE("one that pauses between loops keeps its place within one") {
  ReturningMembers returning;
  LifeMember within = member(2, 10), between = member(3, 5);
  within.between_epochs = between.between_epochs = BetweenEpochs::let_go;
  within.in_loop = true;
  returning.expect(life_of({member(1, 40), within, between}), capacity);
  static_cast<void>(returning.add(resuming(1, 45), 1, began_ns));
  CHECK_FALSE(returning.is_due(over_ns - 1));
  const Given given = decide(returning);
  CHECK(given.begin == 10U);
  CHECK(given.places == Names{"t2@10", "came@45"});
}

TEST_CASE("a complete group waits as a newcomer does") {
  ReturningMembers returning;
  returning.note_group(true, began_ns);
  CHECK_FALSE(returning.is_gathering());  // no member is to come
  returning.expect(life_of({member(1, 40)}), capacity);
  returning.note_group(true, began_ns);
  CHECK(returning.is_gathering());
  returning.note_group(true, over_ns - 1);  // it waits since then
  CHECK_FALSE(returning.is_due(over_ns - 1));
  SECTION("until its ranks leave") {
    returning.note_group(false, over_ns);
    CHECK_FALSE(returning.is_gathering());
    CHECK_FALSE(returning.is_due(over_ns));
  }
  SECTION("until the members have places") {
    CHECK(returning.is_due(over_ns));
    const Given given = decide(returning);
    CHECK(given.begin == 40U);
    CHECK(given.places == Names{"t1@40"});
    CHECK_FALSE(returning.is_gathering());
    returning.note_group(true, over_ns);
    CHECK_FALSE(returning.is_gathering());
  }
}

TEST_CASE("where no trainer has a place, the stream goes on as the life file says") {
  ReturningMembers returning;
  SECTION("at the foremost free one") {
    Hello one = resuming(1, 70), other = resuming(2, 90);
    one.pace = other.pace = Pace::free;
    static_cast<void>(returning.add(one, 1, began_ns));
    static_cast<void>(returning.add(other, 1, began_ns));
    CHECK(decide(returning).begin == 90U);
  }
  SECTION("in its epoch") {
    LifeMember pauses = member(3, 10);
    pauses.between_epochs = BetweenEpochs::let_go;
    returning.expect(life_of({pauses}), capacity);
    static_cast<void>(returning.add(Hello(), 1, began_ns));
    CHECK(returning.is_due(began_ns));
    CHECK(decide(returning).begin == 12 * epoch_samples);
  }
  SECTION("and not in one that it was not in") {
    Life life = life_of({});
    life.epoch = ~std::uint64_t{0};
    returning.expect(life, capacity);
    static_cast<void>(returning.add(Hello(), 1, began_ns));
    CHECK(decide(returning).begin == 12 * epoch_samples);
  }
  SECTION("and not at a floor that is beyond it") {
    returning.expect(life_of({member(1, limits::cursor_limit)}), capacity);
    static_cast<void>(returning.add(Hello(), 1, began_ns));
    CHECK(decide(returning).begin == 1'234 + capacity);
  }
  SECTION("and no number of a hello takes it away") {
    static_cast<void>(returning.add(resuming(1, limits::cursor_limit), 1, began_ns));
    static_cast<void>(returning.add(resuming(2, 20), 1, began_ns));
    CHECK(decide(returning).begin == 20U);
  }
}

TEST_CASE("a desk is believed within its ring") {
  CHECK(place_in_ring(60, 100, capacity) == 60);
  CHECK(place_in_ring(101, 100, capacity) == 100);
  CHECK(place_in_ring(~std::uint64_t{0}, 100, capacity) == 100);
  CHECK(place_in_ring(49, 100, capacity) == 50);
  CHECK(place_in_ring(0, 10, capacity) == 0);
}

TEST_CASE("of a rank at an epoch's end it is not known whether it has ended the epoch") {
  std::uint64_t epochs = 0;
  const auto is_at = [&](std::uint64_t position, const RankProgress& expected) {
    const RankProgress progress = RankProgress::at(position, {epoch_samples, epochs});
    CHECK(progress.ended_before == expected.ended_before);
    CHECK(progress.may_have_ended == expected.may_have_ended);
    CHECK(progress.reading == expected.reading);
  };
  is_at(0, {0, 0, 0});
  is_at(1, {0, 0, 1});
  is_at(100, {0, 1, 1});
  is_at(101, {1, 1, 2});
  // At the stream's end it gets no place, and the others all epochs.
  epochs = 2;
  is_at(199, {1, 1, 2});
  is_at(200, {2, 2, 2});
}
