// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"

#include <batchcast/consumer/pending.hpp>

#include <exception>

using namespace batchcast;
using batchcast::detail::Pending;

namespace {

struct GivenUp {};

void interrupt(Pending& pending) { pending.interrupt(std::make_exception_ptr(GivenUp())); }

}  // namespace

TEST_CASE("a run is left until it is dropped") {
  Pending pending;
  CHECK(pending.run() == nullptr);
  Run run;
  run.position = 40;
  pending.keep_run(run);
  REQUIRE(pending.run() != nullptr);
  CHECK(pending.run()->position == 40);
  CHECK_FALSE(pending.drop_end());  // that is another thing
  CHECK(pending.run() != nullptr);
  CHECK_NOTHROW(pending.throw_interruption());
  CHECK_NOTHROW(pending.end_epoch());
  pending.drop_run();
  CHECK(pending.run() == nullptr);
}

TEST_CASE("an interruption comes in place of the epoch's end, and the end after it, each once") {
  Pending pending;
  interrupt(pending);
  CHECK_THROWS_AS(pending.end_epoch(), GivenUp);
  CHECK_NOTHROW(pending.throw_interruption());
  CHECK(pending.has_end());
  CHECK(pending.drop_end());
  CHECK_FALSE(pending.drop_end());
  CHECK_NOTHROW(pending.end_epoch());
}

TEST_CASE("an interruption of a call that left its epoch leaves no end") {
  Pending pending;
  interrupt(pending);
  CHECK_THROWS_AS(pending.throw_interruption(), GivenUp);
  CHECK_NOTHROW(pending.throw_interruption());
  CHECK_FALSE(pending.has_end());
  pending.keep_run({});
  CHECK(pending.run() != nullptr);
}

TEST_CASE("what is to be told stays beside anything else until it is dropped") {
  Pending pending;
  CHECK_FALSE(pending.untold());
  pending.tell({.epoch = 3});
  interrupt(pending);
  CHECK_THROWS_AS(pending.end_epoch(), GivenUp);
  CHECK(pending.drop_end());
  REQUIRE(pending.untold());
  CHECK(pending.untold()->epoch == 3);
  pending.drop_untold();
  CHECK_FALSE(pending.untold());
}
