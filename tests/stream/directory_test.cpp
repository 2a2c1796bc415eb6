// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "control/control_support.hpp"
#include "door/listener.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <fstream>

#include "catch.hpp"

using namespace batchcast;
using namespace batchcast::test;
using Catch::Contains;

namespace {

unsigned mode_of(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : ~0U;
}

bool exists(const std::string& path) { return std::filesystem::exists(path); }

StreamDirectory::Options in(const TemporaryDirectory& base, const std::string& stream = "demo") {
  return {.stream = stream, .base = base.path()};
}

}  // namespace

TEST_CASE("names of streams are names of files and nothing else") {
  for (const char* good : {"a", "imagenet-train", "v1.2_x", "UPPER", "a:b", "7", "_x",
                           "lr=0.1,wd=0", "a+b@c%d~e#f^g"}) {
    CHECK_NOTHROW(check_stream_name(good));
  }
  for (const char sign : std::string("*?[]{}()<>|&;$`\"'\\!")) {
    CHECK_THROWS_WITH(check_stream_name(std::string("a") + sign), Contains("shell"));
  }
  for (const char* first : {"-x", "=x", "~x", "#x", "^x"}) {
    CHECK_THROWS_WITH(check_stream_name(first), Contains("begins"));
  }
  CHECK_NOTHROW(check_stream_name(std::string(limits::stream_name_bytes_max, 'x')));
  CHECK_THROWS_WITH(check_stream_name(""), Contains("empty"));
  CHECK_THROWS_WITH(check_stream_name("a/b"), Contains("slash"));
  CHECK_THROWS_WITH(check_stream_name("/"), Contains("slash"));
  CHECK_THROWS_WITH(check_stream_name("."), Contains("dot"));
  CHECK_THROWS_WITH(check_stream_name(".."), Contains("dot"));
  CHECK_THROWS_WITH(check_stream_name("a b"), Contains("it has a blank"));
  CHECK_THROWS_WITH(check_stream_name("a\nb"), Contains("\"a\\nb\"") && Contains("printable"));
  CHECK_THROWS_WITH(check_stream_name("\xc3\xa4"), Contains("printable"));
  CHECK_THROWS_WITH(check_stream_name(std::string(limits::stream_name_bytes_max + 1, 'x')),
                    Contains("49 bytes"));
  CHECK_THROWS_AS(check_stream_name("a/b"), InvalidArgument);
}

TEST_CASE("streams are looked for in every candidate directory") {
  const std::string uid = std::to_string(::geteuid());
  SECTION("BATCHCAST_DIR alone") {
    const Environment named("BATCHCAST_DIR", "/somewhere/else/");
    const Environment runtime("XDG_RUNTIME_DIR", "/run/mine");
    CHECK(candidate_directories() == std::vector<std::string>{"/somewhere/else"});
  }
  SECTION("or the usual ones, each once") {
    const Environment named("BATCHCAST_DIR", nullptr);
    {
      const Environment runtime("XDG_RUNTIME_DIR", "/run/mine");
      CHECK(candidate_directories() == std::vector<std::string>{"/run/mine/batchcast",
                                                                "/run/user/" + uid + "/batchcast",
                                                                "/tmp/batchcast-" + uid});
    }
    const Environment runtime("XDG_RUNTIME_DIR", ("/run/user/" + uid + "/").c_str());
    CHECK(candidate_directories().size() == 2);
  }
}

TEST_CASE("a producer serves where it can, and consumers find it there") {
  const TemporaryDirectory home;
  const Environment named("BATCHCAST_DIR", nullptr);
  const Environment runtime("XDG_RUNTIME_DIR", home.path().c_str());
  CHECK(producer_directory() == home / "batchcast");
  CHECK(mode_of(home / "batchcast") == 0700);
  CHECK(producer_directory(true) == "/tmp/batchcast-" + std::to_string(::geteuid()));

  CHECK(find_stream("demo").places.empty());
  const StreamDirectory directory({.stream = "demo"});
  const DoorListener door(directory.paths().door, 0600);
  REQUIRE(find_stream("demo").places.size() == 1);
  CHECK(find_stream("demo").places.front().door == home / "batchcast/demo/door");
}

