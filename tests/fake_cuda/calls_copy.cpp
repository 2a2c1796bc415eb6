// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// Copies and sets. Host memory that is not page-locked is read while the call lasts, and written
// before it returns; page-locked memory when the stream gets there.
#include "world.hpp"

#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

using namespace batchcast::fake_cuda;

namespace {

struct Side {
  enum Where { host, device } where = host;
  std::uintptr_t address = 0;
  std::uint64_t stride = 0;
  bool pageable = false;
};

struct Shape {
  std::uint64_t row_bytes = 0, rows = 1;
  [[nodiscard]] std::uint64_t extent(const Side& side) const {
    return (rows - 1) * side.stride + row_bytes;
  }
};

void move_rows(std::byte* to, std::uint64_t to_stride, const std::byte* from,
               std::uint64_t from_stride, const Shape& shape) {
  if (shape.rows == 1) {
    std::memcpy(to, from, shape.row_bytes);
    return;
  }
  for (std::uint64_t row = 0; row < shape.rows; ++row) {
    std::memcpy(to + row * to_stride, from + row * from_stride, shape.row_bytes);
  }
}

/// Whether the range may be used by a copy; says whether it is page-locked.
bool host_side(World& world, std::uint64_t bytes, bool written, Side& side) {
  if (side.address == 0 || world.ranges.overlaps(side.address, bytes)) return false;
  auto at = world.registered.upper_bound(side.address);
  if (at != world.registered.end() && at->first - side.address < bytes) return false;
  side.pageable = true;
  if (at == world.registered.begin()) return true;
  --at;
  const std::uint64_t begin = side.address - at->first;
  if (begin >= at->second.bytes) return true;
  side.pageable = false;
  // Registered pieces that lie side by side are not one.
  return bytes <= at->second.bytes - begin && !(written && at->second.read_only);
}

bool usable(World& world, const Shape& shape, bool written, Side& side) {
  const std::uint64_t bytes = shape.extent(side);
  if (side.stride < shape.row_bytes && shape.rows > 1) return false;
  if (side.where == Side::host) return host_side(world, bytes, written, side);
  const auto found = world.ranges.look(side.address, bytes, Access::none).found;
  return found == DeviceRanges::Found::yes || found == DeviceRanges::Found::not_allowed;
}

/// Device memory in use by a running operation, or nothing where the device would fault.
class Use {
 public:
  Use(World& world, const Side& side, std::uint64_t bytes, Access access) {
    if (side.where == Side::host) {
      data_ = reinterpret_cast<std::byte*>(side.address);
      return;
    }
    const auto place = world.ranges.look(side.address, bytes, access);
    if (place.found != DeviceRanges::Found::yes) {
      std::fprintf(stderr, "fake_cuda: illegal %s of %llu bytes at device address 0x%llx\n",
                   access == Access::read ? "read" : "write",
                   static_cast<unsigned long long>(bytes),
                   static_cast<unsigned long long>(side.address));
      return;
    }
    data_ = place.alias;
    range_ = place.range;
    ++range_->users;
  }
  void end(World& world) {
    if (range_ != nullptr && --range_->users == 0) world.changed.notify_all();
  }
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  DeviceRanges::Range* range_ = nullptr;
};

struct Copy {
  Side to, from;
  Shape shape;
  std::shared_ptr<std::vector<std::byte>> staged = {};  ///< rows without gaps
  bool fails = false;
};

CUresult execute(const Copy& copy, World& world, Lock& lock) {
  if (copy.fails) return CUDA_ERROR_ECC_UNCORRECTABLE;
  const std::byte* from = copy.staged ? copy.staged->data() : nullptr;
  const std::uint64_t from_stride = copy.staged ? copy.shape.row_bytes : copy.from.stride;
  std::optional<Use> reads;
  if (from == nullptr) {
    reads.emplace(world, copy.from, copy.shape.extent(copy.from), Access::read);
    from = reads->data();
  }
  Use writes(world, copy.to, copy.shape.extent(copy.to), Access::read_write);
  const bool good = from != nullptr && writes.data() != nullptr;
  if (good) {
    lock.unlock();
    move_rows(writes.data(), copy.to.stride, from, from_stride, copy.shape);
    lock.lock();
  }
  writes.end(world);
  if (reads) reads->end(world);
  return good ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

enum class Returns { when_pageable_is_done, when_done };

CUresult copy(CUstream handle, Copy copy, Returns returns) {
  return with_context([&](World& world, Lock& lock, Context& context) -> CUresult {
    const auto stream = find_stream(world, context, handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    if (copy.shape.row_bytes == 0 || copy.shape.rows == 0) return CUDA_SUCCESS;
    if (!usable(world, copy.shape, true, copy.to) || !usable(world, copy.shape, false, copy.from)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (const CUresult barred = barred_use(world, *stream); barred != CUDA_SUCCESS) return barred;
    if (returns == Returns::when_done || copy.to.pageable || copy.from.pageable) {
      const CUresult barred = barred_by_captures(world);
      if (barred != CUDA_SUCCESS) return barred;
    }
    if (const CUresult lost = world.count_operation(*stream->context); lost != CUDA_SUCCESS) {
      return lost;
    }
    const std::uint64_t number = ++world.since.copies;
    if (number == world.settings.copy_refused) return CUDA_ERROR_UNKNOWN;
    copy.fails = number == world.settings.copy_fails;
    ++world.counters.copies;
    world.counters.copied_bytes += copy.shape.row_bytes * copy.shape.rows;
    if (copy.shape.rows > 1) ++world.counters.row_copies;
    if (copy.to.pageable || copy.from.pageable) ++world.counters.pageable_copies;
    if (copy.from.pageable) {
      copy.staged =
          std::make_shared<std::vector<std::byte>>(copy.shape.row_bytes * copy.shape.rows);
      move_rows(copy.staged->data(), copy.shape.row_bytes,
                reinterpret_cast<const std::byte*>(copy.from.address), copy.from.stride,
                copy.shape);
    }
    const bool waits = returns == Returns::when_done || copy.to.pageable;
    Operation operation;
    operation.work = [copy](World& in, Lock& held) { return execute(copy, in, held); };
    operation.is_copy = true;
    const Point point = enqueue(world, stream, std::move(operation));
    return waits ? wait(world, lock, point) : CUDA_SUCCESS;
  });
}

Side host(const void* address) { return {Side::host, reinterpret_cast<std::uintptr_t>(address)}; }
Side device(CUdeviceptr address) { return {Side::device, address}; }

Side either(World& world, CUdeviceptr address) {
  const bool is_device = world.ranges.find(address) != world.ranges.all().end();
  return {is_device ? Side::device : Side::host, address};
}

std::optional<Side> side_2d(CUmemorytype type, const void* host_at, CUdeviceptr device_at,
                            std::uint64_t pitch, std::uint64_t x, std::uint64_t y) {
  Side side;
  if (type == CU_MEMORYTYPE_HOST) {
    side = host(host_at);
  } else if (type == CU_MEMORYTYPE_DEVICE) {
    side = device(device_at);
  } else if (type == CU_MEMORYTYPE_UNIFIED) {
    World& world = World::get();
    const Lock lock(world.mutex);
    side = either(world, device_at);
  } else {
    return std::nullopt;
  }
  side.address += y * pitch + x;
  side.stride = pitch;
  return side;
}

CUresult copy_2d(const CUDA_MEMCPY2D* rows, CUstream stream, Returns returns) {
  const auto to = side_2d(rows->dstMemoryType, rows->dstHost, rows->dstDevice, rows->dstPitch,
                          rows->dstXInBytes, rows->dstY);
  const auto from = side_2d(rows->srcMemoryType, rows->srcHost, rows->srcDevice, rows->srcPitch,
                            rows->srcXInBytes, rows->srcY);
  if (!to || !from) return CUDA_ERROR_INVALID_VALUE;
  return copy(stream, {*to, *from, {rows->WidthInBytes, rows->Height}}, returns);
}

CUresult copy_any(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream,
                  Returns returns) {
  Side sides[2];
  const CUresult looked = with_driver([&](World& world, Lock&) {
    sides[0] = either(world, to);
    sides[1] = either(world, from);
    return CUDA_SUCCESS;
  });
  return looked != CUDA_SUCCESS ? looked : copy(stream, {sides[0], sides[1], {bytes}}, returns);
}

constexpr auto later = Returns::when_pageable_is_done;

CUresult set(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream handle) {
  return with_context([&](World& world, Lock&, Context& context) -> CUresult {
    const auto stream = find_stream(world, context, handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    Side side = device(to);
    if (bytes == 0) return CUDA_SUCCESS;
    if (!usable(world, {bytes}, true, side)) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult lost = world.count_operation(*stream->context); lost != CUDA_SUCCESS) {
      return lost;
    }
    if (const CUresult barred = barred_use(world, *stream); barred != CUDA_SUCCESS) return barred;
    ++world.since.copies;
    enqueue(world, stream, {[=](World& in, Lock& held) {
              Use writes(in, side, bytes, Access::read_write);
              if (writes.data() == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
              held.unlock();
              std::memset(writes.data(), value, bytes);
              held.lock();
              writes.end(in);
              return CUDA_SUCCESS;
            }});
    return CUDA_SUCCESS;
  });
}

}  // namespace

extern "C" {

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes, CUstream on) {
  return copy(on, {device(to), host(from), {bytes}}, later);
}

CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, CUstream on) {
  return copy(on, {host(to), device(from), {bytes}}, later);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream on) {
  return copy(on, {device(to), device(from), {bytes}}, later);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) {
  return copy(nullptr, {device(to), host(from), {bytes}}, Returns::when_done);
}

CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
  return copy(nullptr, {host(to), device(from), {bytes}}, Returns::when_done);
}

/// Not synchronous for the host, as the real one.
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copy(nullptr, {device(to), device(from), {bytes}}, later);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream on) {
  return copy_any(to, from, bytes, on, later);
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copy_any(to, from, bytes, nullptr, Returns::when_done);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* rows, CUstream on) {
  return copy_2d(rows, on, later);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* rows) {
  return copy_2d(rows, nullptr, Returns::when_done);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream on) {
  return set(to, value, bytes, on);
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, std::size_t bytes) {
  return set(to, value, bytes, nullptr);
}

}  // extern "C"
