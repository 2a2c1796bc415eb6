// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/cuda/driver.hpp>

#include <batchcast/cuda/device_memory.hpp>
#include <batchcast/cuda/host_pin.hpp>
#include <batchcast/cuda/stream.hpp>
#include "../catch.hpp"
#include "cuda/device_allocation.hpp"
#include "fake.hpp"

#include <batchcast/core/error.hpp>

#include <iostream>
#include <optional>

using namespace batchcast;
using namespace batchcast::detail::cuda;
using namespace batchcast::testing;
using Catch::Contains;

TEST_CASE("devices of this process", "[cuda][fake]") {
  const FakeSettings fake("devices=2");
  CHECK(why_no_driver().empty());
  CHECK(driver_version() == 13000);
  const std::vector<DeviceInfo> all = list_devices();
  REQUIRE(all.size() == 2);
  CHECK(all[1].number == 1);
  CHECK(all[0].uuid != all[1].uuid);
  CHECK(all[0].uuid.size() == 40);
  CHECK_THAT(all[0].uuid, Catch::Matchers::StartsWith("GPU-"));
  CHECK(all[0].memory_bytes == std::uint64_t{16} << 30);
  CHECK(all[0].granularity == std::uint64_t{2} << 20);
  CHECK((all[0].virtual_memory && all[0].exports_descriptors && all[0].legacy_ipc));
  CHECK((!all[0].registers_read_only && !all[0].host_page_tables && !all[0].mig));

  const auto second = Device::open_uuid(all[1].uuid);
  CHECK(second->info().number == 1);
  CHECK_THROWS_WITH(Device::open(2), Contains("no cuda:2") && Contains(all[1].uuid));
  CHECK_THROWS_WITH(Device::open_uuid("GPU-none"),
                    Contains("GPU-none") && Contains("cuda:0 (" + all[0].name + ")"));
}

TEST_CASE("a device that is lost keeps nobody from the others", "[cuda][fake]") {
  const FakeSettings fake("devices=2");
  const std::vector<DeviceInfo> all = list_devices();
  REQUIRE(all.size() == 2);
  batchcast_fake_cuda_lose(0, 46);
  CHECK(Device::open(1)->info().uuid == all[1].uuid);
  CHECK(Device::open_uuid(all[1].uuid)->info().number == 1);
  CHECK_THROWS_AS(Device::open(0), GpuError);
  CHECK_THROWS_AS(Device::open_uuid(all[0].uuid), GpuUnavailable);
  CHECK_THROWS_WITH(Device::open(2), Contains("no cuda:2") && Contains(all[1].uuid));
  CHECK(count_devices() == 2);
  CHECK(look_at_device(1).uuid == all[1].uuid);
  CHECK_THROWS_AS(look_at_device(0), GpuError);
}

TEST_CASE("a process's own device is the current one, then LOCAL_RANK's, then the first",
          "[cuda][fake]") {
  const FakeSettings fake("devices=3");
  struct Rank {
    explicit Rank(const char* value) { ::setenv("LOCAL_RANK", value, 1); }
    ~Rank() { ::unsetenv("LOCAL_RANK"); }
  };
  CHECK(own_device() == 0);
  {
    const Rank rank("2");
    CHECK(own_device() == 2);
    const auto second = Device::open(1);
    const Device::Current current(*second);
    CHECK(own_device() == 1);
  }
  for (const char* const none : {"3", "-1", "first"}) {
    const Rank rank(none);
    CHECK_THROWS_AS(own_device(), GpuUnavailable);
    CHECK_THROWS_WITH(own_device(), Contains(std::string("LOCAL_RANK=") + none) &&
                                        Contains("cuda:2 (Fake GPU 2)"));
  }
  const Rank rank("5");
  const FakeSettings alone("devices=1");  // as where each process is shown its own only
  CHECK(own_device() == 0);
}

TEST_CASE("what a device cannot do is known beforehand", "[cuda][fake]") {
  {
    const FakeSettings fake("vmm=0 read_only_register=1");
    const DeviceInfo info = list_devices().at(0);
    CHECK((!info.virtual_memory && !info.exports_descriptors && info.registers_read_only));
    CHECK(info.granularity == 0);
  }
  const FakeSettings fake("mig=1 export=0 host_page_tables=1");
  const DeviceInfo info = list_devices().at(0);
  CHECK((pins_read_only(info) && !info.registers_read_only));
  CHECK((info.mig && info.virtual_memory && !info.exports_descriptors && !info.legacy_ipc));
  CHECK_THAT(info.uuid, Catch::Matchers::StartsWith("MIG-"));
}

