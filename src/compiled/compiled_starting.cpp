// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Starting a stream.
#include <batchcast/starting/start.ipp>
#include <batchcast/starting/start_attach.ipp>
#include <batchcast/starting/start_command.ipp>
#include <batchcast/starting/start_process.ipp>
