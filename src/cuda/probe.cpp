// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cuda/probe.hpp"

#include <batchcast/cuda/device.hpp>
#include <batchcast/cuda/device_memory.hpp>
#include <batchcast/cuda/host_pin.hpp>
#include "cuda/device_allocation.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/file_descriptor.hpp>

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <memory>
#include <utility>

namespace batchcast::inline v0_1::detail::cuda {
namespace {

constexpr std::uint64_t pinned_bytes = std::uint64_t{2} << 20;

/// Shared memory of the kind that rings are made of.
class Mapping {
 public:
  Mapping() {
    const FileDescriptor memory(::memfd_create("batchcast-doctor", MFD_CLOEXEC));
    if (!memory || ::ftruncate(memory.get(), pinned_bytes) != 0) {
      throw SystemError("memfd_create", errno);
    }
    data_ = ::mmap(nullptr, pinned_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
    if (data_ == MAP_FAILED) throw SystemError("mmap", errno);
  }
  ~Mapping() { ::munmap(data_, pinned_bytes); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] HostPin::Range range(bool read_only) const {
    ::mprotect(data_, pinned_bytes, read_only ? PROT_READ : PROT_READ | PROT_WRITE);
    HostPin::Range range;
    range.data = static_cast<const std::byte*>(data_);
    range.bytes = pinned_bytes;
    range.read_only = read_only;
    return range;
  }

 private:
  void* data_;
};

/// The text of what `attempt` throws.
template <class Attempt>
std::string failure_of(Attempt&& attempt) {
  try {
    std::forward<Attempt>(attempt)();
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

void share(const std::shared_ptr<Device>& device, Trial& trial) {
  const DeviceInfo& info = device->info();
  trial.as_descriptor = info.exports_descriptors;
  DeviceSegment::Request request;
  request.name = "doctor";
  request.bytes = info.granularity != 0 ? info.granularity : pinned_bytes;
  const DeviceAllocation made(device, request,
                              trial.as_descriptor ? Sharing::descriptor : Sharing::legacy_ipc);
  if (!trial.as_descriptor) {
    if (!info.legacy_ipc) throw GpuError("its memory cannot be shared with other processes");
    static_cast<void>(made.legacy_handle());
    return;
  }
  FileDescriptor copy(::fcntl(made.descriptor(), F_DUPFD_CLOEXEC, 0));
  if (!copy) throw SystemError("copying the descriptor of a GPU's memory", errno);
  const DeviceSegment other = DeviceSegment::adopt(device, request, std::move(copy));
  trial.read_only = other.access() == DeviceAccess::read_only;
}

}  // namespace

Trial try_device(unsigned number) {
  Trial trial;
  std::shared_ptr<Device> device;
  trial.open = failure_of([&] {
    device = Device::open(number);
    trial.free_bytes = device->free_bytes();
  });
  if (!trial.open.empty()) return trial;
  trial.share = failure_of([&] { share(device, trial); });
  trial.pin = failure_of([&] {
    const Mapping memory;
    const HostPin pin(device, memory.range(false));
  });
  trial.pin_read = failure_of([&] {
    const Mapping memory;
    const HostPin pin(device, memory.range(true));
  });
  return trial;
}

}  // namespace batchcast::inline v0_1::detail::cuda
