// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "ring/writer/join_rules.hpp"
#include "ring/writer/publisher.hpp"
#include "ring/writer/writer_state.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace batchcast::inline v0_1 {

/// Admits consumers and mirrors, pauses them, and removes or evicts them. Belongs to the
/// RingWriter, which holds the admission lock around each call but `tell`. Functions named like a
/// RingWriter's have the contract that stands there.
class ConsumerAdmission {
 public:
  /// An eviction that the writer decided.
  struct Eviction {
    std::uint64_t consumer_id;
    std::string reason;
  };

  /// Both must outlive this.
  ConsumerAdmission(WriterState& state, Publisher& publisher) noexcept
      : state_(state), publisher_(publisher), rules_(state) {}

  [[nodiscard]] std::variant<Admitted, NotAdmitted> admit(const AdmitRequest& request,
                                                          std::shared_ptr<Desk> desk,
                                                          PendingWakes& wakes);
  [[nodiscard]] std::optional<NotAdmitted> refusal_of_newcomers() const;
  bool evict(std::uint32_t index, std::uint64_t consumer_id) noexcept;
  void pause(std::uint32_t index, std::uint64_t consumer_id) noexcept;
  [[nodiscard]] std::variant<std::uint64_t, NotAdmitted> resume(std::uint32_t index,
                                                                std::uint64_t consumer_id,
                                                                Join join, std::uint64_t cursor);
  [[nodiscard]] std::variant<MirrorStart, NotAdmitted> resume_mirror(std::uint32_t index,
                                                                     std::uint64_t consumer_id,
                                                                     const MirrorRequest& request);

  [[nodiscard]] RingOutlook outlook(std::uint64_t cursor);
  [[nodiscard]] bool go_to(std::uint64_t position);

  /// Nothing is published any more, and every consumer has read all that was. If the stream came to
  /// its end, it has also had a consumer.
  [[nodiscard]] bool all_is_read();

  /// Takes over what the desks say. Evicts each consumer whose desk holds an impossible value.
  void evict_offenders();
  /// The same, and then finds the gate's limit.
  void refresh_gate();
  /// Evicts the consumer at this place of the table.
  void evict_at(std::size_t at, std::string reason);

  [[nodiscard]] bool has_evictions() const noexcept { return !evictions_.empty(); }
  /// The evictions that `tell` has to be called for.
  [[nodiscard]] std::vector<Eviction> take_evictions() noexcept;
  /// Calls `on_evicted` for each. Call it without the lock.
  void tell(const std::vector<Eviction>& evictions) const;

 private:
  [[nodiscard]] std::variant<std::uint32_t, NotAdmitted> free_entry() const;
  [[nodiscard]] std::optional<NotAdmitted> refusal_of_place(StartPoint place) const;
  [[nodiscard]] std::variant<JoinRules::Start, NotAdmitted> start(Join join, std::uint64_t cursor,
                                                                  JoinRules::Bounds bounds,
                                                                  const char* ended);
  [[nodiscard]] std::variant<std::uint64_t, NotAdmitted> expect_trainer(Join join,
                                                                        std::uint64_t cursor);
  void remove_at(std::size_t at) noexcept;
  [[nodiscard]] std::variant<std::uint64_t, NotAdmitted> move(std::uint32_t index,
                                                              std::uint64_t consumer_id,
                                                              std::uint64_t cursor);
  void let_in(ConsumerRecord& consumer, StartPoint start) noexcept;

  WriterState& state_;
  Publisher& publisher_;
  JoinRules rules_;
  std::vector<Eviction> evictions_;
};

}  // namespace batchcast::inline v0_1
