// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/cuda/device_memory.hpp>
#include <batchcast/cuda/host_buffer.hpp>
#include <batchcast/cuda/host_pin.hpp>
#include <batchcast/cuda/stream.hpp>
#include "../catch.hpp"
#include "../multiprocess/process.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/ring/memory.hpp>

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

// What only a driver and a GPU can answer. Each prints one line; what the library relies on is
// checked as well.
namespace batchcast::testing {
namespace {

void answer(const std::string& question, const std::string& text) {
  std::printf("> %s: %s\n", question.c_str(), text.c_str());
  std::fflush(stdout);
}

detail::cuda::DeviceInfo first_gpu() {
  const auto gpus = detail::cuda::list_devices();
  if (gpus.empty()) FAIL("no GPU: " << detail::cuda::why_no_driver());
  return gpus.front();
}

/// One process that owns memory of the GPU, and others that map it.
class Shared {
 public:
  explicit Shared(const std::string& sharing) {
    const std::uint64_t granularity = first_gpu().granularity;
    words_ = {"sharing=" + sharing, "socket=" + directory_.path() + "/questions",
              "bytes=" + std::to_string(8 * (granularity != 0 ? granularity : 2 << 20))};
    owner = Process("owner", words_);
    handle_ = owner.expect("owns", 60'000).text("handle");
  }
  ~Shared() { std::remove((directory_.path() + "/questions").c_str()); }

  /// `mapped` gets what it said of its mapping.
  Process importer(Words& mapped) {
    std::vector<std::string> words = words_;
    words.push_back("handle=" + handle_);
    Process process("importer", words);
    if (handle_ == "none") owner.tell("give");
    mapped = process.expect("mapped", 60'000);
    return process;
  }

  Process owner;

 private:
  OwnDirectory directory_;
  std::vector<std::string> words_;
  std::string handle_;
};

std::string ask(Process& process, const std::string& what) {
  process.tell(what);
  return process.line(30'000).value_or("no answer: " + process.wait(1'000).text());
}

// Whose fault under MPS ends every client of that GPU.
TEST_CASE("questions: read-only imports", "[question][faults]") {
  if (!first_gpu().exports_descriptors) return answer("read-only imports", "nothing is exported");
  Shared shared("descriptor");
  Words mapped;
  Process importer = shared.importer(mapped);
  CHECK(ask(importer, "check") == "intact");
  const std::string written = ask(importer, "write");
  const std::string seen = ask(shared.owner, "check");
  answer("read-only imports", "mapped " + mapped.text("access") + ", " +
                                  (mapped.number("twice") != 0 ? "twice" : "once") +
                                  "; a write there: " + written + "; the owner's memory is " +
                                  seen);
  if (mapped.text("access") == "read_only") {
    CHECK(written != "wrote");
    CHECK(seen == "intact");
  }
}

TEST_CASE("questions: the owner is killed while others read", "[question]") {
  if (!first_gpu().exports_descriptors) return answer("owner killed", "nothing is exported");
  Shared shared("descriptor");
  Words mapped;
  Process reader = shared.importer(mapped);
  Process copier = shared.importer(mapped);
  copier.tell("copy");
  copier.expect("copying");
  shared.owner.kill();
  CHECK(shared.owner.wait().killed_by(SIGKILL));
  const std::string seen = ask(reader, "check");
  answer("owner killed, virtual memory", "an importer then finds it " + seen +
                                             ", one with copies under way " +
                                             (copier.wait(500).ended ? "ended" : "goes on"));
  CHECK(seen == "intact");
  CHECK_FALSE(copier.wait(0).ended);
}

TEST_CASE("questions: an importer is killed while its copies run", "[question]") {
  if (!first_gpu().exports_descriptors) return answer("importer killed", "nothing is exported");
  Shared shared("descriptor");
  Words mapped;
  Process reader = shared.importer(mapped);
  Process copier = shared.importer(mapped);
  copier.tell("copy");
  copier.expect("copying");
  copier.kill();
  CHECK(copier.wait().killed_by(SIGKILL));
  const std::string owners = ask(shared.owner, "check");
  const std::string readers = ask(reader, "check");
  Process another = shared.importer(mapped);
  const std::string anothers = ask(another, "check");
  answer("importer killed in mid-copy", "owner " + owners + ", another importer " + readers +
                                            ", one that comes later " + anothers);
  CHECK(owners == "intact");
  CHECK(readers == "intact");
  CHECK(anothers == "intact");
}

TEST_CASE("questions: legacy handles", "[question]") {
  if (!first_gpu().legacy_ipc) return answer("owner killed, legacy", "no legacy handles here");
  Shared shared("legacy");
  Words mapped;
  Process importer = shared.importer(mapped);
  CHECK(ask(importer, "check") == "intact");
  shared.owner.kill();
  CHECK(shared.owner.wait().killed_by(SIGKILL));
  // Nothing is promised here: docs/gpu.md says what was seen.
  answer("owner killed, legacy handle", "an importer then finds it " + ask(importer, "check"));
}

TEST_CASE("questions: memory comes back once all are killed", "[question]") {
  if (!first_gpu().exports_descriptors) return answer("all killed", "nothing is exported");
  const auto device = detail::cuda::Device::open(0);
  const std::uint64_t before = device->free_bytes();
  Shared shared("descriptor");
  Words mapped;
  Process importer = shared.importer(mapped);
  shared.owner.kill();
  CHECK(shared.owner.wait().killed_by(SIGKILL));
  importer.kill();
  CHECK(importer.wait().killed_by(SIGKILL));
  const std::uint64_t killed_ns = now_ns();
  const std::uint64_t slack = 4 << 20;
  const bool back = eventually([&] { return device->free_bytes() + slack >= before; });
  answer("all killed", back ? "the memory is free after " +
                                  std::to_string((now_ns() - killed_ns) / 1'000'000) + " ms"
                            : "the memory is still taken after 10 s");
  CHECK(back);
}

/// GB/s of one copy of all of it, after one that does not count.
std::string rate(detail::cuda::Stream& stream, const detail::cuda::DeviceBuffer& to,
                 const std::byte* from) {
  std::uint64_t began_ns = 0;
  for (int round = 0; round < 2; ++round) {
    began_ns = now_ns();
    for (std::uint64_t at = 0; at < to.bytes(); at += detail::cuda::pin_piece_bytes) {
      stream.copy_to_device(to.data() + at, from + at, detail::cuda::pin_piece_bytes);
    }
    stream.wait();
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GB/s",
                static_cast<double>(to.bytes()) / static_cast<double>(now_ns() - began_ns));
  return text;
}

TEST_CASE("questions: pinning a ring that others may only read", "[question]") {
  const detail::cuda::DeviceInfo gpu = first_gpu();
  const auto device = detail::cuda::Device::open(0);
  detail::cuda::Stream stream(device);
  const std::uint64_t bytes = 2 * detail::cuda::pin_piece_bytes;
  Segment segment = Segment::create_small("question", bytes);
  {
    const Mapping writable(segment, MapMode::read_write);
    for (std::uint64_t i = 0; i < bytes; ++i) writable.data()[i] = static_cast<std::byte>(i / 4093);
  }
  segment.seal(Seals::shrink | Seals::grow | Seals::future_write | Seals::seal);
  const DoubleMapping mapping(segment, MapMode::read_only);
  const detail::cuda::DeviceBuffer buffer(device, bytes);
  const std::string pageable = rate(stream, buffer, mapping.data());
  const bool can = detail::cuda::pins_read_only(gpu);
  const std::string told = can ? "says yes" : "says no";
  const detail::cuda::HostBuffer own(device, bytes);
  std::copy(mapping.data(), mapping.data() + bytes, own.data());
  const std::string staged = "; from page-locked memory of its own " +
                             rate(stream, buffer, own.data()) + ", unpinned " + pageable;
  std::vector<detail::cuda::HostPin> pins;
  try {
    for (const std::uint64_t half : {std::uint64_t{0}, bytes}) {
      pins.emplace_back(device,
                        detail::cuda::HostPin::Range{
                            .data = mapping.data() + half, .bytes = bytes, .read_only = true});
    }
  } catch (const Error& error) {
    answer("pinning a sealed read-only mapping", "the driver " + told + "; " +
                                                     (pins.empty() ? "no half" : "one half") +
                                                     " was pinned: " + error.what() + staged);
    CHECK_FALSE(can);
    return;
  }
  answer("pinning a sealed read-only mapping",
         "the driver " + told + "; both halves are pinned; copies " +
             rate(stream, buffer, mapping.data()) + " and, from the second half, " +
             rate(stream, buffer, mapping.data() + bytes) + staged);
  std::vector<std::byte> back(bytes);
  stream.copy_to_host(back.data(), buffer.data(), bytes);
  stream.wait();
  CHECK(std::equal(back.begin(), back.end(), mapping.data()));
}

}  // namespace
}  // namespace batchcast::testing
