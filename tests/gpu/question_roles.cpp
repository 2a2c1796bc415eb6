// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/cuda/device_memory.hpp>
#include <batchcast/cuda/stream.hpp>
#include "../multiprocess/process.hpp"
#include "cuda/device_allocation.hpp"
#include "handed_over.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// The processes that questions.cpp asks: one that has memory of a GPU, and those that map it.
namespace batchcast::testing {
namespace {

using detail::cuda::Device;
using detail::cuda::DeviceAllocation;
using detail::cuda::DeviceSegment;
using detail::cuda::Sharing;

std::vector<std::uint64_t> pattern(std::uint64_t bytes) {
  std::vector<std::uint64_t> words(bytes / sizeof(std::uint64_t));
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = i * 0x9E3779B97F4A7C15U;
  return words;
}

DeviceSegment::Request request(const Words& words) {
  return {.name = "question", .bytes = static_cast<std::uint64_t>(words.number("bytes"))};
}

Sharing sharing(const Words& words) {
  return words.text("sharing") == "legacy" ? Sharing::legacy_ipc : Sharing::descriptor;
}

/// Whether both mappings of it show the pattern.
template <class Segment>
bool shows_pattern(detail::cuda::Stream& stream, const Segment& segment) {
  const std::vector<std::uint64_t> expected = pattern(segment.bytes());
  std::vector<std::uint64_t> seen(expected.size());
  for (std::uint64_t half = 0; half < (segment.mapped_twice() ? 2 : 1); ++half) {
    stream.copy_to_host(reinterpret_cast<std::byte*>(seen.data()),
                        segment.data() + half * segment.bytes(), segment.bytes());
    stream.wait();
    if (seen != expected) return false;
  }
  return true;
}

int run_owner(const Words& words) {
  const auto device = Device::open(0);
  detail::cuda::Stream stream(device);
  auto segment = std::make_optional<DeviceAllocation>(device, request(words), sharing(words));
  const std::vector<std::uint64_t> written = pattern(segment->bytes());
  stream.copy_to_device(segment->data(), reinterpret_cast<const std::byte*>(written.data()),
                        segment->bytes());
  stream.wait();
  const FileDescriptor listener = listen_at(words.text("socket"));
  const bool legacy = sharing(words) == Sharing::legacy_ipc;
  say("owns handle=" + (legacy ? segment->legacy_handle() : std::string("none")));
  while (const auto line = hear()) {
    if (*line == "give") hand_over(listener, segment->descriptor());
    if (*line == "check") say(shows_pattern(stream, *segment) ? "intact" : "changed");
    if (*line == "free") {
      segment.reset();
      say("freed");
    }
  }
  return 0;
}

void write_into(detail::cuda::Stream& stream, const DeviceSegment& segment) {
  const std::vector<std::uint64_t> zeros(segment.bytes() / sizeof(std::uint64_t));
  try {
    stream.copy_to_device(segment.data(), reinterpret_cast<const std::byte*>(zeros.data()),
                          segment.bytes());
    stream.wait();
  } catch (const Error& error) {
    say("refused: " + std::string(error.what()));
    return;
  }
  say("wrote");
}

/// Copies without end, always some of them under way.
[[noreturn]] void copy_on(const std::shared_ptr<Device>& device, detail::cuda::Stream& stream,
                          const DeviceSegment& segment) {
  const detail::cuda::DeviceBuffer own(device, segment.bytes());
  for (std::uint64_t round = 0;; ++round) {
    for (int i = 0; i < 32; ++i) {
      stream.copy_on_device(own.data(), segment.data(), segment.bytes());
    }
    if (round == 0) say("copying");
    stream.wait();
  }
}

int run_importer(const Words& words) {
  const auto device = Device::open(0);
  detail::cuda::Stream stream(device);
  const bool legacy = sharing(words) == Sharing::legacy_ipc;
  const DeviceSegment segment =
      legacy ? DeviceSegment::adopt_legacy(device, request(words), words.text("handle"))
             : DeviceSegment::adopt(device, request(words), fetch_from(words.text("socket")));
  say(std::string("mapped access=") +
      (segment.access() == detail::cuda::DeviceAccess::read_only ? "read_only" : "read_write") +
      " twice=" + (segment.mapped_twice() ? "1" : "0"));
  while (const auto line = hear()) {
    if (*line == "check") say(shows_pattern(stream, segment) ? "intact" : "changed");
    if (*line == "write") write_into(stream, segment);
    if (*line == "copy") copy_on(device, stream, segment);
  }
  return 0;
}

const RoleRegistration owner("owner", run_owner);
const RoleRegistration importer("importer", run_importer);

}  // namespace
}  // namespace batchcast::testing
