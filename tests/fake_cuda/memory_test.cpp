// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "support.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

using namespace batchcast::fake_cuda;

TEST_CASE("Fake CUDA: memory mapped twice is one memory, and freed with its last mapping") {
  const InUse fake;
  Twice ring;
  ring.bytes = 4 * megabyte;
  const CUmemAllocationProp wanted = exportable();
  REQUIRE(cuMemCreate(&ring.handle, ring.bytes + 1, &wanted, 0) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(cuMemCreate(&ring.handle, ring.bytes, &wanted, 0) == CUDA_SUCCESS);
  ring.map(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  CHECK(cuMemRelease(ring.handle) == CUDA_SUCCESS);
  CHECK(batchcast_fake_cuda_used_bytes(0) == ring.bytes);

  std::vector<std::uint32_t> out(1000), back(1000);
  for (std::uint32_t i = 0; i < 1000; ++i) out[i] = i * 77;
  // Across the end of the first mapping, read back at the beginning of either.
  REQUIRE(cuMemcpyHtoD(ring.address + ring.bytes - 2000, out.data(), 4000) == CUDA_SUCCESS);
  REQUIRE(cuMemcpyDtoH(back.data(), ring.address, 2000) == CUDA_SUCCESS);
  CHECK(std::memcmp(back.data(), out.data() + 500, 2000) == 0);
  REQUIRE(cuMemcpyDtoH(back.data(), ring.address + 2 * ring.bytes - 2000, 2000) == CUDA_SUCCESS);
  CHECK(std::memcmp(back.data(), out.data(), 2000) == 0);
  CHECK(cuMemcpyDtoH(back.data(), ring.address + 2 * ring.bytes - 100, 200) ==
        CUDA_ERROR_INVALID_VALUE);

  ring.unmap();
  CHECK(batchcast_fake_cuda_used_bytes(0) == 0);
}

namespace {

std::intptr_t number_in_environment(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? -1 : std::atoi(text);
}

void import_at(CUdeviceptr* address, std::intptr_t descriptor, CUmemAccess_flags flags) {
  CUmemGenericAllocationHandle handle = 0;
  REQUIRE(cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(descriptor),
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == CUDA_SUCCESS);
  REQUIRE(cuMemAddressReserve(address, 2 * megabyte, 0, 0, 0) == CUDA_SUCCESS);
  REQUIRE(cuMemMap(*address, 2 * megabyte, 0, handle, 0) == CUDA_SUCCESS);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = flags;
  REQUIRE(cuMemSetAccess(*address, 2 * megabyte, &access, 1) == CUDA_SUCCESS);
}

}  // namespace

// Run by the next test in a process of its own, until it is killed.
TEST_CASE("Fake CUDA: an importer", "[.]") {
  const InUse fake;
  const auto descriptor = number_in_environment("FAKE_CUDA_TEST_MEMORY");
  const auto ready = number_in_environment("FAKE_CUDA_TEST_READY");
  CUdeviceptr address = 0;
  import_at(&address, descriptor, CU_MEM_ACCESS_FLAGS_PROT_READ);
  ::close(static_cast<int>(descriptor));
  unsigned char byte = 0;
  REQUIRE(cuMemcpyDtoH(&byte, address + 5, 1) == CUDA_SUCCESS);
  // Writing where it may only read ends the context.
  REQUIRE(cuMemsetD8Async(address, 1, 1, nullptr) == CUDA_SUCCESS);
  CHECK(cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(cuMemcpyDtoH(&byte, address + 5, 1) == CUDA_ERROR_ILLEGAL_ADDRESS);
  REQUIRE(::write(static_cast<int>(ready), &byte, 1) == 1);
  for (;;) ::pause();
}

TEST_CASE(
    "Fake CUDA: exported memory outlives its exporter's mapping, and is freed when its last "
    "user is killed") {
  const InUse fake;
  Twice ring;
  ring.bytes = 2 * megabyte;
  const CUmemAllocationProp wanted = exportable();
  REQUIRE(cuMemCreate(&ring.handle, ring.bytes, &wanted, 0) == CUDA_SUCCESS);
  int descriptor = -1, ready[2];
  REQUIRE(cuMemExportToShareableHandle(&descriptor, ring.handle,
                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                       0) == CUDA_SUCCESS);
  ring.map(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  REQUIRE(cuMemsetD8(ring.address, 0x5a, ring.bytes) == CUDA_SUCCESS);
  REQUIRE(cuCtxSynchronize() == CUDA_SUCCESS);

  REQUIRE(::pipe2(ready, O_CLOEXEC) == 0);
  const pid_t importer = ::fork();
  if (importer == 0) {
    ::setenv("FAKE_CUDA_TEST_MEMORY", std::to_string(::dup(descriptor)).c_str(), 1);
    ::setenv("FAKE_CUDA_TEST_READY", std::to_string(::dup(ready[1])).c_str(), 1);
    ::execl("/proc/self/exe", "importer", "Fake CUDA: an importer", nullptr);
    ::_exit(99);
  }
  ::close(ready[1]);
  unsigned char said = 0;
  CHECK(::read(ready[0], &said, 1) == 1);
  CHECK(said == 0x5a);
  ::close(ready[0]);

  ::close(descriptor);
  CHECK(cuMemRelease(ring.handle) == CUDA_SUCCESS);
  ring.unmap();
  CHECK(batchcast_fake_cuda_count().live_allocations == 0);
  CHECK(batchcast_fake_cuda_used_bytes(0) == 2 * megabyte);
  ::kill(importer, SIGKILL);
  ::waitpid(importer, nullptr, 0);
  CHECK(batchcast_fake_cuda_used_bytes(0) == 0);
}

TEST_CASE(
    "Fake CUDA: calls without a context, in a forked child or with the wrong kind of address "
    "are refused") {
  const InUse fake;
  const CUdeviceptr memory = allocate(megabyte);
  std::vector<unsigned char> host(100);
  const auto as_device = reinterpret_cast<CUdeviceptr>(host.data());
  CHECK(cuMemcpyDtoD(memory, as_device, 100) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyHtoD(as_device, host.data(), 100) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyHtoD(memory, reinterpret_cast<void*>(memory), 100) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyHtoD(memory + megabyte - 50, host.data(), 100) == CUDA_ERROR_INVALID_VALUE);
  CHECK(batchcast_fake_cuda_look(memory, megabyte) != nullptr);
  CHECK(batchcast_fake_cuda_look(memory, megabyte + 1) == nullptr);

  const pid_t child = ::fork();
  if (child == 0) ::_exit(cuMemFree(memory) == CUDA_ERROR_NOT_INITIALIZED ? 3 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 3);

  CUcontext popped = nullptr;
  REQUIRE(cuCtxPopCurrent(&popped) == CUDA_SUCCESS);
  CHECK(cuMemcpyHtoD(memory, host.data(), 100) == CUDA_ERROR_INVALID_CONTEXT);
  REQUIRE(cuCtxPushCurrent(popped) == CUDA_SUCCESS);
  CHECK(cuMemFree(memory) == CUDA_SUCCESS);
  CHECK(cuMemFree(memory) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("Fake CUDA: settings take away what a driver may lack") {
  const InUse fake("devices=2 export=0 memory=8M alloc_fails=2 read_only_register=0");
  int count = 0, value = 1;
  CHECK(cuDeviceGetCount(&count) == CUDA_SUCCESS);
  CHECK(count == 2);
  cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0);
  CHECK(value == 0);
  CUmemGenericAllocationHandle handle = 0;
  const CUmemAllocationProp wanted = exportable();
  CHECK(cuMemCreate(&handle, 2 * megabyte, &wanted, 0) == CUDA_ERROR_NOT_SUPPORTED);
  const CUdeviceptr first = allocate(6 * megabyte);
  CUdeviceptr second = 0;
  CHECK(cuMemAlloc(&second, megabyte) == CUDA_ERROR_OUT_OF_MEMORY);      // the 2nd
  CHECK(cuMemAlloc(&second, 3 * megabyte) == CUDA_ERROR_OUT_OF_MEMORY);  // not enough left
  CHECK(cuMemAlloc(&second, megabyte) == CUDA_SUCCESS);
  std::size_t free = 0, total = 0;
  CHECK(cuMemGetInfo(&free, &total) == CUDA_SUCCESS);
  CHECK(total == 8 * megabyte);
  CHECK(free == megabyte);
  cuMemFree(first);
  cuMemFree(second);
}
