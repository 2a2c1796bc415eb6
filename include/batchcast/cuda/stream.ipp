// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/stream.hpp>

#include <batchcast/core/inline.hpp>
#include <batchcast/cuda/driver.hpp>

namespace batchcast::inline v0_1::detail::cuda {
namespace stream_detail {

inline CUstream stream_of(void* handle) { return static_cast<CUstream>(handle); }
inline CUevent event_of(void* handle) { return static_cast<CUevent>(handle); }

inline Reply reply_of(CUresult result) noexcept {
  if (result == CUDA_SUCCESS) return {Answer::done, result};
  if (result == CUDA_ERROR_NOT_READY) return {Answer::pending, result};
  if (is_of_capture(result)) return {Answer::captured, result};
  return {is_lost(result) ? Answer::lost : Answer::refused, result};
}

}  // namespace stream_detail

BATCHCAST_INLINE Event::Event(std::shared_ptr<Device> device)
    : device_(std::move(device)), handle_(nullptr) {
  const Device::Current current(*device_);
  CUevent event = nullptr;
  check(*device_,
        device_->driver().event_create(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC),
        "cuEventCreate");
  handle_ = event;
}

BATCHCAST_INLINE Event::~Event() {
  if (handle_ == nullptr) return;
  quietly(*device_,
          [this](const Driver& driver) { driver.event_destroy(stream_detail::event_of(handle_)); });
}

BATCHCAST_INLINE void Event::record(void* stream) {
  const Device::Current current(*device_);  // the default streams are the current context's
  check(*device_,
        device_->driver().event_record(stream_detail::event_of(handle_),
                                       stream_detail::stream_of(stream)),
        "cuEventRecord");
}

BATCHCAST_INLINE Reply Event::try_record(void* stream) noexcept {
  return stream_detail::reply_of(try_call(*device_, [&](const Driver& driver) {
    return driver.event_record(stream_detail::event_of(handle_), stream_detail::stream_of(stream));
  }));
}

BATCHCAST_INLINE Reply Event::ask() const noexcept {
  return stream_detail::reply_of(try_call(*device_, [this](const Driver& driver) {
    return driver.event_query(stream_detail::event_of(handle_));
  }));
}

BATCHCAST_INLINE bool Event::passed() const {
  const Reply reply = ask();
  if (reply.answer == Answer::pending || reply.answer == Answer::captured) return false;
  check(*device_, static_cast<CUresult>(reply.result), "cuEventQuery");
  return true;
}

BATCHCAST_INLINE void Event::wait() const {
  const Device::Current current(*device_);
  check(*device_, device_->driver().event_synchronize(stream_detail::event_of(handle_)),
        "cuEventSynchronize");
}

BATCHCAST_INLINE void Event::hold_up(void* stream) const {
  const Device::Current current(*device_);
  check(
      *device_,
      device_->driver().stream_wait_event(stream_detail::stream_of(stream),
                                          stream_detail::event_of(handle_), CU_EVENT_WAIT_DEFAULT),
      "cuStreamWaitEvent");
}

BATCHCAST_INLINE Stream::Stream(std::shared_ptr<Device> device, Priority priority)
    : device_(std::move(device)), handle_(nullptr) {
  const Device::Current current(*device_);
  int least = 0;
  int greatest = 0;  // the smaller number
  if (priority == Priority::high) {
    check(*device_, device_->driver().ctx_get_stream_priority_range(&least, &greatest),
          "cuCtxGetStreamPriorityRange");
  }
  CUstream stream = nullptr;
  check(*device_, device_->driver().stream_create(&stream, CU_STREAM_NON_BLOCKING, greatest),
        "cuStreamCreateWithPriority");
  handle_ = stream;
}

BATCHCAST_INLINE Stream::~Stream() {
  if (handle_ == nullptr) return;
  quietly(*device_, [this](const Driver& driver) {
    driver.stream_synchronize(stream_detail::stream_of(handle_));
    driver.stream_destroy(stream_detail::stream_of(handle_));
  });
}

BATCHCAST_INLINE void Stream::copy_to_device(std::byte* device_to, const std::byte* host_from,
                                             std::uint64_t bytes) {
  if (bytes == 0) return;
  const Device::Current current(*device_);
  check(*device_,
        device_->driver().memcpy_htod_async(address_of(device_to), host_from, bytes,
                                            stream_detail::stream_of(handle_)),
        "cuMemcpyHtoDAsync");
}

BATCHCAST_INLINE void Stream::copy_to_host(std::byte* host_to, const std::byte* device_from,
                                           std::uint64_t bytes) {
  if (bytes == 0) return;
  const Device::Current current(*device_);
  check(*device_,
        device_->driver().memcpy_dtoh_async(host_to, address_of(device_from), bytes,
                                            stream_detail::stream_of(handle_)),
        "cuMemcpyDtoHAsync");
}

BATCHCAST_INLINE void Stream::copy_on_device(std::byte* device_to, const std::byte* device_from,
                                             std::uint64_t bytes) {
  detail::cuda::copy_on_device(*device_, handle_, device_to, device_from, bytes);
}

BATCHCAST_INLINE void Stream::copy_rows(const Rows& rows) {
  if (rows.rows == 0 || rows.row_bytes == 0) return;
  CUDA_MEMCPY2D copy{};
  copy.srcPitch = rows.from_stride_bytes;
  if (rows.from_host) {
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = rows.from;
  } else {
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = address_of(rows.from);
  }
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = address_of(rows.to);
  copy.dstPitch = rows.to_stride_bytes;
  copy.WidthInBytes = rows.row_bytes;
  copy.Height = rows.rows;
  const Device::Current current(*device_);
  check(*device_, device_->driver().memcpy_2d_async(&copy, stream_detail::stream_of(handle_)),
        "cuMemcpy2DAsync");
}

BATCHCAST_INLINE void Stream::wait_for(const Event& event) { event.hold_up(handle_); }

BATCHCAST_INLINE void Stream::wait() const {
  const Device::Current current(*device_);
  check(*device_, device_->driver().stream_synchronize(stream_detail::stream_of(handle_)),
        "cuStreamSynchronize");
}

BATCHCAST_INLINE std::string reason_of(const Device& device, const Reply& reply) {
  return reason(device.driver(), static_cast<CUresult>(reply.result));
}

BATCHCAST_INLINE bool is_capturing(const Device& device, void* stream) noexcept {
  auto status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = try_call(device, [&](const Driver& driver) {
    return driver.stream_is_capturing(stream_detail::stream_of(stream), &status);
  });
  return is_of_capture(result) ||
         (result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE);
}

BATCHCAST_INLINE Reply wait_for_stream(const Device& device, void* stream) noexcept {
  return stream_detail::reply_of(try_call(device, [stream](const Driver& driver) {
    return driver.stream_synchronize(stream_detail::stream_of(stream));
  }));
}

BATCHCAST_INLINE bool is_of_thread(const void* stream) noexcept {
  return stream == reinterpret_cast<const void*>(std::uintptr_t{2});
}

BATCHCAST_INLINE void copy_on_device(const Device& device, void* stream, std::byte* device_to,
                                     const std::byte* device_from, std::uint64_t bytes) {
  if (bytes == 0) return;
  const Device::Current current(device);
  check(device,
        device.driver().memcpy_dtod_async(address_of(device_to), address_of(device_from), bytes,
                                          stream_detail::stream_of(stream)),
        "cuMemcpyDtoDAsync");
}

}  // namespace batchcast::inline v0_1::detail::cuda
