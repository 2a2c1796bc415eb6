// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// The reader's code as the simulation compiles it.
#include <batchcast/core/group.ipp>
#include <batchcast/core/options.ipp>
#include <batchcast/core/placement.ipp>
#include <batchcast/core/printable.ipp>
#include <batchcast/core/text.ipp>
#include <batchcast/ring/epoch_receipt.ipp>
#include <batchcast/ring/futex.ipp>
#include <batchcast/ring/group_state.ipp>
#include <batchcast/ring/lease_room.ipp>
#include <batchcast/ring/lease_table.ipp>
#include <batchcast/ring/look_ahead.ipp>
#include <batchcast/ring/rank_reader.ipp>
#include <batchcast/ring/read_cursor.ipp>
#include <batchcast/ring/reader.ipp>
#include <batchcast/ring/reader_handover.ipp>
#include <batchcast/ring/row_cut.ipp>
#include <batchcast/ring/row_reading.ipp>
#include <batchcast/ring/spinner.ipp>
#include <batchcast/ring/stream_over.ipp>
#include <batchcast/ring/window.ipp>
#include <batchcast/ring/window_cut.ipp>
