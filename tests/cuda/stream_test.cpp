// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/cuda/stream.hpp>

#include <batchcast/cuda/device_memory.hpp>
#include <batchcast/cuda/host_pin.hpp>
#include "../catch.hpp"
#include "fake.hpp"

#include <batchcast/core/error.hpp>

#include <cstring>
#include <optional>
#include <string>

using namespace batchcast;
using namespace batchcast::detail::cuda;
using namespace batchcast::testing;
using Catch::Contains;

namespace {

HostPin::Range range_of(const Pages& pages, bool read_only = false) {
  HostPin::Range range;
  range.data = pages.data();
  range.bytes = pages.bytes();
  range.read_only = read_only;
  return range;
}

}  // namespace

TEST_CASE("copies of pinned memory do not wait, and an event tells when they are done", "[cuda]") {
  const auto device = Device::open(0);
  const Pages pages(1 << 20);
  const HostPin pin(device, range_of(pages));
  Stream stream(device);
  Event event(device);
  DeviceBuffer buffer(device, pages.bytes());
  CHECK(event.passed());
  std::memset(pages.data(), 5, 1000);
  batchcast_fake_cuda_hold(stream.handle());
  stream.copy_to_device(buffer.data(), pages.data(), 1000);
  stream.copy_on_device(buffer.data() + 1000, buffer.data(), 1000);
  stream.copy_to_host(pages.data() + 4096, buffer.data() + 1000, 1000);
  event.record(stream.handle());
  CHECK_FALSE(event.passed());
  CHECK(pages.data()[4096] == std::byte{0});
  batchcast_fake_cuda_release(stream.handle());
  event.wait();
  CHECK(event.passed());
  CHECK(std::memcmp(pages.data(), pages.data() + 4096, 1000) == 0);
}

TEST_CASE("rows are copied with strides of their own", "[cuda]") {
  const auto device = Device::open(0);
  const Pages pages(1 << 16);
  const HostPin pin(device, range_of(pages));
  Stream stream(device);
  DeviceBuffer first(device, 4096);
  DeviceBuffer second(device, 4096);
  for (std::size_t i = 0; i < 4096; ++i) pages.data()[i] = static_cast<std::byte>(i % 251);
  Stream::Rows rows;
  rows.to = first.data();
  rows.to_stride_bytes = 100;
  rows.from = pages.data();
  rows.from_stride_bytes = 256;
  rows.row_bytes = 90;
  rows.rows = 16;
  rows.from_host = true;
  stream.copy_rows(rows);
  rows.to = second.data();
  rows.to_stride_bytes = 90;
  rows.from = first.data();
  rows.from_stride_bytes = 100;
  rows.from_host = false;
  stream.copy_rows(rows);
  std::byte* const back = pages.data() + 8192;
  stream.copy_to_host(back, second.data(), 90 * 16);
  stream.wait();
  for (std::size_t row = 0; row < 16; ++row) {
    CHECK(std::memcmp(back + row * 90, pages.data() + row * 256, 90) == 0);
  }
}

TEST_CASE("a stream that fails says so at its event, by call and device", "[cuda][fake]") {
  const FakeSettings fake("copy_fails=1");
  const auto device = Device::open(0);
  const Pages pages(4096);
  const HostPin pin(device, range_of(pages));
  Stream stream(device);
  Event event(device);
  DeviceBuffer buffer(device, 4096);
  stream.copy_to_device(buffer.data(), pages.data(), 4096);
  CHECK_THROWS_WITH(
      [&] {
        event.record(stream.handle());
        event.wait();
      }(),
      Contains("cuda:0 (") && Contains("CUDA_ERROR_"));
  CHECK_THROWS_AS(event.passed(), GpuError);
}

TEST_CASE("a lost device is an error of every call, and of no destructor", "[cuda][fake]") {
  const FakeSettings fake("");
  std::optional<Stream> stream;
  std::optional<Event> event;
  std::optional<DeviceBuffer> buffer;
  {
    const auto device = Device::open(0);
    stream.emplace(device);
    event.emplace(device);
    buffer.emplace(device, 4096);
  }
  batchcast_fake_cuda_lose(0, 46);
  CHECK_THROWS_AS(stream->copy_on_device(buffer->data(), buffer->data() + 2048, 10), GpuError);
  CHECK_THROWS_AS(event->record(stream->handle()), GpuError);
  CHECK_THROWS_AS(stream->wait(), GpuError);
  event.reset();
  buffer.reset();
  stream.reset();
}

TEST_CASE("host memory is registered in pieces, and for as long as the pin lives", "[cuda][fake]") {
  const auto device = Device::open(0);
  const Pages pages(2 * pin_piece_bytes + 4096);
  const auto before = batchcast_fake_cuda_count();
  {
    HostPin pin(device, range_of(pages));
    CHECK(batchcast_fake_cuda_count().registered_pieces == before.registered_pieces + 3);
    CHECK(batchcast_fake_cuda_count().registered_bytes == before.registered_bytes + pages.bytes());
    const HostPin moved(std::move(pin));
    CHECK_THROWS_WITH(HostPin(device, range_of(pages)), Contains("other code of this process"));
  }
  CHECK(batchcast_fake_cuda_count().registered_pieces == before.registered_pieces);
}

TEST_CASE("read-only mappings are registered as such", "[cuda][fake]") {
  const Pages pages(1 << 16);
  pages.make_read_only();
  const char* const how = GENERATE("read_only_register=1", "host_page_tables=1");
  INFO(how);
  {
    const FakeSettings fake(how);
    const auto device = Device::open(0);
    if (how == std::string("read_only_register=1")) {
      CHECK_THROWS_AS(HostPin(device, range_of(pages)), GpuError);
    }
    const HostPin pin(device, range_of(pages, true));
    DeviceBuffer buffer(device, pages.bytes());
    Stream stream(device);
    stream.copy_to_device(buffer.data(), pages.data(), pages.bytes());
    stream.wait();
  }
  const FakeSettings fake("");
  const auto device = Device::open(0);
  CHECK_THROWS_WITH(HostPin(device, range_of(pages, true)), Contains("read-only"));
}

TEST_CASE("a registration that fails says where to look, and leaves nothing behind",
          "[cuda][fake]") {
  const auto device = Device::open(0);
  const Pages pages(2 * pin_piece_bytes);
  const auto before = batchcast_fake_cuda_count().registered_pieces;
  const FakeSettings fake("register_fails=2");
  std::string text;
  try {
    const HostPin pin(device, range_of(pages));
  } catch (const GpuError& error) {
    text = error.what();
  }
  CHECK_THAT(text, Contains("cuMemHostRegister") && Contains("dmesg") && Contains("memory.max") &&
                       Contains("seccomp"));
  // The driver pins without a look at RLIMIT_MEMLOCK.
  CHECK_THAT(text, !Contains("ulimit") && !Contains("MEMLOCK"));
  CHECK(batchcast_fake_cuda_count().registered_pieces == before);
}

TEST_CASE("what is pinned as a whole is cut where a driver takes no more at a time",
          "[cuda][fake]") {
  const auto device = Device::open(0);
  const Pages pages(std::uint64_t{600} << 30);  // of addresses only
  const auto before = batchcast_fake_cuda_count();
  HostPin::Range range = range_of(pages);
  range.whole = true;
  const HostPin pin(device, range);
  const auto after = batchcast_fake_cuda_count();
  CHECK(after.registered_pieces == before.registered_pieces + 3);
  CHECK(after.registered_bytes == before.registered_bytes + pages.bytes());
}
