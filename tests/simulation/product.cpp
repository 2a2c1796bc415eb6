// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// The writer's code as the simulation compiles it: over the seam of this folder, and with all
// mutants in it.
#include "ring/board.cpp"
#include "ring/writer/consumer_admission.cpp"
#include "ring/writer/consumer_table.cpp"
#include "ring/writer/epoch_ledger.cpp"
#include "ring/writer/join_rules.cpp"
#include "ring/writer/overwrite_gate.cpp"
#include "ring/writer/publisher.cpp"
#include "ring/writer/row_arenas.cpp"
#include "ring/writer/row_claimer.cpp"
#include "ring/writer/space_claimer.cpp"
#include "ring/writer/stall_watch.cpp"
#include "ring/writer/status.cpp"
#include "ring/writer/stream_outcome.cpp"
#include "ring/writer/ticket_queue.cpp"
#include "ring/writer/trainer_attendance.cpp"
#include "ring/writer/writer.cpp"
