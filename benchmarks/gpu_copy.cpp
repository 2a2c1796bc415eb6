// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// How fast samples get to a GPU, in one JSON line: through a mirror, by plain copies of the same
// pieces out of pinned memory, and through a mirror that finishes u8 pixels there; with --busy N
// beside processes that keep the GPU busy. See README.md in this folder.
#include <batchcast/cuda/host_pin.hpp>
#include "cli/child_process.hpp"
#include "gpu_support.hpp"

#include <batchcast/batchcast.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/finish_stage.hpp>
#include <batchcast/ring/memory.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace batchcast::bench {
namespace {

constexpr std::int64_t side = 224;
constexpr std::int64_t image_bytes = side * side * 3;
constexpr std::uint64_t samples_per_batch = 256;

struct Options {
  std::uint64_t ring_bytes = std::uint64_t{1} << 30;
  double seconds = 3;
  int rounds = 3;
  std::uint32_t busy = 0;
  // Of the children, which are busy.
  std::string directory;
  unsigned child = 0;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// ---- plain copies

/// Memory as a ring's is, whose pages are there; as long as a ring, pinned once.
class PlainCopies {
 public:
  PlainCopies(const std::shared_ptr<detail::cuda::Device>& device, std::uint64_t bytes)
      : segment_(Segment::create_small("plain", bytes)),
        mapping_(segment_, MapMode::read_write),
        pin_(device, {touched(mapping_), bytes, false}),
        to_(device, bytes),
        stream_(device) {
    for (int i = 0; i < in_flight; ++i) passed_.emplace_back(device);
  }

  /// Bytes a second, in pieces of that size that do not cross the ends of what is pinned at once.
  double rate(std::uint64_t piece_bytes, double seconds) {
    std::uint64_t copied = 0;
    std::uint64_t at = 0;
    int turn = 0;
    const std::uint64_t began_ns = now_ns();
    while (seconds_from_ns(now_ns() - began_ns) < seconds) {
      const std::uint64_t border =
          (at / detail::cuda::pin_piece_bytes + 1) * detail::cuda::pin_piece_bytes;
      const std::uint64_t bytes = std::min({piece_bytes, border - at, to_.bytes() - at});
      passed_[static_cast<std::size_t>(turn)].wait();
      stream_.copy_to_device(to_.data() + at, mapping_.data() + at, bytes);
      passed_[static_cast<std::size_t>(turn)].record(stream_.handle());
      turn = (turn + 1) % in_flight;
      at = (at + bytes) % to_.bytes();
      copied += bytes;
    }
    stream_.wait();
    return static_cast<double>(copied) / seconds_from_ns(now_ns() - began_ns);
  }

 private:
  static constexpr int in_flight = 4;

  static const std::byte* touched(const Mapping& mapping) {
    std::memset(mapping.data(), 1, mapping.bytes());
    return mapping.data();
  }

