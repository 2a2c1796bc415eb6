// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "../catch.hpp"
#include "../ring/child.hpp"
#include "consume.hpp"
#include "kept_batch.hpp"
#include "process.hpp"
#include "serve.hpp"

#include <batchcast/consumer/host_copy.hpp>
#include <batchcast/ring/fault_message.hpp>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

/// Takes one batch, then writes into it where `without` says that this cannot go well.
int write_into_batch(const Words& words) {
  ConsumerOptions options = consumer_options(words);
  options.explain_faults = words.text("without") != "handler";
  if (words.text("without") == "mremap_early") {
    if (!without_system_call(SYS_mremap, EPERM)) return 3;
  }
  Consumer consumer(options);
  const Batch batch = consumer.next().value();
  if (words.text("without") == "mremap" && !without_system_call(SYS_mremap, EPERM)) return 3;
  say("writes keeps=" + std::to_string(batch.keeps_writes() ? 1 : 0));
  const auto image = batch.field<std::uint8_t>("image");
  *const_cast<std::uint8_t*>(image.data()) = 1;
  say("wrote");
  return 0;
}

/// Writes into its private batches all the time.
int write_private(const Words& words) {
  ConsumerOptions options = consumer_options(words);
  options.access = Access::private_copy;
  Consumer consumer(options);
  Checker checker(consumer.samples_per_epoch());
  for (int i = 0; i < 200; ++i) {
    auto batch = consumer.next();
    if (!batch) continue;
    checker.see(*batch);
    const auto image = batch->writable_field<std::uint8_t>("image");
    for (std::size_t s = 0; s < batch->size(); ++s) {
      for (std::uint8_t& byte : image[s]) byte = 0xEE;
    }
  }
  say("done sound=" + std::string(checker.fault().empty() ? "yes" : "no") + " " + checker.fault());
  return 0;
}

const RoleRegistration into_batch("write_into_batch", write_into_batch);
const RoleRegistration into_private("write_private", write_private);

End end_of_write(const std::string& without, std::string& said) {
  Process writer("write_into_batch", {"name=writer", "without=" + without});
  CHECK(writer.expect("writes").number("keeps") == (without == "mremap" ? 1 : 0));
  const End end = writer.wait();
  CHECK_FALSE(writer.line(0));
  said = writer.errors();
  return end;
}

}  // namespace

TEST_CASE("a write that cannot stay private is told whose memory it is, and dies of it",
          "[write][short]") {
  const OwnDirectory directory;
  Server server(producer_options("padded"), {});
  Process other("consume", {"name=other"});
  static_cast<void>(other.expect("attached"));
  for (const char* without : {"mremap", "mremap_early", "handler"}) {
    std::string said;
    const End end = end_of_write(without, said);
    INFO(without << ": " << said);
    if (!slow_build()) CHECK(end.killed_by(SIGSEGV));
    CHECK_FALSE(end.exited_with(0));
    const bool explains = std::string(without) != "handler";
    // A sanitizer's report names functions of ours too.
    for (const char* part : {"batchcast: ", "`s`", "clone()", "access = private"}) {
      CHECK((said.find(part) != std::string::npos) == explains);
    }
  }
  server.stop();
  static_cast<void>(expect_sound(other, "Stopped"));
}

TEST_CASE("two consumers of one process write apart, and a child beside both", "[write][short]") {
  const OwnDirectory directory;
  Server server(producer_options("padded"), {});
  ConsumerOptions options = stream_options();
  options.log = [](LogLevel, std::string_view) {};
  Consumer one(options);
  Consumer two(options);
  Kept mine(one.next().value());
  Kept theirs(two.next().value());
  if (mine.batch.position() != theirs.batch.position()) FAIL("not the same batch");
  mine.write(0);
  CHECK(mine.shows_it());
  CHECK(theirs.shows_it());
  const auto end = in_child([&] {
    // The test framework's handler is not there; ours comes with the next consumer's look.
    FaultRange::come_first();
    theirs.write(1);
    mine.write(2);
    return theirs.shows_it() && mine.shows_it() ? 7 : 8;
  });
  CHECK(end.exited_with(7));
  CHECK(theirs.shows_it());
  CHECK(mine.shows_it());
  CHECK_FALSE(two.next().value().writable());
  CHECK(one.next().value().writable());
}

