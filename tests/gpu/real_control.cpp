// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/cuda/driver.hpp>
#include "../fake_cuda/control.hpp"

#include <dlfcn.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

// What tests ask of the fake driver, for programs that run over this machine's own: some of it a
// real driver can do too. All else ends the test, with words that gpu.sh counts it by.
namespace {

[[noreturn]] void needs_the_fake(const std::string& what) {
  throw std::runtime_error("needs the fake driver: " + what);
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

using LaunchHostFunction = batchcast::cuda::CUresult (*)(batchcast::cuda::CUstream stream,
                                                         void (*function)(void* data), void* data);

LaunchHostFunction launch_host_function() {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW);
  void* const found = driver == nullptr ? nullptr : ::dlsym(driver, "cuLaunchHostFunc");
  if (found == nullptr) needs_the_fake("streams cannot be held here");
  return reinterpret_cast<LaunchHostFunction>(found);
}

}  // namespace

void batchcast_fake_cuda_configure(const char* settings) {
  if (settings == nullptr) settings = std::getenv("BATCHCAST_FAKE_CUDA");
  for (auto& [stream, gate] : gates()) gate->let_pass();
  gates().clear();
  // A destructor's call gives back what was set.
  if (settings != nullptr && *settings != '\0' && std::uncaught_exceptions() == 0) {
    needs_the_fake(settings);
  }
}

void batchcast_fake_cuda_hold(void* stream) {
  if (stream == nullptr) needs_the_fake("all streams are to be held");
  auto gate = std::make_unique<std::shared_ptr<Gate>>(std::make_shared<Gate>());
  const std::shared_ptr<Gate> held = *gate;
  const auto launch = launch_host_function();
  const auto device = batchcast::cuda::Device::open(0);
  const batchcast::cuda::Device::Current current(*device);
  batchcast::cuda::check(
      *device, launch(static_cast<batchcast::cuda::CUstream>(stream), wait_at_gate, gate.get()),
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
  const auto result =
      batchcast::cuda::need_driver().memcpy_dtoh(seen.data(), device_address, bytes);
  return result == batchcast::cuda::CUDA_SUCCESS ? seen.data() : nullptr;
}
