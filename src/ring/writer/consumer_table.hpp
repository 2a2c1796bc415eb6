// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/cursor.hpp>
#include "ring/writer/consumer_record.hpp"
#include "ring/writer/joining.hpp"
#include "ring/writer/pending_wakes.hpp"
#include "ring/writer/ticket_queue.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace batchcast::inline v0_1 {

/// The consumers that are attached: their records here, their entries on the board and the words on
/// their desks. Knows where each stands; decides nothing. Belongs to the RingWriter, under its
/// admission lock.
class ConsumerTable {
 public:
  static constexpr std::size_t none = ~std::size_t{0};

  /// `ledger` and `tickets` outlive the table.
  ConsumerTable(Board board, const EpochLedger& ledger, const TicketQueue& tickets,
                std::uint64_t first_consumer_id) noexcept;

  /// A record stays where it is until the next `add` or `remove`.
  [[nodiscard]] std::vector<ConsumerRecord>& records() noexcept { return records_; }
  [[nodiscard]] const std::vector<ConsumerRecord>& records() const noexcept { return records_; }
  /// Null if there is none.
  [[nodiscard]] ConsumerRecord* find(std::uint32_t index, std::uint64_t consumer_id) noexcept;
  /// Consumers but observers and mirrors, paused ones too.
  [[nodiscard]] std::uint32_t trainers() const noexcept;
  /// The same, with each group of ranks as one.
  [[nodiscard]] std::uint32_t jobs() const noexcept;

  /// The first entry of the board that is free.
  [[nodiscard]] std::optional<std::uint32_t> free_entry() const noexcept;
  [[nodiscard]] std::uint32_t entries() const noexcept;
  /// The consumer counts from here on. `desk` is zeroed, and the consumer has not seen it yet.
  const ConsumerRecord& add(const AdmitRequest& request, std::uint32_t index, bool paused,
                            StartPoint start, std::shared_ptr<Desk> desk);
  /// Takes its consumer id off the board; only then may what it held be overwritten.
  void remove(std::size_t at) noexcept;
  void pause(ConsumerRecord& consumer) noexcept;
  /// Ends its pause, and writes on its desk where it begins.
  void resume(ConsumerRecord& consumer, StartPoint start) noexcept;

  /// Takes over what the consumer's desk says, or returns what is wrong with it.
  [[nodiscard]] std::string validate(ConsumerRecord& consumer) const;
  /// What its desk was last accepted to say. Nothing while it skips an epoch whose end is not
  /// known: it does not gate then.
  [[nodiscard]] std::optional<std::uint64_t> position_of(
      const ConsumerRecord& consumer) const noexcept;

  /// How far it was given samples that are published, or has passed over them, as its desk says; 0
  /// where it was never given any.
  [[nodiscard]] std::uint64_t read_to(const ConsumerRecord& consumer) const noexcept;

  /// Puts that on the rank's entry, and wakes it.
  void tell(const ConsumerRecord& consumer, const GroupNews& news) noexcept;

  /// A consumer that is not paused, and no mirror, is attached.
  [[nodiscard]] bool has_demand() const noexcept;
  /// Each consumer that is not paused stands at what is published, or beyond. `to_the_end`: and
  /// each rank of a group has told of the end of the last epoch, which is published.
  [[nodiscard]] bool all_have_read(bool to_the_end) const noexcept;

  /// Bumps the wake words of the consumers that sleep for a position that is published now.
  void wake_reached(PendingWakes& wakes) noexcept;
  /// Bumps those of all that sleep.
  void wake_all(PendingWakes& wakes) noexcept;

 private:
  [[nodiscard]] std::string unique_name(const std::string& wanted) const;

  Board board_;
  const EpochLedger& ledger_;
  const TicketQueue& tickets_;
  std::vector<ConsumerRecord> records_;
  std::uint64_t next_consumer_id_;
};

}  // namespace batchcast::inline v0_1
