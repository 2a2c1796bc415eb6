// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "support.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

using namespace batchcast::fake_cuda;

namespace {

class Pages {
 public:
  explicit Pages(std::size_t bytes) : bytes_(bytes) {
    data_ = static_cast<unsigned char*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  }
  ~Pages() { ::munmap(data_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  [[nodiscard]] unsigned char* data() const { return data_; }

 private:
  std::size_t bytes_;
  unsigned char* data_;
};

}  // namespace

TEST_CASE(
    "Fake CUDA: a copy from page-locked memory reads it when the stream gets there, one from "
    "other memory at once") {
  const InUse fake("read_only_register=1");
  const Pages pages(16384);
  const CUdeviceptr memory = allocate(16384);
  const CUstream stream = new_stream();
  std::vector<unsigned char> pageable(100, 1), back(100);
  pages.data()[0] = 1;
  REQUIRE(cuMemHostRegister(pages.data(), 8192, 0) == CUDA_SUCCESS);

  batchcast_fake_cuda_hold(stream);
  REQUIRE(cuMemcpyHtoDAsync(memory, pages.data(), 1, stream) == CUDA_SUCCESS);
  REQUIRE(cuMemcpyHtoDAsync(memory + 100, pageable.data(), 100, stream) == CUDA_SUCCESS);
  CUevent event = nullptr;
  REQUIRE(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
  CHECK(cuEventQuery(event) == CUDA_SUCCESS);
  REQUIRE(cuEventRecord(event, stream) == CUDA_SUCCESS);
  CHECK(cuEventQuery(event) == CUDA_ERROR_NOT_READY);
  CHECK(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
  pages.data()[0] = 2;
  pageable.assign(100, 2);
  batchcast_fake_cuda_release(stream);
  REQUIRE(cuEventSynchronize(event) == CUDA_SUCCESS);
  REQUIRE(cuMemcpyDtoH(back.data(), memory, 1) == CUDA_SUCCESS);
  CHECK(back[0] == 2);
  REQUIRE(cuMemcpyDtoH(back.data(), memory + 100, 100) == CUDA_SUCCESS);
  CHECK(back[99] == 1);

  // Two pieces side by side are not one.
  REQUIRE(cuMemHostRegister(pages.data() + 8192, 8192, 0) == CUDA_SUCCESS);
  CHECK(cuMemcpyHtoDAsync(memory, pages.data() + 8000, 192, stream) == CUDA_SUCCESS);
  CHECK(cuMemcpyHtoDAsync(memory, pages.data() + 8000, 193, stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemHostRegister(pages.data() + 4096, 4096, 0) ==
        CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  REQUIRE(cuStreamSynchronize(stream) == CUDA_SUCCESS);
  CHECK(cuMemHostUnregister(pages.data()) == CUDA_SUCCESS);
  CHECK(cuMemHostUnregister(pages.data() + 8192) == CUDA_SUCCESS);
  CHECK(cuMemHostUnregister(pages.data()) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);

  REQUIRE(::mprotect(pages.data(), 8192, PROT_READ) == 0);
  CHECK(cuMemHostRegister(pages.data(), 8192, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemHostRegister(pages.data(), 8192, CU_MEMHOSTREGISTER_READ_ONLY) == CUDA_SUCCESS);
  CHECK(cuMemcpyDtoHAsync(pages.data(), memory, 100, stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemHostUnregister(pages.data()) == CUDA_SUCCESS);
  cuEventDestroy(event);
  cuStreamDestroy(stream);
  cuMemFree(memory);
}

TEST_CASE(
    "Fake CUDA: streams run at the same time unless an event or the default stream says "
    "otherwise") {
  const InUse fake;
  const CUdeviceptr memory = allocate(4096);
  const CUstream first = new_stream(), second = new_stream();
  CUevent event = nullptr;
  REQUIRE(cuEventCreate(&event, 0) == CUDA_SUCCESS);
  batchcast_fake_cuda_hold(first);
  REQUIRE(cuMemsetD8Async(memory, 1, 4096, first) == CUDA_SUCCESS);
  REQUIRE(cuEventRecord(event, first) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD8Async(memory, 2, 4096, second) == CUDA_SUCCESS);
  CHECK(cuStreamSynchronize(second) == CUDA_SUCCESS);  // does not wait for the first
  REQUIRE(cuStreamWaitEvent(second, event, 0) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD8Async(memory, 3, 4096, second) == CUDA_SUCCESS);
  CHECK(cuStreamQuery(second) == CUDA_ERROR_NOT_READY);
  batchcast_fake_cuda_release(first);
  CHECK(cuStreamSynchronize(second) == CUDA_SUCCESS);
  CHECK(*static_cast<unsigned char*>(batchcast_fake_cuda_look(memory, 1)) == 3);

  CUstream blocking = nullptr;
  REQUIRE(cuStreamCreate(&blocking, CU_STREAM_DEFAULT) == CUDA_SUCCESS);
  batchcast_fake_cuda_hold(blocking);
  REQUIRE(cuMemsetD8Async(memory, 4, 4096, blocking) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD8Async(memory, 5, 4096, nullptr) == CUDA_SUCCESS);
  CHECK(cuStreamQuery(nullptr) == CUDA_ERROR_NOT_READY);
  batchcast_fake_cuda_release(blocking);
  CHECK(cuStreamSynchronize(nullptr) == CUDA_SUCCESS);
  CHECK(*static_cast<unsigned char*>(batchcast_fake_cuda_look(memory, 1)) == 5);
  for (const CUstream stream : {first, second, blocking}) {
    CHECK(cuStreamDestroy(stream) == CUDA_SUCCESS);
  }
  CHECK(cuStreamQuery(first) == CUDA_ERROR_INVALID_HANDLE);
  cuEventDestroy(event);
  cuMemFree(memory);
}

TEST_CASE("Fake CUDA: a copy of rows takes the bytes between the strides from neither side") {
  const InUse fake;
  const CUdeviceptr memory = allocate(4096);
  std::vector<unsigned char> from(300), back(300);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i);
  REQUIRE(cuMemsetD8(memory, 0xee, 4096) == CUDA_SUCCESS);
  CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = CU_MEMORYTYPE_HOST;
  rows.srcHost = from.data();
  rows.srcPitch = 30;
  rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.dstDevice = memory;
  rows.dstPitch = 25;
  rows.WidthInBytes = 20;
  rows.Height = 10;
  REQUIRE(cuMemcpy2DAsync(&rows, nullptr) == CUDA_SUCCESS);
  REQUIRE(cuMemcpyDtoH(back.data(), memory, 300) == CUDA_SUCCESS);
  CHECK(back[24] == 0xee);
  CHECK(back[25 * 9 + 19] == from[30 * 9 + 19]);
  CHECK(back[25 * 9 + 20] == 0xee);
  cuMemFree(memory);
}

TEST_CASE(
    "Fake CUDA: kernels are found by name, take copies of their parameters and run on their "
    "stream") {
  const InUse fake;
  const CUdeviceptr memory = allocate(4096);
  const CUstream stream = new_stream();
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  REQUIRE(cuModuleLoadData(&module, "any") == CUDA_SUCCESS);
  CHECK(cuModuleGetFunction(&function, module, "nobody") == CUDA_ERROR_NOT_FOUND);
  REQUIRE(cuModuleGetFunction(&function, module, "fake_fill") == CUDA_SUCCESS);
  CUdeviceptr to = memory;
  std::uint64_t bytes = 100;
  unsigned char value = 7;
  void* parameters[] = {&to, &bytes, &value};
  batchcast_fake_cuda_hold(stream);
  REQUIRE(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr) ==
          CUDA_SUCCESS);
  to = 0, value = 8;
  batchcast_fake_cuda_release(stream);
  REQUIRE(cuStreamSynchronize(stream) == CUDA_SUCCESS);
  CHECK(static_cast<unsigned char*>(batchcast_fake_cuda_look(memory, 100))[99] == 7);
  // Address 0: the context ends.
  REQUIRE(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr) ==
          CUDA_SUCCESS);
  CHECK(cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(cuModuleLoadData(&module, "any") == CUDA_ERROR_ILLEGAL_ADDRESS);
  batchcast_fake_cuda_configure("");
  cuModuleUnload(module);
  cuStreamDestroy(stream);
  cuMemFree(memory);
}

TEST_CASE("Fake CUDA: copies fail and devices are lost where the settings say so") {
  const InUse fake("copy_refused=1 copy_fails=2");
  const CUdeviceptr memory = allocate(4096);
  const CUstream stream = new_stream();
  const std::vector<unsigned char> from(100);
  const auto copy = [&] { return cuMemcpyHtoDAsync(memory, from.data(), 100, stream); };
  CHECK(copy() == CUDA_ERROR_UNKNOWN);
  CHECK(copy() == CUDA_SUCCESS);
  CHECK(cuStreamSynchronize(stream) == CUDA_ERROR_ECC_UNCORRECTABLE);
  CHECK(copy() == CUDA_ERROR_ECC_UNCORRECTABLE);

  batchcast_fake_cuda_configure("lost_after=2");
  CHECK(copy() == CUDA_SUCCESS);
  CHECK(copy() == CUDA_SUCCESS);
  CUevent event = nullptr;
  REQUIRE(cuEventCreate(&event, 0) == CUDA_SUCCESS);
  REQUIRE(cuEventRecord(event, stream) == CUDA_SUCCESS);
  CHECK(copy() == CUDA_ERROR_DEVICE_UNAVAILABLE);
  CHECK(cuEventSynchronize(event) == CUDA_ERROR_DEVICE_UNAVAILABLE);
  std::size_t free = 0, total = 0;
  CHECK(cuMemGetInfo(&free, &total) == CUDA_ERROR_DEVICE_UNAVAILABLE);

  // Who waits is told.
  batchcast_fake_cuda_configure("");
  batchcast_fake_cuda_hold(stream);
  CHECK(copy() == CUDA_SUCCESS);
  REQUIRE(cuEventRecord(event, stream) == CUDA_SUCCESS);
  std::thread loser([] { batchcast_fake_cuda_lose(0, CUDA_ERROR_ECC_UNCORRECTABLE); });
  CHECK(cuEventSynchronize(event) == CUDA_ERROR_ECC_UNCORRECTABLE);
  loser.join();
  batchcast_fake_cuda_configure("");
  cuEventDestroy(event);
  cuStreamDestroy(stream);
  cuMemFree(memory);
}

TEST_CASE("Fake CUDA: streams have priorities, within a range") {
  const InUse fake;
  int least = -1, greatest = 1;
  REQUIRE(cuCtxGetStreamPriorityRange(&least, &greatest) == CUDA_SUCCESS);
  CHECK(least == 0);
  CHECK(greatest < 0);
  const auto before = batchcast_fake_cuda_count().high_priority_streams;
  CUstream high = nullptr, low = nullptr;
  REQUIRE(cuStreamCreateWithPriority(&high, CU_STREAM_NON_BLOCKING, greatest - 7) == CUDA_SUCCESS);
  REQUIRE(cuStreamCreateWithPriority(&low, CU_STREAM_NON_BLOCKING, 3) == CUDA_SUCCESS);
  CHECK(batchcast_fake_cuda_count().high_priority_streams == before + 1);
  cuStreamDestroy(high);
  cuStreamDestroy(low);
}

TEST_CASE("Fake CUDA: what is undone of memory waits for all that the device has to do") {
  const InUse fake("delay_us=0");
  const Pages pages(8192);
  REQUIRE(cuMemHostRegister(pages.data(), 8192, 0) == CUDA_SUCCESS);
  const CUdeviceptr memory = allocate(4096);
  const CUstream stream = new_stream();
  Twice twice;
  twice.bytes = 2 * megabyte;
  const CUmemAllocationProp wanted = exportable();
  REQUIRE(cuMemCreate(&twice.handle, twice.bytes, &wanted, 0) == CUDA_SUCCESS);
  twice.map(CU_MEM_ACCESS_FLAGS_PROT_READ);
  const bool unmaps = GENERATE(false, true);
  batchcast_fake_cuda_hold(stream);
  REQUIRE(cuMemsetD8Async(memory, 1, 4096, stream) == CUDA_SUCCESS);
  std::atomic<bool> done = false;
  std::thread undoing([&] {
    cuCtxPushCurrent(fake.context());
    unmaps ? cuMemUnmap(twice.address, 2 * twice.bytes) : cuMemHostUnregister(pages.data());
    done = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(done);
  batchcast_fake_cuda_release(stream);
  undoing.join();
  unmaps ? cuMemHostUnregister(pages.data()) : cuMemUnmap(twice.address, 2 * twice.bytes);
  CHECK(cuMemAddressFree(twice.address, 2 * twice.bytes) == CUDA_SUCCESS);
  CHECK(cuMemRelease(twice.handle) == CUDA_SUCCESS);
  cuStreamDestroy(stream);
  cuMemFree(memory);
}

TEST_CASE("Fake CUDA: one registration has less than 512 GiB") {
  const InUse fake;
  const std::uint64_t limit = std::uint64_t{512} << 30;
  const Pages pages(limit);  // of addresses only
  CHECK(cuMemHostRegister(pages.data(), limit, 0) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(cuMemHostRegister(pages.data(), limit - 4096, 0) == CUDA_SUCCESS);
  CHECK(cuMemHostUnregister(pages.data()) == CUDA_SUCCESS);
}
