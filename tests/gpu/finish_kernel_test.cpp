// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cuda/finish_kernel.hpp"
#include <batchcast/cuda/device.hpp>
#include <batchcast/cuda/device_memory.hpp>
#include <batchcast/cuda/stream.hpp>
#include "../cuda/fake.hpp"
#include "catch.hpp"
#include "finish_support.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/finish_stage.hpp>

#include <cstdlib>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The device stage that finishes images, on the fake driver or on a GPU: its bytes are those of the
// whole recipe on the CPU.
namespace batchcast::test {
namespace {

using Bytes = std::vector<std::byte>;

/// Samples with room between them, as a ring whose stride is padded has them.
Bytes spread(const Bytes& dense, std::size_t sample_bytes, std::size_t stride) {
  Bytes out(dense.size() / sample_bytes * stride, std::byte{0xab});
  for (std::size_t i = 0; i * sample_bytes < dense.size(); ++i) {
    std::memcpy(out.data() + i * stride, dense.data() + i * sample_bytes, sample_bytes);
  }
  return out;
}

struct Layout {
  std::uint64_t in_offset = 0;  ///< from an address that is aligned to everything
  std::uint64_t in_pad = 0;     ///< bytes between samples
  std::uint64_t out_pad = 0;
};

struct Compared {
  Bytes finished;  ///< of the device, with the room between samples
  Bytes expected;  ///< of the CPU, with the same
  [[nodiscard]] bool equal() const { return finished == expected; }
};

/// One epoch of `options`, once by the whole recipe on the CPU and once finished on the GPU, in
/// runs of at most `run_max` samples.
Compared finish(const PipelineOptions& options, const Layout& layout, std::uint64_t epoch,
                std::uint64_t run_max) {
  const FinishOnGpu divided = finish_on_gpu(options);
  const Pipeline whole(options);
  const Pipeline host(divided.host);
  const std::uint64_t samples = whole.samples_per_epoch();
  Made made = make(host, {epoch, 0, samples});
  const std::uint64_t in_bytes = host.schema()[1].byte_count();
  const std::uint64_t out_bytes = whole.schema()[1].byte_count();
  const std::uint64_t in_stride = in_bytes + layout.in_pad;
  const std::uint64_t out_stride = out_bytes + layout.out_pad;
  const Bytes pixels = spread(made.fields[1], in_bytes, in_stride);
  Compared result;
  result.expected = spread(make(whole, {epoch, 0, samples}).fields[1], out_bytes, out_stride);
  result.finished.assign(result.expected.size(), std::byte{0xab});

  const auto device = detail::cuda::Device::open(0);
  const detail::cuda::Device::Current current(*device);
  const detail::cuda::DeviceBuffer in(device, pixels.size() + layout.in_offset);
  const detail::cuda::DeviceBuffer out(device, result.finished.size());
  detail::cuda::Stream stream(device);
  stream.copy_to_device(in.data() + layout.in_offset, pixels.data(), pixels.size());
  stream.copy_to_device(out.data(), result.finished.data(), result.finished.size());
  const auto program = divided.stage->prepare(host.schema(), samples, 2);
  for (std::uint64_t first = 0; first < samples; first += run_max) {
    const DeviceField from{in.data() + layout.in_offset + first * in_stride, in_stride};
    const DeviceField to{out.data() + first * out_stride, out_stride};
    const std::uint64_t count = std::min(run_max, samples - first);
    std::vector<std::uint64_t> ids(made.ids.begin() + static_cast<std::ptrdiff_t>(first),
                                   made.ids.begin() + static_cast<std::ptrdiff_t>(first + count));
    program->enqueue({stream.handle(), epoch * samples + first, count, epoch, ids,
                      std::span(&from, 1), std::span(&to, 1)});
    // The ids were lent for as long as the call.
    std::fill(ids.begin(), ids.end(), 0);
  }
  stream.copy_to_host(result.finished.data(), out.data(), result.finished.size());
  stream.wait();
  return result;
}

unsigned seed_of_today() {
  const char* given = std::getenv("BATCHCAST_TEST_SEED");
  return given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10))
                          : std::random_device{}();
}

}  // namespace

