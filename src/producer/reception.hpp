// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/producer.hpp>
#include "door/server.hpp"
#include "producer/sample_rate.hpp"
#include "producer/served_rings.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

namespace batchcast::inline v0_1::detail {

/// What the door server asks of a producer: admits consumers to the ring that they name, and takes
/// note of their pauses and of their end.
class Reception final : public DoorEvents {
 public:
  /// All of them outlive it. Throws SystemError.
  struct Parts {
    const ProducerOptions& options;
    ServedRings& rings;
    SampleRate& rate;  ///< kept up to date by `tick`
    LogCallback log;
  };
  explicit Reception(Parts parts);

  [[nodiscard]] AdmissionReply admit(const Hello& hello, const PeerIdentity& peer) override;
  void left(ConsumerKey key, Leaving how) override;
  [[nodiscard]] std::variant<Rejoined, Refusal> rejoin(ConsumerKey key,
                                                       const Rejoin& rejoin) override;
  void paused(ConsumerKey key) override;
  void tick() override;

 private:
  /// Where a consumer stands.
  struct Seat {
    ServedRing& ring;
    std::uint32_t index = 0;
    std::string name;  ///< the consumer's
  };

  [[nodiscard]] std::optional<Refusal> refusal_of(const Hello& hello) const;
  [[nodiscard]] Refusal not_served_at(const std::string& placement) const;
  [[nodiscard]] Refusal too_large(std::uint64_t batch_size, const ServedRing& ring) const;
  [[nodiscard]] AdmitRequest request_of(const Hello& hello, const PeerIdentity& peer) const;
  [[nodiscard]] std::variant<Admitted, Refusal> let_in(ServedRing& ring,
                                                       const AdmitRequest& request,
                                                       std::shared_ptr<Desk> desk);
  [[nodiscard]] Admission welcomed(const Admitted& admitted, ServedRing& ring) const;
  [[nodiscard]] std::string note_of_wait(const Admitted& admitted) const;
  [[nodiscard]] std::optional<Seat> seat_of(ConsumerKey key) const;
  /// How messages of this stream begin.
  [[nodiscard]] std::string stream_text() const;

  const Parts parts_;
  const FileDescriptor pidfd_;  ///< this process's, for consumers

  mutable std::mutex mutex_;  ///< of the next one
  std::map<ConsumerKey, Seat> seats_;
};

}  // namespace batchcast::inline v0_1::detail
