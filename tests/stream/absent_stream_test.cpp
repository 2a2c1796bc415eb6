// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "control/control_support.hpp"
#include "stream/last_ends.hpp"
#include "stream/stream_directory.hpp"

#include <batchcast/join/absent_stream.hpp>
#include <batchcast/join/message.hpp>

#include <sys/stat.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
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

TEST_CASE("what a producer that ended leaves beside its directory tells why") {
  const TemporaryDirectory base;
  std::ofstream(end_path(base.path(), "photos")) << failure_note(4711, "no consumer came.");
  CHECK_THAT(hints("photos", base),
             Contains(" Its last producer ended ") && Contains(" s ago: no consumer came."));
  CHECK(hints("photo", base).empty());
  CHECK_FALSE(is_stream_name(std::filesystem::path(end_path("/x", "photos")).filename().string()));
}

TEST_CASE("a stream that ended in order leaves its words, and nothing else") {
  const TemporaryDirectory base;
  const Environment there("BATCHCAST_DIR", base.path().c_str());
  const bool for_others = GENERATE(false, true);
  StreamDirectory::Options options = in(base, "photos");
  if (for_others) options.allow_uids = {12345};
  std::optional<StreamDirectory> directory(options);
  directory->forget_log();
  directory->note_end("no consumer came");
  directory.reset();
  CHECK_FALSE(std::filesystem::exists(base.path() + "/photos"));
  const std::string words = end_path(base.path(), "photos");
  struct stat status;
  REQUIRE(::stat(words.c_str(), &status) == 0);
  CHECK((status.st_mode & 0077U) == (for_others ? 0044U : 0U));
  CHECK(list_streams().empty());
  CHECK(list_streams("photos").empty());
  CHECK_FALSE(find_failed_stream("photos"));
  const StreamDirectory next(options);
  CHECK_FALSE(std::filesystem::exists(words));
}

TEST_CASE("last words of streams that no producer serves again go") {
  const TemporaryDirectory base;
  const auto end = [&](const std::string& stream) { return end_path(base.path(), stream); };
  const auto leave = [&](const std::string& stream, int age_s) {
    std::ofstream(end(stream)) << failure_note(4711, "it ended");
    std::filesystem::last_write_time(
        end(stream), std::filesystem::file_time_type::clock::now() - std::chrono::seconds(age_s));
  };
  leave("old", ends_kept_s + 60);
  leave("young", ends_kept_s - 600);
  std::ofstream(base.path() + "/.mine.ended.txt") << "of another program";
  forget_old_ends(base.path());
  CHECK_FALSE(std::filesystem::exists(end("old")));
  CHECK(std::filesystem::exists(end("young")));
  for (std::size_t i = 0; i < ends_kept_max; ++i) leave("s" + std::to_string(i), 60);
  {
    const StreamDirectory directory(in(base, "last"));
    directory.note_end("it ended");
  }
  CHECK_FALSE(std::filesystem::exists(end("young")));
  CHECK(std::filesystem::exists(end("last")));
  const auto left = std::distance(std::filesystem::directory_iterator(base.path()), {});
  CHECK(left == static_cast<std::ptrdiff_t>(ends_kept_max) + 1);
  CHECK(std::filesystem::exists(base.path() + "/.mine.ended.txt"));
}

TEST_CASE("a long reason of a failure is cut between characters") {
  std::string reason(failure_bytes_max - 10, 'x');
  for (int i = 0; i < 8; ++i) reason += "\u00e4";
  const std::string note = failure_note(4711, reason);
  CHECK(note.size() <= failure_bytes_max);
  CHECK(note.ends_with("x \u2026"));
  CHECK(failure_note(1, "short") == "1\nshort");
}
