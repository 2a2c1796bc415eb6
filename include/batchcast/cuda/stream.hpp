// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/device.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace batchcast::inline v0_1::detail::cuda {

/// What a stream or an event says about work that was enqueued.
enum class Answer {
  done,
  pending,
  captured,  ///< a graph that is or was captured prevents it: nothing is known
  lost,      ///< none of it will run any more
  refused,   ///< any other error: nothing is known
};
struct Reply {
  Answer answer = Answer::done;
  unsigned result = 0;  ///< CUresult, for `reason_of`
};
/// "CUDA_ERROR_INVALID_HANDLE (invalid resource handle)".
[[nodiscard]] std::string reason_of(const Device& device, const Reply& reply);

/// A point in a stream, without timing. Move-only; may be recorded again and again. A member that
/// needs the device's context makes it current itself.
class Event {
 public:
  explicit Event(std::shared_ptr<Device> device);
  ~Event();
  Event(Event&& other) noexcept
      : device_(std::move(other.device_)), handle_(std::exchange(other.handle_, nullptr)) {}
  Event& operator=(Event&&) = delete;

  /// Records the point after all that is enqueued on `stream` (CUstream) so far. Makes the context
  /// current itself.
  void record(void* stream);
  /// Whether the stream has passed the point; true if it was never recorded. Throws GpuError if
  /// work that was enqueued before it failed.
  [[nodiscard]] bool passed() const;
  /// The same two without an exception. Asking about an event that was recorded on a capturing
  /// stream spoils the capture.
  [[nodiscard]] Reply try_record(void* stream) noexcept;
  [[nodiscard]] Reply ask() const noexcept;
  /// Blocks the thread, not the processor.
  void wait() const;
  /// Work that is enqueued on `stream` (CUstream, of any context) from here on begins after the
  /// event, as it was recorded last.
  void hold_up(void* stream) const;

 private:
  friend class Stream;
  std::shared_ptr<Device> device_;
  void* handle_;
};

/// Which streams' work the driver schedules first, among the streams of one process; under MPS
/// among those of all its clients.
enum class Priority { normal, high };

/// A stream that this library owns, and that does not wait for the legacy default stream.
/// Move-only. Copies are asynchronous: their host memory must be pinned, or it is copied
/// synchronously.
class Stream {
 public:
  explicit Stream(std::shared_ptr<Device> device, Priority priority = Priority::normal);
  /// Waits for the work that is enqueued.
  ~Stream();
  Stream(Stream&& other) noexcept
      : device_(std::move(other.device_)), handle_(std::exchange(other.handle_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;

  [[nodiscard]] void* handle() const noexcept { return handle_; }
  [[nodiscard]] const std::shared_ptr<Device>& device() const noexcept { return device_; }

  // Each makes the context current itself.
  void copy_to_device(std::byte* device_to, const std::byte* host_from, std::uint64_t bytes);
  void copy_to_host(std::byte* host_to, const std::byte* device_from, std::uint64_t bytes);
  void copy_on_device(std::byte* device_to, const std::byte* device_from, std::uint64_t bytes);
  /// `rows` times `row_bytes`, with a stride for each side; between any two memories.
  struct Rows {
    std::byte* to = nullptr;
    std::uint64_t to_stride_bytes = 0;
    const std::byte* from = nullptr;
    std::uint64_t from_stride_bytes = 0;
    std::uint64_t row_bytes = 0;
    std::uint64_t rows = 0;
    bool from_host = false;  ///< else from the device
  };
  void copy_rows(const Rows& rows);
  /// Work that is enqueued from here on begins after the event, as it was recorded last.
  void wait_for(const Event& event);
  void wait() const;

 private:
  std::shared_ptr<Device> device_;
  void* handle_;
};

/// Whether a graph is captured on another library's stream (CUstream), or on one that it would have
/// to wait for. Then nothing may be recorded there, and nothing may wait for it.
[[nodiscard]] bool is_capturing(const Device& device, void* stream) noexcept;
/// Blocks until another library's stream (CUstream), of any context, has done its work so far.
[[nodiscard]] Reply wait_for_stream(const Device& device, void* stream) noexcept;
/// Whether it is the default stream of each thread (CU_STREAM_PER_THREAD).
[[nodiscard]] bool is_of_thread(const void* stream) noexcept;

/// The same copy on another library's stream (CUstream).
void copy_on_device(const Device& device, void* stream, std::byte* device_to,
                    const std::byte* device_from, std::uint64_t bytes);

}  // namespace batchcast::inline v0_1::detail::cuda
