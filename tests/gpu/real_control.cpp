// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/cuda/driver.hpp>
#include "../fake_cuda/control.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
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

/// What a held stream waits at.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;

  void let_pass() {
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return open; });
  }
};

std::map<void*, std::shared_ptr<Gate>>& gates() {
  static std::map<void*, std::shared_ptr<Gate>> all;
  return all;
}

void wait_at_gate(void* data) {
  const std::unique_ptr<std::shared_ptr<Gate>> gate(static_cast<std::shared_ptr<Gate>*>(data));
  (*gate)->wait();
}

using LaunchHostFunction = cuda::CUresult (*)(cuda::CUstream stream, void (*function)(void* data),
                                              void* data);

LaunchHostFunction launch_host_function() {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW);
  void* const found = driver == nullptr ? nullptr : ::dlsym(driver, "cuLaunchHostFunc");
  if (found == nullptr) needs_the_fake("streams cannot be held here");
  return reinterpret_cast<LaunchHostFunction>(found);
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
  for (auto& [stream, gate] : gates()) gate->let_pass();
  gates().clear();
  // A destructor's call gives back what was set.
  if (settings != nullptr && std::uncaught_exceptions() == 0 &&
      !batchcast_fake_cuda_can(settings)) {
    needs_the_fake(settings);
  }
}

void batchcast_fake_cuda_hold(void* stream) {
  if (stream == nullptr) needs_the_fake("all streams are to be held");
  auto gate = std::make_unique<std::shared_ptr<Gate>>(std::make_shared<Gate>());
  const std::shared_ptr<Gate> held = *gate;
  const auto launch = launch_host_function();
  const auto device = cuda::Device::open(0);
  const cuda::Device::Current current(*device);
  cuda::check(*device, launch(static_cast<cuda::CUstream>(stream), wait_at_gate, gate.get()),
              "cuLaunchHostFunc");
  static_cast<void>(gate.release());  // the stream's
  gates()[stream] = held;
}

void batchcast_fake_cuda_release(void* stream) {
  for (auto it = gates().begin(); it != gates().end();) {
    if (stream != nullptr && it->first != stream) {
      ++it;
      continue;
    }
    it->second->let_pass();
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
