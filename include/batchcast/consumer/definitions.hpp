// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

// The definitions of what attaches to a stream and reads it (core/inline.hpp). Public headers end
// with this one or with another room's definitions.hpp, and no other header includes a `.ipp` file:
// each of these may need the declarations of any other.
#include <batchcast/consumer/attached_process.ipp>
#include <batchcast/consumer/batch_filler.ipp>
#include <batchcast/consumer/batch_pool.ipp>
#include <batchcast/consumer/consumer_core.ipp>
#include <batchcast/consumer/delivery.ipp>
#include <batchcast/consumer/kept_batches.ipp>
#include <batchcast/consumer/mapped_ring.ipp>
#include <batchcast/consumer/membership.ipp>
#include <batchcast/consumer/observer.ipp>
#include <batchcast/consumer/private_writes.ipp>
#include <batchcast/consumer/producer_link.ipp>
#include <batchcast/consumer/stream_joiner.ipp>
#include <batchcast/consumer/wait_report.ipp>
#include <batchcast/core/cgroup.ipp>
#include <batchcast/core/file_descriptor.ipp>
#include <batchcast/core/group.ipp>
#include <batchcast/core/log.ipp>
#include <batchcast/core/named_thread.ipp>
#include <batchcast/core/nearest_name.ipp>
#include <batchcast/core/options.ipp>
#include <batchcast/core/placement.ipp>
#include <batchcast/core/printable.ipp>
#include <batchcast/core/process_end.ipp>
#include <batchcast/core/process_symbol.ipp>
#include <batchcast/core/schema.ipp>
#include <batchcast/core/text.ipp>
#include <batchcast/core/try_write.ipp>
#include <batchcast/join/absent_stream.ipp>
#include <batchcast/join/directory.ipp>
#include <batchcast/join/door.ipp>
#include <batchcast/join/message.ipp>
#include <batchcast/join/message_encode.ipp>
#include <batchcast/join/peer_identity.ipp>
#include <batchcast/join/refusal.ipp>
#include <batchcast/join/stream_lock.ipp>
#include <batchcast/join/trust.ipp>
#include <batchcast/join/unix_socket.ipp>
#include <batchcast/ring/board_check.ipp>
#include <batchcast/ring/capacity.ipp>
#include <batchcast/ring/epoch_receipt.ipp>
#include <batchcast/ring/fault_message.ipp>
#include <batchcast/ring/fork_guard.ipp>
#include <batchcast/ring/futex.ipp>
#include <batchcast/ring/group_state.ipp>
#include <batchcast/ring/lease_room.ipp>
#include <batchcast/ring/lease_table.ipp>
#include <batchcast/ring/mapping.ipp>
#include <batchcast/ring/memory.ipp>
#include <batchcast/ring/memory_left.ipp>
#include <batchcast/ring/populator.ipp>
#include <batchcast/ring/private_chunks.ipp>
#include <batchcast/ring/rank_reader.ipp>
#include <batchcast/ring/read_cursor.ipp>
#include <batchcast/ring/reader.ipp>
#include <batchcast/ring/spinner.ipp>
#include <batchcast/ring/stream_over.ipp>
#include <batchcast/ring/window.ipp>
