// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/cuda/device_memory.hpp>

#include <batchcast/cuda/stream.hpp>
#include "../catch.hpp"
#include "cuda/device_allocation.hpp"
#include "fake.hpp"

#include <batchcast/core/error.hpp>

#include <fcntl.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <optional>

using namespace batchcast;
using namespace batchcast::detail::cuda;
using namespace batchcast::testing;
using Catch::Contains;

namespace {

constexpr std::uint64_t piece = std::uint64_t{2} << 20;

DeviceSegment::Request request_of(std::uint64_t bytes) {
  DeviceSegment::Request request;
  request.name = "image";
  request.bytes = bytes;
  return request;
}

std::vector<std::byte> numbers(std::size_t size, unsigned first) {
  std::vector<std::byte> all(size);
  for (std::size_t i = 0; i < size; ++i) all[i] = static_cast<std::byte>((first + i * 7) & 255);
  return all;
}

void write(Stream& stream, std::byte* to, const std::vector<std::byte>& what) {
  stream.copy_to_device(to, what.data(), what.size());
  stream.wait();
}

std::vector<std::byte> read(Stream& stream, const std::byte* from, std::size_t size) {
  std::vector<std::byte> all(size);
  stream.copy_to_host(all.data(), from, size);
  stream.wait();
  return all;
}

FileDescriptor copy_of(int descriptor) {
  return FileDescriptor(::fcntl(descriptor, F_DUPFD_CLOEXEC, 3));
}

// What is held of the device by this process, so that nothing may be left behind.
std::array<std::uint64_t, 3> held() {
  const batchcast_fake_cuda_counters now = batchcast_fake_cuda_count();
  return {now.live_allocations, now.live_ranges, batchcast_fake_cuda_used_bytes(0)};
}

}  // namespace

TEST_CASE("a segment is mapped twice, back to back", "[cuda]") {
  const auto device = Device::open(0);
  Stream stream(device);
  const DeviceAllocation segment(device, request_of(2 * piece));
  REQUIRE(segment.mapped_twice());
  CHECK(segment.bytes() == 2 * piece);
  const auto across = numbers(4096, 1);
  write(stream, segment.data() + 2 * piece - 1000, across);
  CHECK(read(stream, segment.data() + 2 * piece - 1000, 4096) == across);
  CHECK(read(stream, segment.data(), 3096) ==
        std::vector<std::byte>(across.begin() + 1000, across.end()));
}

TEST_CASE("what was exported is adopted read-only, and outlives its maker", "[cuda][fake]") {
  const auto before = held();
  {
    const auto device = Device::open(0);
    Stream stream(device);
    auto made = std::make_optional<DeviceAllocation>(device, request_of(piece));
    const auto what = numbers(piece, 3);
    write(stream, made->data(), what);
    const int descriptor = made->descriptor();
    CHECK(descriptor == made->descriptor());
    const DeviceSegment adopted =
        DeviceSegment::adopt(device, request_of(piece), copy_of(descriptor));
    CHECK(adopted.access() == DeviceAccess::read_only);
    CHECK(adopted.mapped_twice());
    made.reset();
    CHECK(read(stream, adopted.data() + piece, piece) == what);
    CHECK(batchcast_fake_cuda_used_bytes(0) == before[2] + piece);
  }
  CHECK(held() == before);
}

TEST_CASE("a driver that maps for writing only says so", "[cuda][fake]") {
  const FakeSettings fake("read_only_map=0");
  const auto device = Device::open(0);
  const DeviceAllocation made(device, request_of(piece));
  const DeviceSegment adopted =
      DeviceSegment::adopt(device, request_of(piece), copy_of(made.descriptor()));
  CHECK(adopted.access() == DeviceAccess::read_write);
}

TEST_CASE("what a producer sends is looked at", "[cuda][fake]") {
  const auto before = held();
  {
    const auto device = Device::open(0);
    const DeviceAllocation made(device, request_of(piece));
    CHECK_THROWS_AS(DeviceSegment::adopt(device, request_of(2 * piece), copy_of(made.descriptor())),
                    Refused);
    CHECK_THROWS_WITH(DeviceSegment::adopt(device, request_of(piece),
                                           FileDescriptor(::open("/dev/null", O_RDWR | O_CLOEXEC))),
                      Contains("image") && Contains("cuda:0"));
    for (const std::string& bad : {std::string(), std::string("12"), std::string(128, 'x')}) {
      CHECK_THROWS_AS(DeviceSegment::adopt_legacy(device, request_of(piece), bad), Refused);
    }
    CHECK_THROWS_AS(DeviceSegment::adopt_legacy(device, request_of(piece), std::string(128, '7')),
                    Refused);
  }
  CHECK(held() == before);
}

TEST_CASE("too little device memory: with the numbers", "[cuda][fake]") {
  const FakeSettings fake("memory=64M");
  const auto before = held();
  const auto device = Device::open(0);
  CHECK_THROWS_AS(DeviceAllocation(device, request_of(40 * piece)), OutOfMemory);
  CHECK_THROWS_WITH(DeviceAllocation(device, request_of(40 * piece)),
                    Contains("image, 80.0 MiB") && Contains("of its 64.0 MiB"));
  CHECK_THROWS_AS(DeviceAllocation(device, request_of(40 * piece), Sharing::legacy_ipc),
                  OutOfMemory);
  CHECK_THROWS_AS(DeviceBuffer(device, 40 * piece), OutOfMemory);
  CHECK(held() == before);
}

TEST_CASE("a step that fails leaves nothing behind", "[cuda][fake]") {
  const auto device = Device::open(0);
  const auto before = held();
  for (const char* fault :
       {"alloc_fails=1", "export=0", "reserve_fails=1", "map_fails=1", "map_fails=2"}) {
    INFO(fault);
    const FakeSettings fake(fault);
    CHECK_THROWS_AS(DeviceAllocation(device, request_of(piece)), Error);
    CHECK(held() == before);
  }
}

TEST_CASE("hidden: opens a legacy handle", "[.]") {
  const char* handle = std::getenv("BATCHCAST_TEST_HANDLE");
  REQUIRE(handle != nullptr);
  const auto device = Device::open(0);
  Stream stream(device);
  const DeviceSegment adopted = DeviceSegment::adopt_legacy(device, request_of(piece), handle);
  CHECK_FALSE(adopted.mapped_twice());
  CHECK(read(stream, adopted.data(), 4096) == numbers(4096, 9));
  std::cout << "the same bytes\n";
}

TEST_CASE("legacy memory is read in another process", "[cuda]") {
  const auto device = Device::open(0);
  Stream stream(device);
  const DeviceAllocation made(device, request_of(piece), Sharing::legacy_ipc);
  CHECK_FALSE(made.mapped_twice());
  CHECK(made.descriptor() == -1);
  write(stream, made.data(), numbers(4096, 9));
  const Ended ended = run_hidden("BATCHCAST_TEST_HANDLE='" + made.legacy_handle() + "'",
                                 "hidden: opens a legacy handle");
  INFO(ended.output);
  CHECK(ended.status == 0);
  CHECK_THAT(ended.output, Contains("the same bytes"));
}