TEST_CASE("the kernel writes into a batch only once it is private", "[write][short]") {
  const OwnDirectory directory;
  Server server(producer_options("padded"), {});
  ConsumerOptions options = stream_options();
  options.log = [](LogLevel, std::string_view) {};
  Consumer consumer(options);
  const Batch batch = consumer.next().value();
  const auto bytes = bytes_of(batch, 0);
  const int zeros = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  CHECK(::read(zeros, bytes.data(), 10) == -1);
  CHECK(errno == EFAULT);
  *static_cast<volatile std::byte*>(bytes.data()) = std::byte{1};
  CHECK(::read(zeros, bytes.data(), 10) == 10);
  CHECK(bytes[0] == std::byte{0});
  ::close(zeros);
}

TEST_CASE("what a write took goes back once no batch shows it", "[write][short]") {
  const auto private_kib = [] {
    std::ifstream status("/proc/self/status");
    std::uint64_t kib = 0;
    for (std::string word; status >> word;) {
      if (word == "RssAnon:") status >> kib;
    }
    return kib;
  };
  const OwnDirectory directory;
  Server server(producer_options("mixed", 100'000, 32 << 20), {});
  ConsumerOptions options = stream_options();
  options.log = [](LogLevel, std::string_view) {};
  Consumer consumer(options);
  Batch one = consumer.next().value();
  Batch two = consumer.next().value();
  const std::uint64_t before = private_kib();
  *static_cast<volatile std::byte*>(bytes_of(two, 0).data()) = std::byte{1};
  const std::uint64_t written = private_kib();
  two = Batch();
  const bool later_is_a_copy = consumer.next().value().writable();
  const Batch on_host = detail::copy_to_host(one);  // which shows nothing of the ring's
  const std::uint64_t held = private_kib();
  CHECK(fault_of(one) == "");
  one = Batch();
  const std::uint64_t after = private_kib();
  INFO("KiB: " << before << ", " << written << ", " << held << ", " << after);
  CHECK(later_is_a_copy);
  if (slow_build()) return;
  CHECK(written >= before + 1'900);
  CHECK(held >= before + 1'900);
  CHECK(after + 1'800 <= held);
}

TEST_CASE("an evicted trainer that writes is told as any other", "[write][short]") {
  const OwnDirectory directory;
  Server server(producer_options("padded"), {});
  ConsumerOptions options = stream_options();
  options.name = "slow";
  options.log = [](LogLevel, std::string_view) {};
  Consumer consumer(options);
  Kept kept(consumer.next().value());
  kept.write(0);
  REQUIRE(server.producer().evict("slow", "a test"));
  REQUIRE(eventually([&] {
    try {
      consumer.check();
      return false;
    } catch (const Revoked&) {
      return true;
    }
  }));
  kept.write(1);
  CHECK(kept.shows_it());
  CHECK_THROWS_AS(consumer.next(), Revoked);
  CHECK_THROWS_AS(kept.batch.check(), Revoked);
}

TEST_CASE("private batches can be written, and nobody else sees it", "[write][short]") {
  const OwnDirectory directory;
  Server server(producer_options("padded"), {});
  Process other("consume", {"name=other"});
  static_cast<void>(other.expect("attached"));
  Process writer("write_private", {"name=writer"});
  CHECK(writer.expect("done").text("sound") == "yes");
  server.stop();
  static_cast<void>(expect_sound(other, "Stopped"));
  const ConsumerOptions shared = [] {
    ConsumerOptions options;
    options.stream = "t";
    return options;
  }();
  ProducerOptions options = producer_options();
  options.stream = "t";
  Server second(std::move(options), {});
  Consumer consumer(shared);
  const Batch batch = consumer.next().value();
  REQUIRE_THROWS_WITH(batch.writable_field<std::uint8_t>("image"),
                      Catch::Contains("access = private"));
}
