// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "control/control_support.hpp"
#include "stream/stream_directory.hpp"

#include <batchcast/join/absent_stream.hpp>
#include <batchcast/join/message.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace batchcast;
using namespace batchcast::test;
using Catch::Contains;

namespace {

StreamDirectory::Options in(const TemporaryDirectory& base, const std::string& stream) {
  return {.stream = stream, .base = base.path()};
}

std::string hints(const std::string& stream, const TemporaryDirectory& base) {
  return why_absent(stream, std::vector<std::string>{"/nowhere", base.path()});
}

void leave_behind(const TemporaryDirectory& base, const std::string& stream,
                  const std::string& pid) {
  std::filesystem::create_directory(base.path() + "/" + stream);
  std::ofstream(stream_paths(base.path(), stream).lock) << pid << '\n';
}

}  // namespace

TEST_CASE("a name that is near a served stream's is taken for misspelt") {
  const TemporaryDirectory base;
  CHECK(hints("imagnet-train", base).empty());
  const StreamDirectory served(in(base, "imagenet-train"));
  CHECK(hints("imagnet-train", base) == " Did you mean `imagenet-train`, which is served?");
  CHECK(hints("mnist", base).empty());
  CHECK(hints("imagenet-train", base).empty());
}

TEST_CASE("no stream is recommended that is not served") {
  const TemporaryDirectory base;
  leave_behind(base, "photos", "4711");
  CHECK(hints("fotos", base).empty());
}

TEST_CASE("what a killed producer leaves behind tells its pid") {
  const TemporaryDirectory base;
  leave_behind(base, "photos", "4711");
  CHECK(hints("photos", base) == " Its producer (pid 4711) is gone.");
  leave_behind(base, "empty", "");
  CHECK(hints("empty", base).empty());
}

TEST_CASE("names of consumers are printable ASCII") {
  for (const char* good : {"", "lr-0.1", "a b", "rank 0/2", "~!@#"}) {
    CHECK_NOTHROW(check_consumer_name(good));
  }
  for (const char* bad : {"a\nb", "\x7f", "na\xc3\xafve", "\x1b[31m"}) {
    CHECK_THROWS_WITH(check_consumer_name(bad),
                      Contains("cannot name a consumer") && Contains("printable ASCII"));
  }
  CHECK_THROWS_WITH(check_consumer_name("a\nb"), Contains("\"a\\nb\""));
}

TEST_CASE("what a producer that failed leaves behind tells why") {
  const TemporaryDirectory base;
  const auto leave_failure = [&](const std::string& note) {
    std::filesystem::create_directories(base.path() + "/photos");
    std::ofstream(stream_paths(base.path(), "photos").failure) << note;
  };
  leave_failure(failure_note(4711, "no disk\nat all.\n\x1b[2J"));
  CHECK_THAT(hints("photos", base), Contains(" Its last producer (pid 4711) failed ") &&
                                        Contains(" s ago: no disk\nat all.\n\\x1b[2J."));
  for (const char* useless : {"", "4711", "\n"}) {
    leave_failure(useless);
    CHECK(hints("photos", base).empty());
  }
}

TEST_CASE("a long reason of a failure is cut between characters") {
  std::string reason(failure_bytes_max - 10, 'x');
  for (int i = 0; i < 8; ++i) reason += "\u00e4";
  const std::string note = failure_note(4711, reason);
  CHECK(note.size() <= failure_bytes_max);
  CHECK(note.ends_with("x \u2026"));
  CHECK(failure_note(1, "short") == "1\nshort");
}