TEST_CASE("BATCHCAST_DIR is made with its parents") {
  const TemporaryDirectory home;
  const Environment named("BATCHCAST_DIR", (home / "a/b/c").c_str());
  const StreamDirectory directory({.stream = "demo"});
  CHECK(directory.paths().door == home / "a/b/c/demo/door");
  CHECK(mode_of(home / "a/b/c") == 0700);
}

TEST_CASE("a stream's directory is private, and goes with its producer") {
  const TemporaryDirectory base;
  {
    const StreamDirectory directory(in(base));
    CHECK(mode_of(base / "demo") == 0700);
    CHECK(mode_of(base / "demo/lock") == 0600);
    CHECK(directory.intact());
    std::ofstream(directory.paths().control) << "x";
  }
  CHECK_FALSE(exists(base / "demo"));
}

TEST_CASE("other users that are admitted can pass through, no more") {
  const TemporaryDirectory base;
  const StreamDirectory directory({.stream = "demo", .base = base / "b", .allow_uids = {65534}});
  CHECK(mode_of(base / "b") == 0711);
  CHECK(mode_of(base / "b/demo") == 0711);
  CHECK(mode_of(base / "b/demo/lock") == 0600);
}

TEST_CASE("a second producer is refused with the pid of the first") {
  const TemporaryDirectory base;
  std::optional<StreamDirectory> first;
  first.emplace(in(base));
  CHECK_THROWS_AS(StreamDirectory(in(base)), StreamTaken);
  CHECK_THROWS_WITH(StreamDirectory(in(base)), Contains("process " + std::to_string(::getpid())) &&
                                                   Contains("batchcast stop demo"));
  CHECK_NOTHROW(StreamDirectory(in(base, "other")));
  CHECK(first->intact());
  first.reset();
  CHECK_NOTHROW(StreamDirectory(in(base)));
}

TEST_CASE("a killed producer leaves a name that can be taken") {
  const TemporaryDirectory base;
  const Environment named("BATCHCAST_DIR", base.path().c_str());
  const Pipe ready;
  Child child([&] {
    const StreamDirectory directory(in(base));
    ready.put('x');
    ::pause();
    return 0;
  });
  static_cast<void>(ready.get<char>());
  CHECK_THROWS_WITH(StreamDirectory(in(base)), Contains("process " + std::to_string(child.pid())));
  REQUIRE(list_streams().size() == 1);
  CHECK(list_streams().front().served);
  CHECK(list_streams().front().pid == child.pid());
  child.kill();
  child.wait();
  REQUIRE(list_streams().size() == 1);
  CHECK_FALSE(list_streams().front().served);
  CHECK_NOTHROW(StreamDirectory(in(base)));
  CHECK(list_streams().empty());
}

TEST_CASE("a forked child of the producer leaves its directory alone") {
  const TemporaryDirectory base;
  StreamDirectory directory(in(base));
  Child child([&] {
    directory.~StreamDirectory();
    return 0;
  });
  CHECK(child.wait() == 0);
  CHECK(directory.intact());
  CHECK_THROWS_AS(StreamDirectory(in(base)), StreamTaken);
}

TEST_CASE("looking at a lock does not keep a producer from taking it") {
  const TemporaryDirectory base;
  std::ofstream(base / "keep");
  std::filesystem::create_directory(base / "demo");
  std::filesystem::permissions(base / "demo", std::filesystem::perms::owner_all);
  const FileDescriptor looker(::open((base / "demo/lock").c_str(), O_RDWR | O_CREAT, 0600));
  REQUIRE(::flock(looker.get(), LOCK_SH) == 0);
  std::thread away([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // off its processor meanwhile
    ::flock(looker.get(), LOCK_UN);
  });
  CHECK_NOTHROW(StreamDirectory(in(base)));
  away.join();
}

