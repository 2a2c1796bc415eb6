// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "child.hpp"

#include <batchcast/core/limits.hpp>
#include <batchcast/ring/fault_message.hpp>
#include <batchcast/ring/memory.hpp>

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstring>
#include <optional>
#include <vector>

using namespace batchcast;
using batchcast::testing::ChildEnd;
using batchcast::testing::in_child;

namespace {

void write_to(std::byte* at) { *const_cast<volatile std::byte*>(at) = std::byte{1}; }

struct Ring {
  Segment segment = Segment::create_small("image", 4 * page_bytes());
  DoubleMapping samples{segment, MapMode::read_only};

  [[nodiscard]] FaultRange explained(const char* stream = "imagenet-train") const {
    return {samples.data(), 2 * samples.bytes(), stream};
  }
};

bool explains(const ChildEnd& end) {
  for (const char* part : {"batchcast", "`imagenet-train`", "clone()", "access = private"}) {
    if (end.output.find(part) == std::string::npos) return false;
  }
  return true;
}

void say(const char* text) {
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) ::_exit(97);
}

sigjmp_buf mended;
void mend(int) { siglongjmp(mended, 1); }

}  // namespace

TEST_CASE("a write that cannot be made private is explained, and kills as it would have") {
  const Ring ring;
  for (const std::uint64_t offset :
       {std::uint64_t{0}, ring.samples.bytes(), 2 * ring.samples.bytes() - 1}) {
    const auto end = in_child([&] {
      const FaultRange range = ring.explained();
      write_to(ring.samples.data() + offset);
      return 0;
    });
    CHECK(end.died_of(SIGSEGV));
    CHECK(explains(end));
    CHECK(end.output.find("imagenet-train") == end.output.rfind("imagenet-train"));
  }
}

TEST_CASE("reading a batch, and faults elsewhere, are not explained") {
  const Ring ring;
  CHECK(in_child([&] {
          const FaultRange range = ring.explained();
          return static_cast<int>(*ring.samples.data());
        }).exited_with(0));
  const Ring other;
  auto end = in_child([&] {
    const FaultRange range = ring.explained();
    write_to(other.samples.data());
    return 0;
  });
  CHECK(end.died_of(SIGSEGV));
  CHECK_FALSE(explains(end));
  end = in_child([&] {
    { const FaultRange range = ring.explained(); }
    write_to(ring.samples.data());
    return 0;
  });
  CHECK(end.died_of(SIGSEGV));
  CHECK_FALSE(explains(end));
}

TEST_CASE("a moved range is explained once, and forgotten once") {
  const Ring ring;
  const auto end = in_child([&] {
    std::vector<FaultRange> ranges;
    ranges.push_back(ring.explained("first"));
    ranges.push_back(ring.explained());
    std::optional<FaultRange> last(std::move(ranges.back()));
    ranges.clear();
    write_to(ring.samples.data());
    return 0;
  });
  CHECK(end.died_of(SIGSEGV));
  CHECK(explains(end));
}

TEST_CASE("a handler that was there before still gets its turn") {
  const Ring ring;
  const auto end = in_child([&] {
    struct sigaction action {};
    action.sa_handler = [](int) {
      say("previous handler");
      ::_exit(7);
    };
    ::sigaction(SIGSEGV, &action, nullptr);
    const FaultRange range = ring.explained();
    write_to(ring.samples.data());
    return 0;
  });
  CHECK(end.exited_with(7));
  CHECK(explains(end));
  CHECK(end.output.find("access = private") < end.output.find("previous handler"));
}

TEST_CASE("a handler that mends its own faults does not end the explaining") {
  const Ring ring;
  const Ring other;
  const auto end = in_child([&] {
    struct sigaction action {};
    action.sa_handler = mend;
    action.sa_flags = SA_NODEFER;
    ::sigaction(SIGSEGV, &action, nullptr);
    const FaultRange range = ring.explained();
    if (sigsetjmp(mended, 1) == 0) write_to(other.samples.data());
    if (sigsetjmp(mended, 1) == 0) write_to(ring.samples.data());
    return 5;
  });
  CHECK(end.exited_with(5));
  CHECK(explains(end));
}

TEST_CASE("a SIGSEGV that somebody sends is not swallowed") {
  const Ring ring;
  const auto end = in_child([&] {
    const FaultRange range = ring.explained();
    ::kill(::getpid(), SIGSEGV);
    return 0;
  });
  CHECK(end.died_of(SIGSEGV));
  CHECK_FALSE(explains(end));
}

TEST_CASE("more ranges than the table holds get no message, and work") {
  const Ring ring;
  const Ring full;
  const auto end = in_child([&] {
    std::vector<FaultRange> ranges;
    for (std::size_t i = 0; i < limits::fault_ranges_max; ++i) {
      ranges.push_back(full.explained("full"));
    }
    { const FaultRange beyond = ring.explained(); }
    const FaultRange beyond = ring.explained();
    write_to(ring.samples.data());
    return 0;
  });
  CHECK(end.died_of(SIGSEGV));
  CHECK_FALSE(explains(end));
}
