// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/message.hpp>

#include <batchcast/core/inline.hpp>
#include <batchcast/join/record_writer.hpp>

// Writes a consumer's messages into records; message.ipp reads a producer's.
namespace batchcast::inline v0_1 {
BATCHCAST_INLINE std::string encode(const Hello& hello) {
  auto record = detail::message_encode::blank<HelloRecord>(hello.layout_version);
  record.batch_size = hello.batch_size;
  record.cursor = hello.join == Join::at ? hello.cursor : 0;
  record.pid = static_cast<std::uint32_t>(hello.pid);
  record.pace = static_cast<std::uint32_t>(hello.pace);
  record.join = static_cast<std::uint32_t>(hello.join);
  record.between_epochs = static_cast<std::uint32_t>(hello.between_epochs);
  record.observes = hello.observes ? 1 : 0;
  detail::message_encode::put_name(record.name, hello.name);
  detail::message_encode::put_name(record.placement, hello.placement);
  detail::message_encode::put_name(record.group, hello.group);
  record.rank = hello.rank;
  record.world = hello.world;
  record.tail = static_cast<std::uint32_t>(hello.tail);
  return detail::message_encode::to_datagram(record);
}

BATCHCAST_INLINE std::string encode(const Pause&) {
  return detail::message_encode::to_datagram(detail::message_encode::blank<PauseRecord>());
}

BATCHCAST_INLINE std::string encode(const Rejoin& rejoin) {
  auto record = detail::message_encode::blank<RejoinRecord>();
  record.join = static_cast<std::uint32_t>(rejoin.join);
  record.cursor = rejoin.join == Join::at ? rejoin.cursor : 0;
  return detail::message_encode::to_datagram(record);
}

BATCHCAST_INLINE std::string encode(const Bye&) {
  return detail::message_encode::to_datagram(detail::message_encode::blank<ByeRecord>());
}

BATCHCAST_INLINE std::string encode(const EpochEnd& end) {
  auto record = detail::message_encode::blank<EpochEndRecord>();
  record.epoch = end.epoch;
  record.position = end.position;
  record.count = end.count;
  record.hash = end.hash;
  record.known = end.known ? 1 : 0;
  record.early = end.early ? 1 : 0;
  return detail::message_encode::to_datagram(record);
}

}  // namespace batchcast::inline v0_1
