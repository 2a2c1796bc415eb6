// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/batch_pool.hpp>
#include <batchcast/consumer/mapped_ring.hpp>
#include <batchcast/consumer/producer_link.hpp>
#include <batchcast/consumer_options.hpp>
#include <batchcast/ring/private_chunks.hpp>
#include <batchcast/ring/reader.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// The batches that a trainer keeps while the ring has to move on. It gives them to the trainer, at
/// the same addresses, and their leases back. That works only for batches that show the ring in
/// host memory, up to the ring's size and half of the memory that is left. The others keep their
/// leases. As many bytes again may be copied besides. The consuming thread makes all calls. Its
/// arguments must outlive it.
class KeptBatches {
 public:
  KeptBatches(const ConsumerOptions& options, const std::string& consumer, MappedRing& ring,
              RingReader& reader, ProducerLink& link, BatchPool& pool) noexcept
      : options_(options),
        consumer_(consumer),
        ring_(ring),
        reader_(reader),
        link_(link),
        pool_(pool) {}

  void make_all_own() noexcept;
  /// False if that cannot be done, or there is none.
  [[nodiscard]] bool make_oldest_own() noexcept;
  /// That run has to be copied, since its place is private. Throws RingTooSmall where as much is
  /// copied as may be.
  void admit_copy(BatchRecord& record);
  /// Call it before a batch is shown: shows the ring again where nothing private is.
  void show_ring_again();
  /// The producer is dead, and its ring is drained: all batches become the trainer's, and the
  /// ring's memory goes. Board and desk stay. Where batches cannot become its own, the ring stays
  /// as well.
  void outlive_ring() noexcept;
  /// The same for a ring on a GPU, where batches cannot become the trainer's: once it holds none,
  /// and no stream reads one.
  void give_device_memory_back() noexcept;
  /// The consumer has left: gives back all but what the batches show that are out.
  void reserve_rest() noexcept;

 private:
  [[nodiscard]] bool is_wanted() const noexcept;
  [[nodiscard]] bool is_possible() const noexcept;
  void keep_all() noexcept;
  [[nodiscard]] std::vector<AddressRange> shown_of(std::size_t mapping);
  [[nodiscard]] bool try_oldest();
  [[nodiscard]] bool make_own(BatchRecord& record);
  [[nodiscard]] std::uint64_t bytes_of(const BatchRecord& record) const noexcept;
  [[nodiscard]] bool has_room_for(std::uint64_t bytes, std::uint64_t besides) const;
  void warn_once() noexcept;

  const ConsumerOptions& options_;
  const std::string& consumer_;
  MappedRing& ring_;
  RingReader& reader_;
  ProducerLink& link_;
  BatchPool& pool_;
  bool warned_ = false;
};

}  // namespace batchcast::inline v0_1::detail
