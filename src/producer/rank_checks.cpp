// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/rank_checks.hpp"

#include <batchcast/core/text.hpp>
#include "producer/reception.hpp"

#include <cstddef>
#include <utility>

namespace batchcast::inline v0_1::detail {

std::string RankChecks::stream_text() const {
  return text("batchcast: stream `{}`: ", options_.stream);
}

std::optional<Refusal> RankChecks::refusal_of(const Hello& hello, ServedRing& ring) {
  const auto refused = [&](std::string why, RefusalKind kind = RefusalKind::group) {
    return Refusal{kind, stream_text() + std::move(why)};
  };
  if (hello.resumes) return refusal_of_share(hello, ring);
  // A rank does not wait for others where none would be admitted.
  if (const auto none = ring.writer().refusal_of_newcomers()) {
    return refused(refusal_text_of(*none), refusal_kind_of(none->reason));
  }
  if (auto refusal = refusal_of_share(hello, ring)) return refusal;
  if (auto taken = groups_.refusal_of(hello.group)) return refused(taken->text, taken->kind);
  const std::uint64_t places = options_.max_consumers;
  if (forming_.count() >= places && !forming_.would_complete(hello)) {
    return refused(text("as many ranks of groups wait as there are places for consumers ({}). "
                        "Start the producer with a larger --max-consumers",
                        places),
                   RefusalKind::full);
  }
  if (auto conflict = forming_.conflict(hello)) return refused(std::move(*conflict));
  return std::nullopt;
}

/// What its group cannot have here, with any other ranks.
std::optional<Refusal> RankChecks::refusal_of_share(const Hello& hello, ServedRing& ring) const {
  const std::string whole_text =
      text("{} ranks with batches of {} samples", hello.world, hello.batch_size);
  const auto refused = [&](std::string why, RefusalKind kind = RefusalKind::group) {
    return Refusal{kind, stream_text() + std::move(why)};
  };
  if (hello.group.empty()) return refused("a group of ranks has a name");
  if (hello.pace != Pace::lockstep || hello.between_epochs != BetweenEpochs::hold ||
      hello.observes) {
    return refused(
        text("the ranks of group `{}` get parts of the same batches, so they take part in "
             "`lockstep` and `hold` their places between epochs",
             hello.group));
  }
  const std::uint64_t places = options_.max_consumers;
  if (hello.world > places) {
    return refused(
        text("group `{}` has {} ranks, and the stream {} places for consumers. Start the producer "
             "with a larger --max-consumers",
             hello.group, hello.world, places));
  }
  const std::uint64_t whole = hello.batch_size * hello.world;
  if (whole > ring.capacity()) {
    return refused(text("{} take {} at a time, which do not fit into the ring: it spans {}. Serve "
                        "it with {} or more, or ask for smaller batches",
                        whole_text, whole, ring.capacity(), ring.memory_option_for(whole)),
                   RefusalKind::ring_too_small);
  }
  const std::uint64_t epoch = options_.samples_per_epoch;
  if (epoch != 0 && whole > epoch) {
    return refused(text(
        "{} take {} at a time, and an epoch has only {}. Ask for smaller batches, or fewer ranks",
        whole_text, whole, epoch));
  }
  return std::nullopt;
}

void RankChecks::note_refused(const Hello& hello, std::uint32_t pid, const std::string& why) {
  constexpr std::size_t remembered_max = 256;
  forming_.note_refused(hello, why);
  if (refusals_said_.size() >= remembered_max) refusals_said_.clear();
  if (!refusals_said_.insert({hello.group, why}).second) return;
  log_(LogLevel::info,
       text("rank {} of group `{}` (pid {}) was refused: {}", hello.rank, hello.group, pid, why));
}

void RankChecks::refuse_if_over(ServedRing& host, std::vector<RankNews>& news) {
  const auto over = host.writer().refusal_of_newcomers();
  if (!over || over->reason == NotAdmitted::Reason::full) return;  // places may become free
  for (const WaitingRank& rank : forming_.take_all()) {
    news.push_back(
        {rank.key, Refusal{refusal_kind_of(over->reason), stream_text() + refusal_text_of(*over)}});
  }
}

bool RankChecks::refuse_taken(const std::vector<WaitingRank>& ranks, std::vector<RankNews>& news) {
  const auto taken = groups_.refusal_of(ranks.front().hello.group);
  if (!taken) return false;
  for (const WaitingRank& rank : ranks) {
    news.push_back({rank.key, Refusal{taken->kind, stream_text() + taken->text}});
  }
  return true;
}

Refusal RankChecks::broken(const std::string& group, const std::string& why) const {
  return {RefusalKind::group_broke,
          text("{}group `{}` is broken: {}. Attach all its ranks again to go on", stream_text(),
               group, why)};
}

std::optional<Refusal> RankChecks::refusal_if_read_all(const Hello& hello) const {
  const std::uint64_t length = options_.samples_per_epoch;
  const bool ends = options_.epochs != 0 && length != 0 && hello.join == Join::at;
  if (!ends || hello.cursor / length < options_.epochs) return std::nullopt;
  return Refusal{RefusalKind::finished,
                 stream_text() + "this rank has read the last epoch to its end"};
}

Refusal RankChecks::refusal_of_late(const Hello& hello) const {
  if (auto finished = refusal_if_read_all(hello)) return std::move(*finished);
  const auto lost = groups_.lost_of(hello.group);
  return broken(hello.group, lost
                                 ? lost->text()
                                 : "this producer does not know where its ranks were, as they came "
                                   "one after the other and no life file has them");
}

}  // namespace batchcast::inline v0_1::detail
