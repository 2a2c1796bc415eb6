// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "../catch.hpp"
#include "process.hpp"
#include "start_support.hpp"

#include <batchcast/batchcast.hpp>
#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/data/synthetic.hpp>

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;
using Catch::Contains;

namespace {

/// Duplicates of that process's pipes, as a child that it forks at a bad moment would have them.
std::vector<FileDescriptor> pipes_of(pid_t pid) {
  std::vector<FileDescriptor> pipes;
  const FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)));
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
    std::error_code ignored;
    const std::string target = std::filesystem::read_symlink(entry.path(), ignored).string();
    if (!target.starts_with("pipe:")) continue;
    const int fd = std::stoi(entry.path().filename().string());
    pipes.emplace_back(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), fd, 0U)));
  }
  return pipes;
}

}  // namespace

TEST_CASE("ensure dies with its trainer, and what it started stays", "[start][short]") {
  const OwnDirectory directory;
  const Ledger ledger;
  Process first = trainer(ledger.words_with_gate());
  REQUIRE(eventually([&] { return ledger.runs() == 1; }));
  const auto serve = static_cast<pid_t>(ledger.lines("runs").back().number("pid"));
  const auto ensure = static_cast<pid_t>(ledger.lines("ensures").back().number("pid"));
  CHECK(ledger.lines("ensures").back().number("parent") == first.pid());
  std::vector<FileDescriptor> held;
  if (GENERATE(false, true)) held = pipes_of(first.pid());
  first.kill();
  static_cast<void>(first.wait());
  CHECK(eventually([&] { return !runs(ensure); }));
  pause_us(20'000);
  CHECK(runs(serve));
  ledger.open_gate();
  Process second = trainer(ledger.words_with_gate());
  static_cast<void>(second.expect("attached"));
  CHECK(ledger.runs() == 1);
  leave(second);
  end(ledger, directory);
}

TEST_CASE("an ensure that is killed is told of, and what it started is waited for",
          "[start][short]") {
  const OwnDirectory directory;
  const Ledger ledger;
  const std::string children = GENERATE("odd_signals=yes", "reaps=yes");
  Process first = trainer(ledger.words_with_gate(), {children});
  REQUIRE(eventually([&] { return ledger.runs() == 1; }));
  ::kill(static_cast<pid_t>(ledger.lines("ensures").back().number("pid")), SIGKILL);
  const Words words = first.expect("threw");
  CHECK(words.text("kind") == "StartFailed");
  CHECK_THAT(words.line(), Contains("without an answer"));
  take_what_was_started(ledger, directory);
}

TEST_CASE("a program may reap every child that it has", "[start][short]") {
  const OwnDirectory directory;
  const Ledger ledger;
  Process first = trainer(ledger.words(), {"reaps=yes", "threads=3"});
  static_cast<void>(first.expect("attached"));
  CHECK(ledger.runs() == 1);
  leave(first);
  end(ledger, directory);
}

TEST_CASE("who wants another recipe is no consumer, not even for a moment", "[start][short]") {
  const OwnDirectory directory;
  SyntheticRecipe recipe = SyntheticRecipe::parse("synthetic:8");
  recipe.seed = 1;
  recipe.samples_per_epoch = 10;
  ProducerOptions made;
  made.stream = "s";
  made.schema = {{"x", DType::u8, {8}}};
  made.memory = 1 << 16;
  made.samples_per_epoch = 10;
  made.epochs = 1;
  made.wait_for = 1;
  made.recipe_json = recipe.to_json();
  Producer producer(made);
  while (auto loan = producer.loan(10)) loan->publish();
  ConsumerOptions options;
  options.stream = "s";
  options.start = {.source = "synthetic:8",
                   .seed = 2,
                   .arguments = {"--samples=10"},
                   .command = "/proc/self/exe"};
  CHECK_THROWS_AS(Consumer(options), RecipeMismatch);
  CHECK(producer.stats().state == StreamState::starting);
  CHECK_FALSE(producer.finish(100));
  options.start.seed = 1;
  Consumer consumer(options);
  CHECK(consumer.next());
}