TEST_CASE("a stopped process that looks at a lock is named, and no producer") {
  const TemporaryDirectory base;
  std::filesystem::create_directory(base / "demo");
  std::filesystem::permissions(base / "demo", std::filesystem::perms::owner_all);
  std::ofstream(base / "demo/lock") << "1\n";  // of a producer that was killed
  const Pipe looks;
  const Child looker([&]() -> int {
    const FileDescriptor lock(::open((base / "demo/lock").c_str(), O_RDONLY));
    const int locked = ::flock(lock.get(), LOCK_SH);
    looks.put(locked);
    for (;;) ::pause();
  });
  REQUIRE(looks.get<int>() == 0);
  const std::string number = std::to_string(looker.pid());
  SECTION("while it is stopped") {
    REQUIRE(::kill(looker.pid(), SIGSTOP) == 0);
    int status = 0;
    REQUIRE(::waitpid(looker.pid(), &status, WUNTRACED) == looker.pid());
    CHECK_THROWS_WITH(StreamDirectory(in(base)), Contains("no producer serves the stream demo") &&
                                                     Contains("process " + number + " looks at") &&
                                                     Contains("kill -CONT " + number) &&
                                                     !Contains("batchcast stop"));
  }
  SECTION("while it goes on") {
    CHECK_THROWS_WITH(StreamDirectory(in(base)), Contains("process " + number + " looks at") &&
                                                     Contains("Try again") && !Contains("kill"));
  }
}

TEST_CASE("directories that others could have planted are refused") {
  const TemporaryDirectory base;
  const std::string place = base / "b";
  const StreamDirectory::Options options{.stream = "demo", .base = place};
  SECTION("a symlink") {
    std::filesystem::create_directory(base / "real");
    std::filesystem::create_symlink(base / "real", place);
    CHECK_THROWS_WITH(StreamDirectory(options),
                      Contains("symbolic link") && Contains("BATCHCAST_DIR"));
  }
  SECTION("a file") {
    std::ofstream(place) << "x";
    CHECK_THROWS_WITH(StreamDirectory(options), Contains("not a directory"));
  }
  SECTION("mode 0777") {
    std::filesystem::create_directory(place);
    ::chmod(place.c_str(), 0777);
    CHECK_THROWS_WITH(StreamDirectory(options), Contains("mode 0777") && Contains("chmod go-w"));
  }
  SECTION("everybody's, as /tmp is") {
    std::filesystem::create_directory(place);
    ::chmod(place.c_str(), 01777);
    CHECK_THROWS_WITH(StreamDirectory(options), Contains("of your own") && !Contains("chmod"));
  }
  SECTION("another owner") {
    if (::geteuid() != 0) return;
    std::filesystem::create_directory(place);
    REQUIRE(::chown(place.c_str(), 4711, 0) == 0);
    CHECK_THROWS_WITH(StreamDirectory(options), Contains("belongs to user 4711"));
    CHECK_NOTHROW(StreamDirectory({.stream = "demo", .base = place, .allow_uids = {4711}}));
  }
  SECTION("a stream that is a symlink") {
    std::filesystem::create_directories(place + "/elsewhere");
    ::chmod(place.c_str(), 0700);
    std::filesystem::create_symlink(place + "/elsewhere", place + "/demo");
    CHECK_THROWS_WITH(StreamDirectory(options), Contains("symbolic link"));
  }
  SECTION("a lock that is a symlink") {
    std::filesystem::create_directories(place + "/demo");
    ::chmod(place.c_str(), 0700);
    ::chmod((place + "/demo").c_str(), 0700);
    std::filesystem::create_symlink(base / "victim", place + "/demo/lock");
    CHECK_THROWS_AS(StreamDirectory(options), SystemError);
    CHECK_FALSE(exists(base / "victim"));
  }
}

