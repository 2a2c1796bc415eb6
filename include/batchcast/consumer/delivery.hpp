// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/core/placement.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/ring/window.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace batchcast::inline v0_1 {

struct ConsumerOptions;

namespace detail {

/// A consumer's part on a GPU: where its device segments are mapped, copies there, and when a batch
/// that CUDA streams read may be released. A consumer that is placed on a GPU or pinned has one,
/// which outlives its batches. The consuming thread makes all calls, except for `copy_to_host` and
/// the functions after it. In a forked child nothing may call or destroy it.
class Delivery {
 public:
  Delivery() = default;
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;
  virtual ~Delivery() = default;

  /// The GPU's UUID: what a hello asks for.
  [[nodiscard]] virtual const std::string& id() const noexcept = 0;
  /// For messages: `GPU 0 (NVIDIA H100)`.
  [[nodiscard]] virtual const std::string& device_name() const noexcept = 0;
  /// The granularity of device rings.
  [[nodiscard]] virtual std::uint64_t granularity() const noexcept = 0;

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
  /// Nothing reads what was mapped any more.
  virtual void unmap_all() noexcept = 0;
  /// Whether the driver can page-lock what `pin` is given; else batches are copied, to
  /// `host_buffer`.
  [[nodiscard]] virtual bool pins_in_place() const noexcept = 0;
  /// Page-locks memory that this process has mapped read-only, and keeps so for as long as this
  /// lives. Throws GpuError.
  virtual void pin(const std::byte* data, std::uint64_t bytes) = 0;
  /// Whether a copy of these bytes, counted from the beginning of what `pin` was given, stays
  /// within what the driver registered at one time. One that does not is refused by it.
  [[nodiscard]] virtual bool in_one_pin(std::uint64_t offset, std::uint64_t bytes) const = 0;
  /// Page-locked memory of this process's own for a batch that is copied there; kept and reused by
  /// `slot`. Throws OutOfMemory, GpuError.
  [[nodiscard]] virtual std::byte* host_buffer(std::size_t slot, std::uint64_t bytes) = 0;

  /// Memory on the GPU for a batch that is copied there; kept and reused by `slot`. Throws
  /// OutOfMemory.
  [[nodiscard]] virtual std::byte* buffer(std::size_t slot, std::uint64_t bytes) = 0;
  /// Enqueues a copy of samples out of a window on the GPU, contiguous and without padding, across
  /// the end too. All copies are made on a private stream: they do not wait for what a trainer has
  /// enqueued. Only two kinds of work may rely on them. One is on a stream that `order_copies`
  /// received afterwards. The other comes after `wait_for_copies`, which waits for all copies.
  virtual void copy_out(std::byte* to, const FieldWindow& window, std::uint64_t position,
                        std::uint64_t samples) = 0;
  virtual void copy_to_host(std::byte* to, const std::byte* from, std::uint64_t bytes) = 0;
  virtual void wait_for_copies() = 0;
  /// What is enqueued on `stream` (CUstream) from here on begins after all copies so far. The call
  /// does not wait, except for a stream that cannot be made to wait.
  virtual void order_copies(void* stream) noexcept = 0;
  /// Calls `done` as `when_passed` does, once all copies so far are made.
  virtual void when_copied(void* context, void (*done)(void* context) noexcept) noexcept = 0;

  /// Calls `done` on this process's polling thread once everything enqueued so far on each of the
  /// streams (CUstream) has completed. If it already has, `done` is called at once, on this thread.
  /// The call does not wait, except for a stream of another GPU, and allocates nothing after the
  /// first few calls. From any thread. A stream whose context is lost counts as passed. After any
  /// other error, and while a graph is captured on it, the stream is asked again, and the log says
  /// so once. While the process exits, `done` may never be called.
  virtual void when_passed(std::span<void* const> streams, void* context,
                           void (*done)(void* context) noexcept) noexcept = 0;
  /// Calls `end`, which may be this object's, on a thread whose waits for the GPU delay no
  /// other `when_passed`. From any thread.
  virtual void end_apart(void* context, void (*end)(void* context) noexcept) noexcept = 0;
};

/// What gpu.hpp brings.
struct GpuCode {
  /// The number of the GPU that placement "cuda" is. Throws GpuUnavailable.
  unsigned (*own_device)();
  /// Makes one for that GPU. Throws GpuUnavailable, GpuError, and Forked in a child of a process
  /// that has used CUDA.
  std::unique_ptr<Delivery> (*make_delivery)(unsigned device, LogCallback log);
};

/// With the number of the GPU where `placement` is "cuda". Throws GpuUnavailable, and
/// InvalidArgument where the program has no code for GPUs.
[[nodiscard]] Placement settled(Placement placement);
/// What these options need of a GPU; null where they need nothing. Throws GpuUnavailable, GpuError,
/// and InvalidArgument, also where the program has no code for GPUs.
[[nodiscard]] std::unique_ptr<Delivery> delivery_for(const ConsumerOptions& options);

}  // namespace detail
}  // namespace batchcast::inline v0_1
