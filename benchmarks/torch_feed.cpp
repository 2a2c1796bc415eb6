// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// What a data loader itself takes in the training thread, beside torch's own over tensors in
// memory; what a tensor over a batch costs; and what a batch allocates. Prints a line `NAME VALUE`
// for each. Usage: torch_feed [BATCHES]
#include <batchcast/torch_serve.hpp>

#include <ATen/Parallel.h>
#include <torch/data.h>
#include <torch/version.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bc = batchcast;

// Every allocation of the process passes here: glibc's own functions are called by their other
// names.
extern "C" void* __libc_malloc(std::size_t);
extern "C" void* __libc_calloc(std::size_t, std::size_t);
extern "C" void* __libc_realloc(void*, std::size_t);
extern "C" void* __libc_memalign(std::size_t, std::size_t);

namespace {

struct Allocations {
  std::size_t count = 0;
  std::size_t largest = 0;
};
thread_local Allocations allocations;

void count(std::size_t bytes) {
  ++allocations.count;
  allocations.largest = std::max(allocations.largest, bytes);
}

}  // namespace

extern "C" void* malloc(std::size_t bytes) {
  count(bytes);
  return __libc_malloc(bytes);
}
extern "C" void* calloc(std::size_t each, std::size_t bytes) {
  count(each * bytes);
  return __libc_calloc(each, bytes);
}
extern "C" void* realloc(void* old, std::size_t bytes) {
  count(bytes);
  return __libc_realloc(old, bytes);
}
extern "C" int posix_memalign(void** made, std::size_t alignment, std::size_t bytes) {
  count(bytes);
  *made = __libc_memalign(alignment, bytes);
  return *made == nullptr ? ENOMEM : 0;
}
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  count(bytes);
  return __libc_memalign(alignment, bytes);
}

namespace {

using Clock = std::chrono::steady_clock;
using Example = torch::data::Example<>;

constexpr std::int64_t batch_size = 64;

struct Case {
  const char* name;
  bc::DType dtype;
  torch::ScalarType type;
  std::vector<std::int64_t> shape;
  std::uint64_t samples;  ///< of an epoch; the ring has room for all of it

