// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/clock.hpp>
#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/producer.hpp>
#include "door/door_server.hpp"
#include "producer/batch_counter.hpp"
#include "producer/forming_groups.hpp"
#include "producer/grid_checks.hpp"
#include "producer/head_places.hpp"
#include "producer/hello_checks.hpp"
#include "producer/life_notes.hpp"
#include "producer/rank_checks.hpp"
#include "producer/returning_groups.hpp"
#include "producer/returning_members.hpp"
#include "producer/sample_rate.hpp"
#include "producer/seated_groups.hpp"
#include "producer/served_rings.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace batchcast::inline v0_1::detail {

[[nodiscard]] RefusalKind refusal_kind_of(NotAdmitted::Reason reason) noexcept;
/// The part of the refusal that follows the stream's name.
[[nodiscard]] std::string refusal_text_of(const NotAdmitted& why);

/// The producer's side of the door server. It admits consumers to the ring that they name, and
/// notes their pauses and their end.
class Reception final : public DoorEvents {
 public:
  /// All members must outlive it. Throws SystemError.
  struct Parts {
    const ProducerOptions& options;
    ServedRings& rings;
    SampleRate& rate;  ///< kept up to date by `tick`
    LogCallback log;
    LifeBook* life = nullptr;  ///< of a stream that can be made again
  };
  explicit Reception(Parts parts);

  [[nodiscard]] AdmissionReply admit(const Hello& hello, const PeerIdentity& peer) override;
  void left(ConsumerKey key, Leaving how) override;
  [[nodiscard]] std::variant<Rejoined, Refusal> rejoin(ConsumerKey key,
                                                       const Rejoin& rejoin) override;
  void paused(ConsumerKey key) override;
  void count_batches(ConsumerKey key, const CountBatches& request) override {
    counter_.ask(key, request, now_ns());
  }
  void epoch_ended(ConsumerKey key, const EpochEnd& end) override;
  [[nodiscard]] std::vector<RankNews> take_news() override;
  void tick() override;
  [[nodiscard]] bool has_work() const noexcept override { return counter_.has_work(); }
  void work() override { counter_.work(now_ns); }
  void door_lost() override;

  /// May be called from any thread.
  [[nodiscard]] std::vector<FormingGroup> forming() const { return forming_.list(); }
  [[nodiscard]] bool has_waiting_ranks() const { return forming_.count() != 0; }
  /// Trainers of an earlier producer are to come.
  [[nodiscard]] bool awaits_members() const noexcept { return awaits_members_.load(); }
  /// The names of those that have not come, and whose places are kept.
  [[nodiscard]] std::set<std::string> missing() const {
    const std::lock_guard lock(mutex_);
    return missing_;
  }

 private:
  friend struct Attendance;
  friend struct HeadReception;
  friend struct LateReception;

  /// Where a consumer stands.
  struct Seat {
    ServedRing& ring;
    std::uint32_t index = 0;
    std::string name;  ///< the consumer's
    bool observes = false;
    BetweenEpochs between_epochs = BetweenEpochs::hold;
    std::uint32_t pid = 0;
  };

  /// A consumer that was admitted, and its welcome.
  struct Seated {
    ServedRing* ring = nullptr;
    Admitted admitted = {};
    Admission admission = {};
  };
  /// A member of an earlier life that has not come, and the place that is kept for it.
  struct Absent {
    LifeMember member;
    Seated seated;
  };
  /// Where the ranks of a group begin: where the first of them does.
  struct GroupStart {
    std::size_t first = 0;  ///< of the ranks
    Join join = Join::rewind;
    ServedRing* head = nullptr;  ///< all begin there; null: each in the ring that it names
  };

  /// Puts the position in the place of its cursor, where these differ.
  [[nodiscard]] std::optional<Refusal> refusal_of(Hello& hello);
  [[nodiscard]] AdmitRequest request_of(const Hello& hello, std::uint32_t pid) const;
  /// `reading`: of a rank that returns, the epoch that it may be in, + 1.
  [[nodiscard]] std::variant<Seated, Refusal> seat(ServedRing& ring, const AdmitRequest& request,
                                                   std::uint64_t reading = 0);
  [[nodiscard]] std::variant<Admitted, Refusal> let_in(ServedRing& ring,
                                                       const AdmitRequest& request,
                                                       std::shared_ptr<Desk> desk);
  void take_out(const Seated& seated);
  void expect_members();
  [[nodiscard]] AdmissionReply wait_with_members(const Hello& hello, std::uint32_t pid);
  void admit_returning(std::vector<RankNews>& news);
  [[nodiscard]] decltype(RankNews::said) admitted_again(const WaitingHello& waiting,
                                                        ReturningGroups& groups);
  void keep_place(const LifeMember& member, std::uint64_t position, ReturningGroups& groups);
  void seat_groups(const ReturningGroups& groups);
  [[nodiscard]] std::optional<AdmissionReply> take_kept_place(const Hello& hello,
                                                              std::uint32_t pid);
  void look_after_absent();
  void set_missing(const std::string& name, bool is_missing);
  void note_member(Seated& seated, const Hello& hello, std::uint32_t pid);
  void admit_group(const std::vector<WaitingRank>& ranks, std::vector<RankNews>& news);
  [[nodiscard]] std::optional<Refusal> seat_ranks(const std::vector<WaitingRank>& ranks,
                                                  const GroupStart& start,
                                                  std::vector<Seated>& seats);
  void refuse_group(const std::vector<WaitingRank>& ranks, const Refusal& refusal,
                    std::vector<RankNews>& news);
  [[nodiscard]] Admission welcomed(const Admitted& admitted, ServedRing& ring) const;
  [[nodiscard]] std::optional<Seat> seat_of(ConsumerKey key) const;
  /// How messages of this stream begin.
  [[nodiscard]] std::string stream_text() const;

  const Parts parts_;
  const HelloChecks checks_;
  const GridChecks grid_checks_;
  const FileDescriptor pidfd_;  ///< this process's, for consumers

  mutable std::mutex mutex_;  ///< of the next two
  std::map<ConsumerKey, Seat> seats_;
  std::set<std::string> missing_;  ///< the names of those in `absent_`

  LifeNotes life_;
  ReturningMembers returning_;
  std::map<MemberKey, Absent> absent_;
  std::atomic<bool> awaits_members_{false};
  FormingGroups forming_;
  SeatedGroups groups_;
  RankChecks rank_checks_;
  BatchCounter counter_;
  HeadPlaces head_places_;
};

}  // namespace batchcast::inline v0_1::detail