TEST_CASE("the caller's current context stays what it was", "[cuda]") {
  const FakeSettings fake("devices=2");
  const Driver& driver = need_driver();
  const auto first = Device::open(0);
  const auto second = Device::open(1);
  const auto current = [&] {
    CUcontext context = nullptr;
    REQUIRE(driver.ctx_get_current(&context) == CUDA_SUCCESS);
    return static_cast<void*>(context);
  };
  REQUIRE(current() == nullptr);
  const Device::Current theirs(*second);
  {
    Stream stream(first);
    Event event(first);
    DeviceBuffer buffer(first, 4096);
    CHECK(current() == second->context());
    stream.copy_on_device(buffer.data() + 2048, buffer.data(), 2048);
    event.record(stream.handle());
    event.wait();
    stream.wait();
    CHECK(first->free_bytes() < first->info().memory_bytes);
    // Also where it fails.
    CHECK_THROWS_AS(DeviceBuffer(first, std::uint64_t{1} << 40), OutOfMemory);
    CHECK(current() == second->context());
  }
  CHECK(current() == second->context());
}

TEST_CASE("the last one to use a device lets go of its context", "[cuda][fake]") {
  const std::uint64_t before = batchcast_fake_cuda_count().contexts;
  {
    std::optional<Stream> stream;
    {
      const auto device = Device::open(0);
      stream.emplace(device);
    }
    CHECK(batchcast_fake_cuda_count().contexts == before + 1);
    CHECK_NOTHROW(stream->wait());
  }
  CHECK(batchcast_fake_cuda_count().contexts == before);
}

// The driver is initialised once a process: these run in processes of their own.

TEST_CASE("hidden: says why there is no GPU", "[.]") {
  CHECK(list_devices().empty());
  CHECK(find_driver() == nullptr);
  std::cout << why_no_driver() << "\n";
  CHECK_THROWS_AS(Device::open(0), GpuUnavailable);
}

TEST_CASE("no driver to be used: the reason and what to do", "[cuda][fake]") {
  const auto say = [](const std::string& settings) {
    const Ended ended =
        run_hidden("BATCHCAST_FAKE_CUDA='" + settings + "'", "hidden: says why there is no GPU");
    INFO(ended.output);
    CHECK(ended.status == 0);
    return ended.output;
  };
  CHECK_THAT(say("devices=0"), Contains("CUDA_ERROR_NO_DEVICE") && Contains("nvidia-smi"));
  CHECK_THAT(say("init=803"), Contains("different versions"));
}

TEST_CASE("hidden: ends with everything in use", "[.]") {
  // Destroyed after the driver has ended: it was loaded later.
  static std::optional<Stream> stream;
  static std::optional<Event> event;
  static std::optional<DeviceAllocation> segment;
  static std::optional<DeviceBuffer> buffer;
  static std::optional<HostPin> pin;
  static const Pages pages(1 << 20);
  const auto device = Device::open(0);
  stream.emplace(device);
  event.emplace(device);
  DeviceSegment::Request request;
  request.name = "image";
  request.bytes = device->info().granularity;
  segment.emplace(device, request);
  buffer.emplace(device, 4096);
  HostPin::Range range;
  range.data = pages.data();
  range.bytes = pages.bytes();
  pin.emplace(device, range);
  event->record(stream->handle());
  std::cout << "in use\n";
}

TEST_CASE("a process ends quietly though its driver is gone first", "[cuda]") {
  const Ended ended = run_hidden("", "hidden: ends with everything in use");
  INFO(ended.output);
  CHECK(ended.status == 0);
  CHECK_THAT(ended.output, Contains("in use"));
}

TEST_CASE("a forked child makes no calls, and is told why", "[cuda]") {
  const auto device = Device::open(0);
  std::optional<Stream> stream(std::in_place, device);
  std::optional<Event> event(std::in_place, device);
  std::optional<DeviceBuffer> buffer(std::in_place, device, 4096);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int wrong = 0;
    try {
      (void)Device::open(0);
      wrong |= 1;
    } catch (const Forked&) {
    } catch (...) {
      wrong |= 2;
    }
    try {
      stream->wait();
      wrong |= 4;
    } catch (const Forked&) {
    } catch (...) {
      wrong |= 8;
    }
    if (find_driver() != nullptr || why_no_driver().find("forked") == std::string::npos)
      wrong |= 16;
    event.reset();
    buffer.reset();
    stream.reset();
    ::_exit(wrong);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK_NOTHROW(stream->wait());
}
