// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Attachments and what they hand out.
#include <batchcast/consumer/attachment.ipp>
#include <batchcast/consumer/attachment_batches.ipp>
#include <batchcast/consumer/attachment_fields.ipp>
#include <batchcast/consumer/attachment_newest.ipp>
#include <batchcast/consumer/attachment_release.ipp>
#include <batchcast/consumer/checkpoint.ipp>
#include <batchcast/consumer/consumer.ipp>
#include <batchcast/consumer/delivery.ipp>
#include <batchcast/consumer/release_poller.ipp>
#include <batchcast/consumer/start.ipp>
#include <batchcast/consumer/start_attach.ipp>
#include <batchcast/consumer/start_command.ipp>
#include <batchcast/consumer/start_process.ipp>
