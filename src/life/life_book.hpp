// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/data/maker.hpp>
#include "life/life.hpp"
#include "life/stand_ins.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// A producer's own life, and what is left of those before: who goes on with the next producer if
/// this one is killed. Keeps the life file. A disk that is full costs a warning, and no trainer its
/// place here. Belongs to the door's thread, except for what says otherwise.
class LifeBook final : public Substitutions {
 public:
  /// `directory`: the stream's. `life`: of this producer, without members.
  LifeBook(std::string directory, Life life, LogCallback log);

  /// The members of earlier lives that live, when this producer began, and where the stream was.
  /// Nothing where none lives, or where that stream was another.
  [[nodiscard]] const std::optional<Life>& before() const noexcept { return before_; }
  [[nodiscard]] bool is_alive(const LifeMember& member) const noexcept;

  /// A consumer that rides was admitted: writes the file, and returns the member's lock. Empty
  /// where there can be none. Then it does not keep its place, and the next producer knows it all
  /// the same.
  [[nodiscard]] FileDescriptor admit(LifeMember member);
  /// What the producer before was making when it was killed.
  void note_death(DiedAt died);
  /// It has published no more than earlier producers: that it does is to be noted at once.
  [[nodiscard]] bool is_to_pass() const noexcept { return !has_passed_; }
  /// It left, died or was evicted. A rank is noted as gone while others of its group are there:
  /// it had ended all epochs below `ended`.
  void remove(const MemberKey& key, RankLoss how = RankLoss::left, std::uint64_t ended = 0);
  /// An earlier producer's rank is gone, and others of its group came.
  void note_gone(LifeMember rank);
  /// Where the stream is, and each member. Writes the file at most once a second, where something
  /// moved or could not be written. Writes it at once where a member began a loop, or paused.
  void note(StreamPoint position, std::uint64_t epoch,
            const std::map<MemberKey, MemberPlace>& places, std::uint64_t now_ns);
  /// What the producers before this one were set to; empty for one that a person started.
  [[nodiscard]] const std::map<std::string, std::string>& settings() const noexcept {
    return settings_;
  }
  /// Writes them, unless those of a later change were written. From any thread.
  void keep_settings(const std::map<std::string, std::string>& settings, std::uint64_t change);
  /// Those of all lives. From any thread.
  [[nodiscard]] std::optional<std::uint64_t> at(std::uint64_t position) const override {
    return stand_ins_.at(position);
  }
  /// Writes it, where a consumer rides. From any thread.
  void decide(std::uint64_t position, std::uint64_t sample_id) override;
  /// No sample below that position is made again, unless a member that has not come needs it.
  void forget_decisions_below(std::uint64_t position);
  /// The stream came to its end, or was stopped: no producer goes on with it.
  void end() noexcept;

 private:
  // `mutex_` is held by the caller, who warns without it. A warning is empty for none.
  [[nodiscard]] std::string take_over();
  void go_on_with(Life last);
  void forget_the_dead(Life& last) const;
  [[nodiscard]] std::string add(LifeMember member) noexcept;
  [[nodiscard]] std::string write() noexcept;
  [[nodiscard]] std::string warning_of(const char* what, const std::exception& error);

  void warn(const std::string& warning) const;
  [[nodiscard]] std::string lock_name(const MemberKey& key) const;

  const std::string directory_;
  const LogCallback log_;
  std::map<std::string, std::string> settings_;  ///< of earlier producers
  std::optional<Life> before_;
  StandIns stand_ins_;
  std::atomic<bool> has_decided_{false};  ///< since the file was written
  std::mutex mutex_;                      ///< of what follows, and of the file
  Life life_;
  std::vector<LifeMember> earlier_;    ///< attachments to earlier producers that are not given up
  std::uint64_t settings_change_ = 0;  ///< that was written last
  std::uint64_t written_ns_ = 0;
  bool has_changed_ = false;
  bool has_passed_ = false;
  std::optional<StreamPoint> noted_;  ///< where this producer was last
  bool has_warned_ = false;
  bool has_ended_ = false;
};

}  // namespace batchcast::inline v0_1::detail
