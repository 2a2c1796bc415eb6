// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "ring/writer/consumer_table.hpp"
#include "ring/writer/epoch_ledger.hpp"
#include "ring/writer/overwrite_gate.hpp"
#include "ring/writer/producer_wake.hpp"
#include "ring/writer/row_arenas.hpp"
#include "ring/writer/stream_outcome.hpp"
#include "ring/writer/ticket_queue.hpp"
#include "ring/writer/trainer_attendance.hpp"
#include "ring/writer/writer_options.hpp"

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1 {

/// The parts of a RingWriter, and the lock that guards them. The classes that change them need the
/// lock held: Publisher, ConsumerAdmission, SpaceClaimer.
struct WriterState {
  WriterState(Board shared, WriterOptions chosen)
      : board(shared),
        options(std::move(chosen)),
        ledger(board, options.samples_per_epoch, options.epochs, options.start),
        rows(board, options.row_tables, options.start),
        tickets(board, ledger, rows, options.start),
        consumers(board, ledger, tickets, options.first_consumer_id),
        outcome(board),
        attendance(ledger, consumers, outcome, options.wait_for),
        gate(options, ledger, tickets, consumers, attendance) {}
  WriterState(const WriterState&) = delete;
  WriterState& operator=(const WriterState&) = delete;

  /// Call it without the lock: the callback may have to wait for what it writes to.
  void log(LogLevel level, const std::string& text) const {
    if (options.log) options.log(level, text);
  }

  /// Says on the board how many trainers the first publication waits for.
  void show_to_come() noexcept {
    ordered::set(board.progress().consumers_to_come, attendance.to_come());
  }

  mutable Mutex mutex;  ///< the admission lock
  Board board;
  WriterOptions options;
  EpochLedger ledger;
  RowArenas rows;
  TicketQueue tickets;
  ConsumerTable consumers;
  StreamOutcome outcome;
  TrainerAttendance attendance;
  OverwriteGate gate;
  ProducerWake wake;
  bool awaits_members = false;      ///< nothing is granted: RingWriter::await_members
  std::vector<std::string> untold;  ///< for the log, once the lock is released
};

}  // namespace batchcast::inline v0_1
