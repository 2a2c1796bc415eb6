// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "../catch.hpp"

#include "served/host_ring.hpp"

#include <batchcast/consumer.hpp>
#include <batchcast/consumer/mapped_ring.hpp>

#include <fcntl.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace batchcast::testing {

/// A producer's ring in host memory, whose samples are their positions, with one consumer admitted:
/// what its door would send, for tests of a consumer's parts without doors and processes.
class OfferedRing {
 public:
  struct Offer {
    Welcome welcome;
    std::vector<FileDescriptor> descriptors;
  };

  OfferedRing() : ring_({.options = options_}), desk_(Segment::create_small("desk", page_bytes())) {
    desk_.seal(Seals::shrink | Seals::grow | Seals::seal);
    desk_mapping_ = std::make_shared<Mapping>(desk_, MapMode::read_write);
    AdmitRequest request;
    request.name = "c";
    const auto reply = ring_.admit(
        request, std::shared_ptr<Desk>(desk_mapping_, new (desk_mapping_->data()) Desk{}));
    admitted_ = std::get<Admitted>(reply);
  }

  [[nodiscard]] Offer offer() {
    Offer made;
    std::vector<int> lent = {ring_.board_segment().fd(), desk_.fd(), desk_.fd()};
    made.welcome.board_bytes = ring_.board_segment().bytes();
    made.welcome.desk_bytes = desk_.bytes();
    made.welcome.consumer_index = admitted_.index;
    ring_.offer(made.welcome, lent);
    for (const int fd : lent) made.descriptors.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
    return made;
  }

  /// Publishes up to `n` samples; how many there was room for.
  std::uint64_t produce(std::uint64_t n) {
    LoanContents loan;
    if (ring_.lend(n, 0, loan) != Claim::granted) return 0;
    for (std::uint64_t p = loan.position; p < loan.position + loan.size; ++p) {
      std::memcpy(ring_.data(0, p), &p, sizeof p);
    }
    ring_.publish(loan);
    return loan.size;
  }
  void evict() { CHECK(ring_.writer().evict(admitted_.index, admitted_.consumer_id)); }
  [[nodiscard]] std::uint64_t capacity() const noexcept { return ring_.capacity(); }

 private:
  ProducerOptions options_ = {.stream = "s", .schema = {{"value", DType::u64}}, .memory = 64 << 10};
  detail::HostRing ring_;
  Segment desk_;
  std::shared_ptr<Mapping> desk_mapping_;
  Admitted admitted_;
};

/// An offered ring, mapped as the consumer maps it.
struct MappedOffer {
  explicit MappedOffer(OfferedRing& ring, ConsumerOptions wanted = {})
      : options(std::move(wanted)),
        offer(ring.offer()),
        mapped(std::make_unique<detail::MappedRing>(options, process, nullptr, offer.welcome,
                                                    offer.descriptors)) {}

  ConsumerOptions options;
  detail::AttachedProcess process{"s"};
  OfferedRing::Offer offer;
  std::unique_ptr<detail::MappedRing> mapped;
};

/// The value of the sample at that position, and of those behind it.
inline std::span<const std::uint64_t> values_at(const FieldWindow& window, std::uint64_t position,
                                                std::size_t samples) {
  return {reinterpret_cast<const std::uint64_t*>(window.at(position)), samples};
}

}  // namespace batchcast::testing