  Segment segment_;
  Mapping mapping_;
  detail::cuda::HostPin pin_;
  detail::cuda::DeviceBuffer to_;
  detail::cuda::Stream stream_;
  std::vector<detail::cuda::Event> passed_;
};

// ---- through a mirror

/// Samples a second at a consumer on the GPU that drops each batch at once. The producer leaves the
/// pixels as they are: only the mirror works.
double mirrored(const Options& options, ProducerOptions serving) {
  const cli::TemporaryDirectory directory;
  serving.memory = options.ring_bytes;
  serving.places = {Placement::on_cuda(0)};
  serving.wait_for = 1;
  serving.directory = directory.path();
  Producer producer(serving);
  std::atomic<bool> over = false;
  std::thread feeding([&] {
    while (!over) {
      if (auto loan = producer.try_loan(samples_per_batch, 100)) loan->publish();
    }
    producer.stop("measured");
  });
  Consumer consumer({.stream = stream_name,
                     .batch_size = samples_per_batch,
                     .placement = Placement::on_cuda(0),
                     .directory = directory.path()});
  // Twice round the host ring, so that every page has been touched.
  std::uint64_t samples = 0;
  const auto take = [&] { samples += consumer.next()->size(); };
  while (samples < 2 * producer.capacity()) take();
  samples = 0;
  const std::uint64_t began_ns = now_ns();
  while (seconds_from_ns(now_ns() - began_ns) < options.seconds) take();
  const double rate = static_cast<double>(samples) / seconds_from_ns(now_ns() - began_ns);
  over = true;
  feeding.join();
  return rate;
}

double mirrored_as_it_is(const Options& options) {
  return mirrored(options, {.stream = stream_name,
                            .schema = {{"image", DType::u8, {side, side, 3}}},
                            .samples_per_epoch = std::uint64_t{1} << 40});
}

/// The schema and stage of a recipe over images of that size; nothing of the images is read.
FinishOnGpu finished_recipe(const std::string& folder, const char* dtype) {
  const std::string images = folder + "/image.npy";
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (8, 224, 224, 3), }";
  header.resize(117, ' ');
  header += '\n';
  std::ofstream file(images, std::ios::binary);
  file << "\x93NUMPY" << '\x01' << '\0' << static_cast<char>(header.size()) << '\0' << header
       << std::string(8 * image_bytes, '\x7f');
  file.close();
  const std::string recipe = folder + "/recipe.toml";
  std::ofstream(recipe)
      << "[[field]]\nname = \"image\"\nstages = [{ stage = \"horizontal_flip\" }, "
         "{ stage = \"to\", dtype = \""
      << dtype
      << "\" }, { stage = \"normalize\", mean = [0.485, 0.456, 0.406], std = "
         "[0.229, 0.224, 0.225] }]\n";
  PipelineOptions pipeline;
  pipeline.source = open_source("npy:" + images);
  pipeline.recipe = Recipe::load(recipe);
  return finish_on_gpu(pipeline);
}

double mirrored_and_finished(const Options& options, const char* dtype) {
  const cli::TemporaryDirectory folder;
  const FinishOnGpu finish = finished_recipe(folder.path(), dtype);
  ProducerOptions serving{.stream = stream_name,
                          .schema = Pipeline(finish.host).schema(),
                          .samples_per_epoch = std::uint64_t{1} << 40};
  serving.device_memory = 4 * options.ring_bytes;
  serving.device_stage = finish.stage;
  return mirrored(options, serving);
}

// ---- beside others

// Two waves of blocks on the largest GPUs, a millisecond or two: about what a layer takes.
constexpr const char* busy_ptx =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry busy(.param .u64 data) {\n"
    "  .reg .u64 %d; .reg .u32 %n; .reg .f32 %f; .reg .pred %p;\n"
    "  ld.param.u64 %d, [data]; mov.u32 %n, 100000; mov.f32 %f, 0f3F800000;\n"
    "again:\n"
    "  fma.rn.f32 %f, %f, %f, %f; sub.u32 %n, %n, 1; setp.ne.u32 %p, %n, 0; @%p bra again;\n"
    "  setp.eq.f32 %p, %f, 0f00000000; @%p st.f32 [%d], %f;\n"
    "  ret;\n}\n";

/// Some kernels are always enqueued, as a trainer has it. Until the parent says that it is enough:
/// under MPS a process that is killed in the middle may take others along.
int keep_busy(const Options& options) {
  const auto device = detail::cuda::Device::open(0);
  const detail::cuda::DeviceBuffer memory(device, std::uint64_t{64} << 20);
  const detail::cuda::CUfunction kernel = kernel_of(*device, busy_ptx, "busy");
  detail::cuda::Stream stream(device);
  std::vector<detail::cuda::Event> passed;
  for (int i = 0; i < 4; ++i) passed.emplace_back(device);
  const auto enqueue = [&] {
    const std::uint64_t half = memory.bytes() / 2;
    if (kernel == nullptr) return stream.copy_on_device(memory.data() + half, memory.data(), half);
    const detail::cuda::Device::Current current(*device);
    detail::cuda::CUdeviceptr data = detail::cuda::address_of(memory.data());
    void* arguments[] = {&data};
    detail::cuda::check(
        *device,
        device->driver().launch_kernel(kernel, 2048, 1, 1, 256, 1, 1, 0,
                                       static_cast<detail::cuda::CUstream>(stream.handle()),
                                       arguments, nullptr),
        "cuLaunchKernel");
  };
  for (std::size_t turn = 0; !std::filesystem::exists(options.directory + "/enough"); ++turn) {
    detail::cuda::Event& event = passed[turn % passed.size()];
    event.wait();
    enqueue();
    event.record(stream.handle());
    if (turn != passed.size()) continue;
    std::ofstream(options.directory + "/busy." + std::to_string(options.child)).put('x');
  }
  stream.wait();
  return 0;
}

/// So many processes that are busy while it lives.
class Others {
 public:
  explicit Others(std::uint32_t number) {
    for (std::uint32_t i = 0; i < number; ++i) {
      children_.emplace_back(
          std::vector<std::string>{"--directory", directory_.path(), "--child", std::to_string(i)});
    }
    for (std::uint32_t i = 0; i < number; ++i) {
      while (!std::filesystem::exists(directory_.path() + "/busy." + std::to_string(i))) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
  }
  /// Throws Error if one of them failed.
  void end() {
    std::ofstream(directory_.path() + "/enough").put('x');
    for (cli::ChildProcess& child : children_) static_cast<void>(child.result());
  }

 private:
  cli::TemporaryDirectory directory_;
  std::vector<cli::ChildProcess> children_;
};

int run(const Options& options) {
  const auto device = detail::cuda::Device::open(0);
  Others others(options.busy);
  const std::uint64_t batch_bytes = samples_per_batch * image_bytes;
  std::vector<double> plain, mirror, share, f16, f32;
  PlainCopies copies(device, options.ring_bytes);
  for (int round = 0; round < options.rounds; ++round) {
    static_cast<void>(copies.rate(batch_bytes, 0.5));  // touches all that there is
    plain.push_back(copies.rate(batch_bytes, options.seconds));
    mirror.push_back(mirrored_as_it_is(options) * image_bytes);
    share.push_back(mirror.back() / plain.back());
    f16.push_back(mirrored_and_finished(options, "f16"));
    f32.push_back(mirrored_and_finished(options, "f32"));
  }
  others.end();
  const double bus_images = median(plain) / image_bytes;
  print_line({{"device", device->info().name},
              {"busy", options.busy},
              {"piece_bytes", batch_bytes},
              {"plain_gb_per_second", median(plain) / 1e9},
              {"mirror_gb_per_second", median(mirror) / 1e9},
              {"mirror_over_plain", median(share)},
              {"bus_images_per_second", bus_images},
              {"finished_f16_images_per_second", median(f16)},
              {"finished_f32_images_per_second", median(f32)},
              {"finished_f16_over_bus", median(f16) / bus_images},
              {"finished_f32_over_bus", median(f32) / bus_images}});
  return 0;
}

}  // namespace
}  // namespace batchcast::bench

int main(int argc, char** argv) {
  using namespace batchcast::bench;
  try {
    Options options;
    Words words(argc, argv);
    words.read("ring-bytes", options.ring_bytes);
    words.read("seconds", options.seconds);
    words.read("rounds", options.rounds);
    words.read("busy", options.busy);
    words.read("directory", options.directory);
    words.read("child", options.child);
    words.check_all_read();
    return options.directory.empty() ? run(options) : keep_busy(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
