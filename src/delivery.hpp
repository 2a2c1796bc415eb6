// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/control/message.hpp>
#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/placement.hpp>
#include <batchcast/ring/window.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace batchcast::detail {

/// What an attachment has to do with a GPU: where its device segments are mapped, copies there, and
/// when a batch that streams still read may be released. One for each attachment that is placed on
/// a GPU or pinned; it outlives that attachment's batches.
class Delivery {
 public:
  Delivery() = default;
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;
  virtual ~Delivery() = default;

  /// The GPU's UUID: what a hello asks for.
  [[nodiscard]] virtual const std::string& id() const noexcept = 0;

  struct Offer {
    std::string field;
    std::string stream;  ///< the batchcast stream's name, for messages
    std::uint64_t bytes = 0;
    SegmentKind kind = SegmentKind::cuda_fd;
    FileDescriptor descriptor = {};  ///< for cuda_fd
    std::string handle = {};         ///< for cuda_ipc
  };
  struct Mapped {
    std::byte* data = nullptr;  ///< an address of the GPU
    bool twice = true;          ///< else windows that cross the end are not contiguous
  };
  /// Maps one field's segment for as long as this lives. Throws GpuError, Refused.
  [[nodiscard]] virtual Mapped map(Offer offer) = 0;
  /// Page-locks host memory that stays mapped for as long as this lives. Throws GpuError.
  virtual void pin(const std::byte* data, std::uint64_t bytes) = 0;

  /// Memory on the GPU for a batch that is copied there; kept and reused by `slot`.
  [[nodiscard]] virtual std::byte* buffer(std::size_t slot, std::uint64_t bytes) = 0;
  /// Copies samples out of a window on the GPU, contiguous and without padding, across the end too;
  /// on the given stream (CUstream), without waiting.
  virtual void copy_out(std::byte* to, const FieldWindow& window, std::uint64_t position,
                        std::uint64_t samples, void* stream) = 0;
  virtual void wait_for(void* stream) = 0;

  /// Calls `done` on this process's polling thread once all that is enqueued so far on each of the
  /// streams has completed, or at once, on this thread, if it already has. Does not wait, allocates
  /// nothing after the first few calls. A stream in an error state counts as passed.
  virtual void when_passed(std::span<void* const> streams, void* context,
                           void (*done)(void* context) noexcept) noexcept = 0;
};

/// On that GPU. Throws GpuUnavailable, GpuError; in a build without CUDA always GpuUnavailable.
[[nodiscard]] std::unique_ptr<Delivery> make_delivery(unsigned device);

}  // namespace batchcast::detail