TEST_CASE("consumers pass over what they cannot trust, and say why") {
  const TemporaryDirectory home;
  const Environment named("BATCHCAST_DIR", nullptr);
  const Environment runtime("XDG_RUNTIME_DIR", home.path().c_str());
  const StreamDirectory directory({.stream = "demo"});
  const DoorListener door(directory.paths().door, 0600);
  REQUIRE(find_stream("demo").places.size() == 1);
  ::chmod((home / "batchcast").c_str(), 0777);
  CHECK(find_stream("demo").places.empty());
  REQUIRE(find_stream("demo").distrusted.size() == 1);
  CHECK_THAT(find_stream("demo").distrusted.front(), Contains("0777"));
  for (const ListedStream& stream : list_streams())
    CHECK(stream.paths.door != directory.paths().door);
  CHECK_THROWS_AS(find_stream("a/b"), InvalidArgument);
}

TEST_CASE("what another user has in place of a door does not keep other streams off the list") {
  if (::geteuid() != 0) return;
  const TemporaryDirectory base;
  const std::string place = base / std::string(50, 'x');
  const Environment named("BATCHCAST_DIR", place.c_str());
  const std::string too_long(limits::stream_name_bytes_max, 'y');
  for (const std::string& name : {std::string("loop"), too_long}) {
    std::filesystem::create_directories(place + '/' + name);
    std::ofstream(place + '/' + name + "/lock") << "1\n";
    ::chmod((place + '/' + name + "/lock").c_str(), 0600);
    ::chmod((place + '/' + name).c_str(), 0755);
  }
  std::filesystem::create_symlink("door", place + "/loop/door");
  for (const std::string& folder : {base.path(), place}) ::chmod(folder.c_str(), 0755);
  Child child([] {
    constexpr uid_t other = 65534;
    if (::setgid(other) != 0 || ::setuid(other) != 0) return 2;
    try {
      const std::vector<ListedStream> streams = list_streams();
      const bool dead = std::all_of(streams.begin(), streams.end(), [](const ListedStream& stream) {
        return stream.foreign && !stream.served;
      });
      return streams.size() == 2 && dead ? 0 : 1;
    } catch (const Error&) {
      return 3;
    }
  });
  CHECK(child.wait() == 0);
}

TEST_CASE("a directory too long for a socket is refused with what to shorten") {
  const TemporaryDirectory base;
  const std::string place = base / std::string(90, 'x');
  CHECK_THROWS_WITH(StreamDirectory({.stream = "demo", .base = place}),
                    Contains("107") && Contains("BATCHCAST_DIR"));
  CHECK_FALSE(exists(place));
  const std::string fits = base / std::string(107 - base.path().size() - 14, 'x');
  CHECK_NOTHROW(StreamDirectory({.stream = "demo", .base = fits}));
  CHECK_THROWS_AS(StreamDirectory({.stream = "demo1", .base = fits}), InvalidArgument);
}

TEST_CASE("a directory that vanished is made again, unless another producer took the name") {
  const TemporaryDirectory base;
  std::vector<std::string> log;
  auto options = in(base);
  options.log = [&log](LogLevel, std::string_view text) { log.emplace_back(text); };
  StreamDirectory directory(options);
  std::filesystem::remove_all(base / "demo");
  CHECK_FALSE(directory.intact());
  SECTION("made again, and held") {
    CHECK(directory.repair());
    CHECK(directory.intact());
    CHECK(log.size() == 1);
    CHECK_THROWS_AS(StreamDirectory(in(base)), StreamTaken);
  }
  SECTION("taken") {
    const StreamDirectory thief(in(base));
    CHECK_FALSE(directory.repair());
    CHECK_FALSE(directory.repair());
    REQUIRE(log.size() == 1);
    CHECK_THAT(log.front(), Contains("already served"));
    CHECK(thief.intact());
  }
  SECTION("with its base") {
    std::filesystem::remove_all(base.path());
    CHECK(directory.repair());
    CHECK(exists(base / "demo/lock"));
  }
}
