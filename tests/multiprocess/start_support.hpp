// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "process.hpp"

#include <sys/types.h>

#include <string>
#include <vector>

// Trainers that start their stream themselves, and what they start: this program, as it behaves
// when it is run as a command.
namespace batchcast::testing {

/// Where the started producers of a test write what they do, a line each, and what they wait for.
class Ledger {
 public:
  Ledger() = default;
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  /// Words for a `self_starter`, which hands them on to what it starts.
  [[nodiscard]] std::vector<std::string> words() const;
  /// The same, for producers that go no further than their start until the gate is opened.
  [[nodiscard]] std::vector<std::string> words_with_gate() const;
  void open_gate() const;
  /// Whoever serves ends.
  void end_all() const;

  /// Lines that begin so: `runs pid=…` of each that was started, `serves pid=…` of each that came
  /// to serve.
  [[nodiscard]] std::vector<Words> lines(const std::string& beginning) const;
  [[nodiscard]] std::size_t runs() const { return lines("runs").size(); }
  /// Once there is one.
  [[nodiscard]] Words serving() const;
  /// Waits until all that were started are gone; false if they stay.
  [[nodiscard]] bool all_gone(int timeout_ms = 10'000) const;

 private:
  TemporaryFolder directory_;
};

/// A `self_starter` in a process of its own: says `attached`, reads, and leaves when it is told
/// `leave`; says `threw kind=…` where that fails, and `waits` and `starts` before.
[[nodiscard]] Process trainer(const std::vector<std::string>& words,
                              const std::vector<std::string>& more = {});

/// Another trainer waits for what is at the gate, gets it, and ends it: nothing else is started.
void take_what_was_started(const Ledger& ledger, const OwnDirectory& directory);

/// Tells it to leave, and waits until it has.
void leave(Process& trainer);
/// Once the producers have gone, which need not be told, nothing is left of them.
void check_nothing_stays(const Ledger& ledger, const OwnDirectory& directory);
/// Whoever serves ends, and nothing is left.
void end(const Ledger& ledger, const OwnDirectory& directory);

[[nodiscard]] bool runs(pid_t pid);
/// Of a process that is there; 0 otherwise.
[[nodiscard]] pid_t parent_of(pid_t pid);

}  // namespace batchcast::testing
