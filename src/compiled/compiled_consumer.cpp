// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Attaching to a stream, and its batches.
#include <batchcast/consumer/attached_process.ipp>
#include <batchcast/consumer/batch_filler.ipp>
#include <batchcast/consumer/batch_pool.ipp>
#include <batchcast/consumer/consumer_core.ipp>
#include <batchcast/consumer/core_handover.ipp>
#include <batchcast/consumer/delivery.ipp>
#include <batchcast/consumer/kept_batches.ipp>
#include <batchcast/consumer/mapped_ring.ipp>
#include <batchcast/consumer/member_lock.ipp>
#include <batchcast/consumer/membership.ipp>
#include <batchcast/consumer/observer.ipp>
#include <batchcast/consumer/private_writes.ipp>
#include <batchcast/consumer/producer_link.ipp>
#include <batchcast/consumer/rider.ipp>
#include <batchcast/consumer/stream_joiner.ipp>
#include <batchcast/consumer/successor_search.ipp>
#include <batchcast/consumer/wait_report.ipp>
