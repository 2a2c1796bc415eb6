// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Finding a stream and talking at its door.
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