  [[nodiscard]] bc::Schema schema() const {
    return {{"image", dtype, shape}, {"label", bc::DType::i64}};
  }
  [[nodiscard]] std::uint64_t sample_bytes() const {
    return bc::FieldSpec{"image", dtype, shape}.byte_count() + 16;
  }
};

class Folder {
 public:
  Folder() {
    std::string name = "/tmp/bc-feed-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// Batches of tensors in memory, one after another, as cheap as torch lets them be.
struct InMemory : torch::data::datasets::StatefulDataset<InMemory, Example> {
  InMemory(const Case& of, std::int64_t samples) : samples_(samples) {
    std::vector<std::int64_t> sizes{samples};
    sizes.insert(sizes.end(), of.shape.begin(), of.shape.end());
    image_ = torch::zeros(sizes, of.type);
    label_ = torch::zeros({samples}, torch::kLong);
  }
  torch::optional<Example> get_batch(std::size_t size) override {
    const std::int64_t from = at_.fetch_add(static_cast<std::int64_t>(size));
    if (from >= end_) return torch::nullopt;
    const std::int64_t begin = from % (samples_ - batch_size + 1);
    return Example{image_.narrow(0, begin, batch_size), label_.narrow(0, begin, batch_size)};
  }
  torch::optional<std::size_t> size() const override { return torch::nullopt; }
  void reset() override { at_ = 0; }
  void save(torch::serialize::OutputArchive&) const override {}
  void load(torch::serialize::InputArchive&) override {}

  InMemory(const InMemory& other)
      : end_(other.end_), image_(other.image_), label_(other.label_), samples_(other.samples_) {}

  std::int64_t end_ = 0;

 private:
  torch::Tensor image_;
  torch::Tensor label_;
  std::int64_t samples_;
  std::atomic<std::int64_t> at_ = 0;
};

void keep_busy(std::uint64_t us) {
  if (us == 0) return;
  const auto until = Clock::now() + std::chrono::microseconds(us);
  while (Clock::now() < until) {
  }
}

std::uintptr_t address_of(const torch::Tensor& tensor) {
#if TORCH_VERSION_MAJOR >= 2
  return reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr());
#else
  return reinterpret_cast<std::uintptr_t>(tensor.data_ptr());
#endif
}

volatile std::uintptr_t sink = 0;

/// Adds the nanoseconds that each step of the loader's iterator took to `taken`, one loop of it.
template <class Loader>
void run_loop(Loader& loader, std::uint64_t step_us, std::vector<double>& taken) {
  auto it = loader.begin();
  const auto end = loader.end();
  while (it != end) {
    sink = address_of(it->data) + address_of(it->target);
    keep_busy(step_us);
    const auto began = Clock::now();
    ++it;
    taken.push_back(std::chrono::duration<double, std::nano>(Clock::now() - began).count());
  }
}

double quantile(std::vector<double>& values, double share) {
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

void print_us(const Case& of, const char* what, std::vector<double>& taken_ns) {
  std::printf("%s_%s_us %.4f\n", of.name, what, quantile(taken_ns, 0.5) / 1e3);
  std::printf("%s_%s_p99_us %.4f\n", of.name, what, quantile(taken_ns, 0.99) / 1e3);
}

/// A stream whose samples are all there; the producer writes nothing into them any more.
class Stream {
 public:
  Stream(const Folder& folder, const Case& of)
      : producer_({.stream = "feed",
                   .schema = of.schema(),
                   .memory = of.samples * of.sample_bytes() * 11 / 10 + (1 << 20),
                   .samples_per_epoch = of.samples,
                   .directory = folder.path()}) {}
  ~Stream() {
    producer_.stop("it was measured");
    if (thread_.joinable()) thread_.join();
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void fill() {
    while (auto loan = producer_.try_loan(512, 0)) loan->publish();
  }
  void fill_always() {
    thread_ = std::thread([this] {
      while (auto loan = producer_.loan(512)) loan->publish();
    });
  }

 private:
  bc::Producer producer_;
  std::thread thread_;
};

auto shared_loader(const Folder& folder) {
  return bc::make_shared_data_loader({.stream = "feed", .directory = folder.path()},
                                     torch::data::DataLoaderOptions(batch_size));
}

/// With every sample there beforehand, and no worker making the next ones.
void measure_filled(const Case& of, std::size_t batches) {
  const Folder folder;
  Stream stream(folder, of);
  auto loader = shared_loader(folder);
  std::vector<double> taken;
  taken.reserve(batches * 2);
  stream.fill();
  run_loop(*loader, 0, taken);
  taken.clear();
  Allocations most;
  while (taken.size() < batches) {
    stream.fill();
    allocations = {};
    run_loop(*loader, 0, taken);
    most.count += allocations.count;
    most.largest = std::max(most.largest, allocations.largest);
  }
  print_us(of, "shared", taken);
  std::printf("%s_allocations_per_batch %.2f\n", of.name,
              static_cast<double>(most.count) / static_cast<double>(taken.size()));
  std::printf("%s_largest_allocation_bytes %zu\n", of.name, most.largest);
}

/// Beside a producer that refills the ring, with a step of training between the batches.
void measure_live(const Case& of, std::size_t batches) {
  const Folder folder;
  Stream stream(folder, of);
  stream.fill_always();
  auto loader = shared_loader(folder);
  std::vector<double> taken;
  taken.reserve(batches * 2);
  while (taken.size() < batches) run_loop(*loader, 1'000, taken);
  print_us(of, "shared_live", taken);
}

void measure_torch(const Case& of, std::size_t batches, std::size_t workers, std::uint64_t step_us,
                   const char* name) {
  InMemory dataset(of, std::min<std::int64_t>(256, static_cast<std::int64_t>(of.samples)));
  dataset.end_ = static_cast<std::int64_t>(batches) * batch_size;
  auto loader = torch::data::make_data_loader(
      std::move(dataset), torch::data::DataLoaderOptions(batch_size).workers(workers));
  std::vector<double> taken;
  taken.reserve(batches * 2);
  run_loop(*loader, step_us, taken);
  print_us(of, name, taken);
}

/// The median of many short runs that no other process interrupts.
double ns_each(const auto& action) {
  constexpr int times = 500;
  std::vector<double> runs;
  for (int run = 0; run < 400; ++run) {
    const auto began = Clock::now();
    for (int i = 0; i < times; ++i) action();
    runs.push_back(std::chrono::duration<double, std::nano>(Clock::now() - began).count() / times);
  }
  return quantile(runs, 0.5);
}

void measure_tensors(const Case& of) {
  const Folder folder;
  Stream stream(folder, of);
  stream.fill();
  bc::Consumer consumer({.stream = "feed", .batch_size = 64, .directory = folder.path()});
  const bc::Batch batch = std::move(*consumer.next());
  std::printf("tensor_ns %.1f\n", ns_each([&] { sink = address_of(bc::tensor_of(batch, 0)); }));
}

}  // namespace

int main(int argc, char** argv) try {
  at::set_num_threads(1);
  const std::size_t batches = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 2'000;
  if (batches == 0) throw std::runtime_error("usage: torch_feed [BATCHES]");
  std::printf("libtorch %s\n", TORCH_VERSION);
  const Case small{"u8_28", bc::DType::u8, torch::kByte, {1, 28, 28}, 64 * 400};
  const Case large{"f32_224", bc::DType::f32, torch::kFloat, {3, 224, 224}, 64 * 16};
  for (const Case& of : {small, large}) {
    measure_filled(of, batches);
    measure_live(of, batches / 2);
    measure_torch(of, batches, 0, 0, "torch");
    measure_torch(of, batches, 1, 0, "torch_worker");
    measure_torch(of, batches / 2, 1, 1'000, "torch_worker_live");
  }
  measure_tensors(small);
} catch (const std::exception& error) {
  std::fprintf(stderr, "torch_feed: %s\n", error.what());
  return 1;
}
