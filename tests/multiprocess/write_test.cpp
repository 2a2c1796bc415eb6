// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "../catch.hpp"
#include "consume.hpp"
#include "process.hpp"
#include "serve.hpp"

#include <signal.h>

#include <string>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

/// Writes into its first batch, where it must not.
int write_into_batch(const Words& words) {
  Consumer consumer(consumer_options(words));
  const Batch batch = consumer.next().value();
  const auto image = batch.field<std::uint8_t>("image");
  say("writes");
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

}  // namespace

TEST_CASE("who writes into a batch is told whose memory it is, and dies of it", "[write][short]") {
  const OwnDirectory directory;
  Server server(producer_options("padded"), {});
  Process other("consume", {"name=other"});
  static_cast<void>(other.expect("attached"));
  Process writer("write_into_batch", {"name=writer"});
  static_cast<void>(writer.expect("writes"));
  const End end = writer.wait();
  CHECK_FALSE(writer.line(0));
  if (!slow_build()) CHECK(end.killed_by(SIGSEGV));
  CHECK_FALSE(end.exited_with(0));
  const std::string said = writer.errors();
  INFO(said);
  CHECK(said.find("batchcast") != std::string::npos);
  CHECK(said.find("`s`") != std::string::npos);
  CHECK(said.find("clone()") != std::string::npos);
  CHECK(said.find("access = private") != std::string::npos);
  server.stop();
  static_cast<void>(expect_sound(other, "Stopped"));
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
                      Catch::Matchers::Contains("access = private"));
}
