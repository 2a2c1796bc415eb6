// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/producer.hpp>
#include "door/door_server.hpp"
#include "producer/forming_groups.hpp"
#include "producer/sample_rate.hpp"
#include "producer/seated_groups.hpp"
#include "producer/served_rings.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
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
  };
  explicit Reception(Parts parts);

  [[nodiscard]] AdmissionReply admit(const Hello& hello, const PeerIdentity& peer) override;
  void left(ConsumerKey key, Leaving how) override;
  [[nodiscard]] std::variant<Rejoined, Refusal> rejoin(ConsumerKey key,
                                                       const Rejoin& rejoin) override;
  void paused(ConsumerKey key) override;
  void epoch_ended(ConsumerKey key, const EpochEnd& end) override;
  [[nodiscard]] std::vector<RankNews> take_news() override;
  void tick() override;
  void door_lost() override;

  /// May be called from any thread.
  [[nodiscard]] std::vector<FormingGroup> forming() const { return forming_.list(); }
  [[nodiscard]] bool has_waiting_ranks() const { return forming_.count() != 0; }

 private:
  /// Where a consumer stands.
  struct Seat {
    ServedRing& ring;
    std::uint32_t index = 0;
    std::string name;  ///< the consumer's
  };

  /// A consumer that was admitted, and its welcome.
  struct Seated {
    ServedRing* ring = nullptr;
    Admitted admitted = {};
    Admission admission = {};
  };
  /// Where the ranks of a group begin: where the first of them does.
  struct GroupStart {
    std::size_t first = 0;  ///< of the ranks
    Join join = Join::rewind;
  };

  [[nodiscard]] std::optional<Refusal> refusal_of(const Hello& hello);
  [[nodiscard]] std::optional<Refusal> refusal_of_rank(const Hello& hello, ServedRing& ring);
  void note_refused_rank(const Hello& hello, std::uint32_t pid, const std::string& why);
  [[nodiscard]] Refusal not_served_at(const std::string& placement) const;
  [[nodiscard]] Refusal too_large(std::uint64_t batch_size, const ServedRing& ring) const;
  [[nodiscard]] AdmitRequest request_of(const Hello& hello, std::uint32_t pid) const;
  [[nodiscard]] std::variant<Seated, Refusal> seat(ServedRing& ring, const AdmitRequest& request);
  [[nodiscard]] std::variant<Admitted, Refusal> let_in(ServedRing& ring,
                                                       const AdmitRequest& request,
                                                       std::shared_ptr<Desk> desk);
  void take_out(const Seated& seated);
  void refuse_if_over(std::vector<RankNews>& news);
  void admit_group(const std::vector<WaitingRank>& ranks, std::vector<RankNews>& news);
  [[nodiscard]] std::optional<Refusal> seat_group(const std::vector<WaitingRank>& ranks,
                                                  const GroupStart& start,
                                                  std::vector<Seated>& seats);
  [[nodiscard]] Admission welcomed(const Admitted& admitted, ServedRing& ring) const;
  [[nodiscard]] std::string note_of_wait(const Admitted& admitted) const;
  [[nodiscard]] std::optional<Seat> seat_of(ConsumerKey key) const;
  /// How messages of this stream begin.
  [[nodiscard]] std::string stream_text() const;

  const Parts parts_;
  const FileDescriptor pidfd_;  ///< this process's, for consumers

  mutable std::mutex mutex_;  ///< of the next one
  std::map<ConsumerKey, Seat> seats_;

  FormingGroups forming_;
  std::set<std::pair<std::string, std::string>> refusals_said_;  ///< a group, and why
  SeatedGroups groups_;
};

}  // namespace batchcast::inline v0_1::detail
