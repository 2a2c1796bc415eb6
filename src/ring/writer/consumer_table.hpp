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

/// The attached consumers: their records here, their entries on the board and the words on their
/// desks. It knows where each stands, and decides nothing. Belongs to the RingWriter, under its
/// admission lock.
class ConsumerTable {
 public:
  static constexpr std::size_t none = ~std::size_t{0};

  /// `ledger` and `tickets` must outlive the table.
  ConsumerTable(Board board, const EpochLedger& ledger, const TicketQueue& tickets,
                std::uint64_t first_consumer_id) noexcept;

  /// A record stays where it is until the next `add` or `remove`.
  [[nodiscard]] std::vector<ConsumerRecord>& records() noexcept { return records_; }
  [[nodiscard]] const std::vector<ConsumerRecord>& records() const noexcept { return records_; }
  /// Null if there is none.
  [[nodiscard]] ConsumerRecord* find(std::uint32_t index, std::uint64_t consumer_id) noexcept;
  /// The number of consumers, paused ones too, without observers and mirrors.
  [[nodiscard]] std::uint32_t trainers() const noexcept;
  /// The same, with each group of ranks as one.
  [[nodiscard]] std::uint32_t jobs() const noexcept;

  /// The first entry of the board that is free.
  [[nodiscard]] std::optional<std::uint32_t> free_entry() const noexcept;
  [[nodiscard]] std::uint32_t entries() const noexcept;
  /// Adds a consumer, which counts from here on. `desk` is zeroed and not yet seen by it.
  const ConsumerRecord& add(const AdmitRequest& request, std::uint32_t index, bool paused,
                            StartPoint start, std::shared_ptr<Desk> desk);
  /// Takes its consumer id off the board. Only then may the producer overwrite what it held.
  void remove(std::size_t at) noexcept;
  void pause(ConsumerRecord& consumer) noexcept;
  /// Ends a consumer's pause, and writes where it begins on its desk.
  void resume(ConsumerRecord& consumer, StartPoint start) noexcept;

  /// Takes over what the consumer's desk says, or returns what is wrong with it.
  [[nodiscard]] std::string validate(ConsumerRecord& consumer) const;
  [[nodiscard]] std::uint64_t released_from(StartPoint start) const noexcept;
  /// The position last accepted from its desk. Nothing while it skips an epoch whose end is not
  /// known: it does not gate then.
  [[nodiscard]] std::optional<std::uint64_t> position_of(
      const ConsumerRecord& consumer) const noexcept;

  /// How far its desk says that it received or skipped published samples; 0 where it never did.
  [[nodiscard]] std::uint64_t read_to(const ConsumerRecord& consumer) const noexcept;

  /// The full ring has waited that long for this consumer, if it is still there.
  void note_wait_for(std::uint64_t consumer_id, std::uint64_t ns) noexcept;
  /// Samples that the trainers had, those too that have left. A desk is believed as far as the
  /// stream has published samples.
  [[nodiscard]] std::uint64_t delivered() const noexcept;

  /// Puts the news on the rank's entry, and wakes it.
  void tell(const ConsumerRecord& consumer, const GroupNews& news) noexcept;

  /// Whether a consumer is attached that is neither paused nor a mirror.
  [[nodiscard]] bool has_demand() const noexcept;
  /// Whether each consumer that is not paused stands at the end of what is published, or beyond.
  /// `to_the_end`: and each rank of a group has reported the end of the last epoch, which is
  /// published.
  [[nodiscard]] bool all_have_read(bool to_the_end) const noexcept;

  /// Bumps the wake words of the consumers that sleep for a position that is published now.
  void wake_reached(PendingWakes& wakes) noexcept;
  /// Bumps the wake words of all that sleep.
  void wake_all(PendingWakes& wakes) noexcept;

 private:
  [[nodiscard]] std::string unique_name(const std::string& wanted) const;
  [[nodiscard]] std::uint64_t had_by(const ConsumerRecord& consumer) const noexcept;

  Board board_;
  const EpochLedger& ledger_;
  const TicketQueue& tickets_;
  std::vector<ConsumerRecord> records_;
  std::uint64_t next_consumer_id_;
  std::uint64_t had_by_those_gone_ = 0;
};

}  // namespace batchcast::inline v0_1
