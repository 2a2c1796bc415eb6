// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/cuda/driver.hpp>
#include "../fake_cuda/control.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// What tests ask of the fake driver, for programs that run over this machine's own: some of it a
// real driver can do too. All else ends the test, with words that gpu.sh counts it by.
namespace cuda = batchcast::detail::cuda;

namespace {

[[noreturn]] void needs_the_fake(const std::string& what) {
  throw std::runtime_error("needs the fake driver: " + what);
}

/// The words of the form name=value.
std::vector<std::pair<std::string, std::string>> settings_of(const char* settings) {
  std::vector<std::pair<std::string, std::string>> all;
  std::string text = settings;
  std::replace(text.begin(), text.end(), ',', ' ');
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t equals = std::min(word.find('='), word.size() - 1);
    all.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return all;
}

using HostAllocate = cuda::CUresult (*)(void** pointer, std::size_t bytes, unsigned flags);
using WaitForValue = cuda::CUresult (*)(cuda::CUstream stream, cuda::CUdeviceptr address,
                                        std::uint32_t value, unsigned flags);

template <typename Function>
Function driver_function(const char* name) {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW);
  void* const found = driver == nullptr ? nullptr : ::dlsym(driver, name);
  if (found == nullptr) needs_the_fake(std::string("there is no ") + name);
  return reinterpret_cast<Function>(found);
}

/// What a held stream waits at: a word of page-locked memory. No function of the host's holds a
/// stream, since the driver calls those of all streams on one thread.
class Gate {
 public:
  explicit Gate(void* stream) : device_(cuda::Device::open(0)) {
    const cuda::Device::Current current(*device_);
    void* word = nullptr;
    cuda::check(*device_, driver_function<HostAllocate>("cuMemHostAlloc")(&word, 4, 0),
                "cuMemHostAlloc");
    word_ = static_cast<std::atomic<std::uint32_t>*>(word);  // left to the context
    word_->store(0);
    constexpr unsigned at_least = 0;
    cuda::check(*device_,
                driver_function<WaitForValue>("cuStreamWaitValue32_v2")(
                    static_cast<cuda::CUstream>(stream), reinterpret_cast<cuda::CUdeviceptr>(word),
                    1, at_least),
                "cuStreamWaitValue32");
  }
  void let_pass() { word_->store(1); }

 private:
  std::shared_ptr<cuda::Device> device_;  ///< keeps the context, and with it the word
  std::atomic<std::uint32_t>* word_ = nullptr;
};

std::map<void*, Gate>& gates() {
  static std::map<void*, Gate> all;
  return all;
}

}  // namespace

/// Devices are counted, what one of them can do is asked; how large pieces of memory are, and how
/// late things happen, cannot be had otherwise than they are.
bool batchcast_fake_cuda_can(const char* settings) {
  for (const auto& [name, value] : settings_of(settings)) {
    if (name == "granularity" || name == "delay_us" || name == "copy_us") continue;
    const std::vector<cuda::DeviceInfo> gpus = cuda::list_devices();
    if (gpus.empty()) return false;
    const auto first = [&](bool can) { return can == (value == "1"); };
    if (name == "devices" && value == "1" && gpus.size() == 1) continue;
    if (name == "devices" && value == "2" && gpus.size() >= 2) continue;
    if (name == "vmm" && first(gpus[0].virtual_memory)) continue;
    if (name == "export" && first(gpus[0].exports_descriptors)) continue;
    if (name == "read_only_register" && first(cuda::pins_read_only(gpus[0]))) continue;
    return false;
  }
  return true;
}
bool batchcast_fake_cuda_is_fake() { return false; }

void batchcast_fake_cuda_configure(const char* settings) {
  if (settings == nullptr) settings = std::getenv("BATCHCAST_FAKE_CUDA");
  for (auto& [stream, gate] : gates()) gate.let_pass();
  gates().clear();
  // A destructor's call gives back what was set.
  if (settings != nullptr && std::uncaught_exceptions() == 0 &&
      !batchcast_fake_cuda_can(settings)) {
    needs_the_fake(settings);
  }
}

void batchcast_fake_cuda_hold(void* stream) {
  if (stream == nullptr) needs_the_fake("all streams are to be held");
  gates().try_emplace(stream, stream);
}

void batchcast_fake_cuda_release(void* stream) {
  for (auto it = gates().begin(); it != gates().end();) {
    if (stream != nullptr && it->first != stream) {
      ++it;
      continue;
    }
    it->second.let_pass();
    it = gates().erase(it);
  }
}

void batchcast_fake_cuda_answer(int) { needs_the_fake("errors are to be answered"); }

void batchcast_fake_cuda_lose(int, int) { needs_the_fake("a device is to be lost"); }

std::uint64_t batchcast_fake_cuda_used_bytes(int) {
  needs_the_fake("whose memory it is, is not known here");
}

batchcast_fake_cuda_counters batchcast_fake_cuda_count() {
  needs_the_fake("calls are not counted here");
}

/// A copy: good until the next look.
void* batchcast_fake_cuda_look(unsigned long long device_address, std::size_t bytes) {
  static std::vector<std::byte> seen;
  seen.assign(bytes, std::byte{});
  const auto device = cuda::Device::open(0);
  const cuda::Device::Current current(*device);
  const auto result = cuda::need_driver().memcpy_dtoh(seen.data(), device_address, bytes);
  return result == cuda::CUDA_SUCCESS ? seen.data() : nullptr;
}
