// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "device_ring_support.hpp"

#include "gpu/mirror/mirror_copier.hpp"
#include "gpu/ring/device_ring_memory.hpp"

#include <random>

using namespace batchcast;
using namespace batchcast::testing;
using detail::MirrorCopier;

namespace {

/// What a device ring is, without its mirror.
struct Copies {
  explicit Copies(KnownHostRing& host)
      : device(detail::cuda::Device::open(0)),
        layout(detail::plan_device_ring(host.options, device->info())),
        memory({device, host.options, layout, {}}),
        copier({device, host.options, layout, memory.windows(), memory.mapped_twice(), host.windows,
                host.plan.capacity}) {}

  /// All that arrived, byte by byte; without the help of a second mapping.
  [[nodiscard]] bool is_right(const Ticket& ticket) const {
    for (std::size_t f = 0; f < layout.fields.size(); ++f) {
      const FieldWindow& window = memory.windows()[f];
      for (std::uint64_t p = ticket.position; p < ticket.position + ticket.size; ++p) {
        const void* at = window.at(p);
        if (layout.fields[f].on_device) {
          at = batchcast_fake_cuda_look(reinterpret_cast<unsigned long long>(at),
                                        window.sample_bytes);
        }
        if (at == nullptr || !equals(f, p, static_cast<const std::byte*>(at))) return false;
      }
    }
    return true;
  }
  [[nodiscard]] bool equals(std::size_t f, std::uint64_t p, const std::byte* bytes) const {
    if (f + 1 == layout.fields.size()) {
      const std::uint64_t id = id_of(p);
      return std::memcmp(bytes, &id, sizeof id) == 0;
    }
    for (std::uint64_t i = 0; i < memory.windows()[f].sample_bytes; ++i) {
      if (bytes[i] != byte_of(f, p, i)) return false;
    }
    return true;
  }

  std::shared_ptr<detail::cuda::Device> device;
  detail::DeviceRingLayout layout;
  detail::DeviceRingMemory memory;
  MirrorCopier copier;
};

}  // namespace

namespace {

/// Makes nothing of all images.
class Idle final : public DeviceStage {
 public:
  [[nodiscard]] DevicePlan plan(const Schema&) const override {
    DevicePlan plan;
    plan.fields = {{{"made", DType::u8, {4096}}, std::nullopt}};
    plan.reads = {0};
    return plan;
  }
  [[nodiscard]] std::string recipe_json(const std::string&) const override { return {}; }
  [[nodiscard]] bool pure() const noexcept override { return false; }
  [[nodiscard]] std::unique_ptr<DeviceProgram> prepare(const Schema&, std::uint64_t,
                                                       std::size_t) const override {
    struct Program final : DeviceProgram {
      void enqueue(const DeviceRun&) override {}
    };
    return std::make_unique<Program>();
  }
};

/// How many pieces are on their way before the first has to have arrived.
std::size_t pieces_in_flight(const ProducerOptions& options) {
  KnownHostRing host(options);
  Copies copies(host);
  batchcast_fake_cuda_hold(nullptr);
  std::uint64_t position = 0;
  while (copies.copier.has_room()) {
    const std::uint64_t samples = copies.copier.samples_max(position);
    copies.copier.enqueue({position, samples, 0, 0});
    position += samples;
  }
  CHECK(position <= std::min(host.plan.capacity, copies.layout.capacity));
  const std::size_t pieces = copies.copier.in_flight();
  batchcast_fake_cuda_release(nullptr);
  return pieces;
}

}  // namespace

TEST_CASE("while a stage waits for its turn on the GPU, more pieces come into its staging") {
  const FakeGpu fake("granularity=64K delay_us=0");
  ProducerOptions options;
  options.stream = "s";
  options.schema = {{"image", DType::u8, {1 << 20}}};
  options.memory = std::uint64_t{260} << 20;
  options.device_memory = std::uint64_t{260} << 20;
  CHECK(pieces_in_flight(options) == 4);
  options.device_stage = std::make_shared<Idle>();
  options.device_memory = std::uint64_t{4} << 20;
  CHECK(pieces_in_flight(options) == 8);  // of 16 MiB: half of the host ring
  options.memory = std::uint64_t{20} << 20;
  CHECK(pieces_in_flight(options) == 4);  // of a quarter of the ring
}

TEST_CASE("what a mirror enqueues goes before what the process has on other streams") {
  const FakeGpu fake("granularity=64K");
  ProducerOptions options = small_stream(100);
  options.device_memory = 512 * 1024;
  KnownHostRing host(options);
  const auto before = batchcast_fake_cuda_count();
  const detail::cuda::Stream usual(detail::cuda::Device::open(0));
  const Copies copies(host);
  const auto after = batchcast_fake_cuda_count();
  CHECK(after.streams == before.streams + 3);
  CHECK(after.high_priority_streams == before.high_priority_streams + 2);
}

TEST_CASE("pieces arrive whole, in order, wherever both rings wrap and however they pad") {
  const char* settings = "";
  SECTION("mapped twice") { settings = "granularity=64K delay_us=100"; }
  SECTION("mapped once, as without virtual memory") {
    settings = "vmm=0 delay_us=100";
    if (!batchcast_fake_cuda_can(settings)) return;
  }
  const FakeGpu fake(settings);
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  ProducerOptions options;
  options.stream = "s";
  // Odd sizes: padded where the granules are small, not where they are large, or differently.
  options.schema = {{"a", DType::u8, {1021}}, {"b", DType::f16, {61}}, {"c", DType::i64, {}}};
  options.host_fields = {"c"};
  options.memory = 200'000;
  options.device_memory = 6 << 20;
  if (std::string(settings).find("vmm") == std::string::npos)
    options.device_memory = ring_bytes(320 * 1024, 3);
  KnownHostRing host(options);
  Copies copies(host);
  MirrorCopier& copier = copies.copier;
  const std::uint64_t span = std::min(host.plan.capacity, copies.layout.capacity);
  for (std::uint64_t first = 0; first < 20 * span; first += span) {
    std::vector<Ticket> expected;
    const Ticket ticket{first, span, 0, 0};
    for (std::uint64_t p = first; p < first + span; ++p) host.make(p);
    std::uint64_t done = 0;
    while (done < ticket.size || copier.in_flight() > 0) {
      if (copier.has_room() && done < ticket.size) {
        const std::uint64_t begin = ticket.position + done;
        const std::uint64_t some = std::min(
            {1 + random() % copier.samples_max(begin), ticket.size - done, ticket.size / 4 + 1});
        copier.enqueue({begin, some, 0, 0});
        expected.push_back({begin, some, 0, 0});
        done += some;
      } else if (copier.oldest_arrived()) {
        const MirrorCopier::Piece piece = copier.pop_oldest();
        CHECK(piece.ticket.position == expected.front().position);
        CHECK(copies.is_right(piece.ticket));
        Receipt receipt;
        for (std::uint64_t p = piece.ticket.position; p < piece.ticket.position + piece.ticket.size;
             ++p) {
          const std::uint64_t id = id_of(p);
          receipt.add(std::span(&id, 1));
        }
        CHECK(piece.receipt == receipt);
        expected.erase(expected.begin());
      }
    }
  }
}