TEST_CASE("Finish: the GPU makes the CPU's bytes, whatever the recipe", "[gpu][finish][kernel]") {
  if (!has_kernel()) return;
  const unsigned seed = seed_of_today();
  INFO("BATCHCAST_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  const auto device = detail::cuda::Device::open(0);  // once: making its context takes long
  for (int round = 0; round < 40; ++round) {
    const bool whole_words = round % 2 == 0;  // where four pixels are done at a time
    const unsigned channels = below(2) == 0 ? 1 : 3;
    const unsigned width = whole_words ? 4 * (1 + below(9)) : 1 + below(37);
    const unsigned height = 1 + below(29);
    const std::string dtype = std::vector<std::string>{"f32", "f16", "bf16"}[below(3)];
    const unsigned element_bytes = dtype == "f32" ? 4 : 2;
    const bool flips = round % 3 != 0;
    std::string stages = flips ? "{ stage = \"horizontal_flip\", p = 0.5 }, " : "";
    stages += to_stage(dtype, below(2) == 0);
    if (below(3) != 0) {
      // From what becomes subnormal in f16 to what becomes infinite.
      const char* const std_of[] = {"0.226", "[0.229, 0.224, 0.225]", "30000.0", "1e-5"};
      const unsigned which = below(4);
      if (channels == 3 || which != 1) {
        stages += "{ stage = \"normalize\", mean = " +
                  std::string(which == 1 ? "[0.485, 0.456, 0.406]" : "0.449") +
                  ", std = " + std_of[which] + " }";
      }
    }
    Layout layout{4 * below(3), 4 * below(9), 4 * element_bytes * below(9)};
    if (!whole_words) layout = {below(3), below(9), element_bytes * below(9)};
    CAPTURE(round, channels, width, height, stages, layout.in_offset, layout.in_pad,
            layout.out_pad);
    const auto options = images(1 + below(40), {height, width, channels}, stages);
    CHECK(finish(options, layout, below(3), 1 + below(40)).equal());
  }
}

TEST_CASE("Finish: more samples than one launch takes", "[gpu][finish][kernel]") {
  if (!has_kernel()) return;
  const std::string stages = "{ stage = \"horizontal_flip\" }, " + to_stage("bf16", true);
  CHECK(finish(images(16'384 + 70, {1, 4, 1}, stages), {}, 1, 1 << 20).equal());
}

TEST_CASE("Finish: which samples are mirrored changes with the epoch", "[gpu][finish][kernel]") {
  if (!has_kernel()) return;
  auto options = images(64, {1, 4, 1}, "{ stage = \"horizontal_flip\" }, " + to_stage("f32", true));
  options.recipe.order = OrderMode::sequential;
  const Compared first = finish(options, {}, 0, 64);
  const Compared second = finish(options, {}, 1, 64);
  CHECK(first.equal());
  CHECK(second.equal());
  CHECK(first.finished != second.finished);
}

TEST_CASE("Finish: a stage that was made for another host ring says so", "[gpu][finish]") {
  const auto options = images(4, {2, 4, 3}, to_stage("f32", true));
  const FinishOnGpu divided = finish_on_gpu(options);
  const Pipeline host(divided.host);
  const DevicePlan plan = divided.stage->plan(host.schema());
  REQUIRE(plan.fields.size() == 2);
  CHECK(plan.fields[0].copy_of == 0);
  CHECK(plan.fields[1].spec == FieldSpec{"image", DType::f32, {3, 2, 4}});
  CHECK(plan.makes() == std::vector<std::size_t>{1});
  CHECK(plan.reads == std::vector<std::size_t>{1});
  // What trainers on GPUs get is the whole recipe's, and so is what the board there says of it.
  CHECK(divided.stage->recipe_json(host.recipe_json()) == Pipeline(options).recipe_json());
  CHECK(divided.stage->pure());
  CHECK_THROWS_AS(divided.stage->plan(Pipeline(options).schema()), InvalidArgument);
  CHECK_THROWS_AS(finish_on_gpu(images(4, {2, 4, 3}, to_stage("u8", true))), InvalidArgument);
}

TEST_CASE("Finish: without its kernel the stage says what was missing", "[gpu][finish]") {
  if (!detail::cuda::finish_kernel_image().empty()) return;
  const FinishOnGpu divided = finish_on_gpu(images(4, {2, 4, 3}, to_stage("f32", true)));
  const auto device = detail::cuda::Device::open(0);
  const detail::cuda::Device::Current current(*device);
  const Schema host = Pipeline(divided.host).schema();
  CHECK_THROWS_AS(divided.stage->prepare(host, 4, 1), GpuUnavailable);
  CHECK_THROWS_WITH(divided.stage->prepare(host, 4, 1), Catch::Contains("BATCHCAST_CUDA=OFF"));
}

TEST_CASE("Finish: the kernel is there for Ampere and Hopper, and as PTX for what comes later",
          "[gpu][finish]") {
  if (!has_kernel()) return;
  // The container that nvcc makes: a header, then one for each image with its kind and target.
  const std::span<const std::byte> image = detail::cuda::finish_kernel_image();
  const auto number = [&](std::size_t at, std::size_t bytes) {
    REQUIRE(at + bytes <= image.size());
    std::uint64_t value = 0;
    std::memcpy(&value, image.data() + at, bytes);
    return value;
  };
  REQUIRE(number(0, 4) == 0xba55ed50);
  std::set<std::pair<std::string, std::uint64_t>> found;
  std::size_t at = number(6, 2);
  const std::size_t end = at + number(8, 8);
  while (at < end) {
    found.insert({number(at, 2) == 1 ? "ptx" : "sm", number(at + 28, 4)});
    // As it is: a driver that is older than the toolkit may not know how that compresses.
    const std::string_view bytes(
        reinterpret_cast<const char*>(image.data()) + at + number(at + 4, 4), number(at + 8, 8));
    const bool is_ptx = number(at, 2) == 1;
    CHECK((is_ptx ? bytes.find(".version") != bytes.npos : bytes.starts_with("\177ELF")));
    at += number(at + 4, 4) + number(at + 8, 8);
  }
  CHECK(found ==
        std::set<std::pair<std::string, std::uint64_t>>{{"sm", 80}, {"sm", 90}, {"ptx", 90}});
}

TEST_CASE("Finish: a driver that cannot load the kernel is told of with both versions",
          "[gpu][finish][fake]") {
  if (!has_kernel()) return;
  const testing::FakeSettings fake("module_fails=1");
  const FinishOnGpu divided = finish_on_gpu(images(4, {2, 4, 3}, to_stage("f32", true)));
  const auto device = detail::cuda::Device::open(0);
  const detail::cuda::Device::Current current(*device);
  const Schema host = Pipeline(divided.host).schema();
  const int toolkit = detail::cuda::finish_kernel_toolkit();
  CHECK(toolkit >= 12'000);
  CHECK_THROWS_WITH(divided.stage->prepare(host, 4, 1),
                    Catch::Contains("that was CUDA " + std::to_string(toolkit / 1000) + ".") &&
                        Catch::Contains("this driver is of CUDA 13.0"));
}

}  // namespace batchcast::test
