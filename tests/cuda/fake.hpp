// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "../fake_cuda/control.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

namespace batchcast::testing {

/// The fake driver with these settings while it lives, then with those of the environment.
class FakeSettings {
 public:
  explicit FakeSettings(const std::string& settings) {
    batchcast_fake_cuda_configure(settings.c_str());
  }
  ~FakeSettings() { batchcast_fake_cuda_configure(nullptr); }
  FakeSettings(const FakeSettings&) = delete;
  FakeSettings& operator=(const FakeSettings&) = delete;
};

/// Zeroed pages of the host's.
class Pages {
 public:
  explicit Pages(std::size_t bytes) : bytes_(bytes) {
    data_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data_ == MAP_FAILED) throw std::runtime_error("mmap");
  }
  ~Pages() { ::munmap(data_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  void make_read_only() const { ::mprotect(data_, bytes_, PROT_READ); }

 private:
  void* data_;
  std::size_t bytes_;
};

/// How a process ended, and what it said.
struct Ended {
  int status = 0;
  std::string output;
};

/// Runs one hidden test of this program in a process of its own: the driver is looked for once a
/// process. `environment`: NAME='value' NAME='value'.
inline Ended run_hidden(const std::string& environment, const std::string& test) {
  std::array<char, PATH_MAX> self{};
  if (::readlink("/proc/self/exe", self.data(), self.size() - 1) < 0) {
    throw std::runtime_error("readlink");
  }
  const std::string command = environment + " '" + self.data() + "' '" + test + "' 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("popen");
  Ended ended;
  std::array<char, 4096> text{};
  while (std::fgets(text.data(), text.size(), pipe) != nullptr) ended.output += text.data();
  ended.status = ::pclose(pipe);
  return ended;
}

}  // namespace batchcast::testing
