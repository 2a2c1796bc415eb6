// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstdint>
#include <string>

namespace batchcast::fake_cuda {

/// What control.hpp describes. Faults that count: 0 is never, N the N-th from now on.
struct Settings {
  int devices = 1;
  int init = 0;
  int version = 13000;
  std::uint64_t memory = std::uint64_t{16} << 30;
  std::uint64_t granularity = std::uint64_t{2} << 20;
  bool vmm = true, exports = true, legacy_ipc = true, mig = false;
  bool read_only_map = true, read_only_register = false, host_page_tables = false;
  std::uint64_t alloc_fails = 0, alloc_limit = 0, reserve_fails = 0, map_fails = 0;
  std::uint64_t register_fails = 0, host_alloc_fails = 0;
  std::uint64_t copy_refused = 0, copy_fails = 0, launch_fails = 0;
  bool module_fails = false;
  std::int64_t lost_after = -1;
  int lost_device = 0, lost_code = 46, lost = -1;
  std::uint64_t delay_us = 200, copy_us = 0;
  std::string hold;

  /// Ends the process with a message at a word that it does not know.
  [[nodiscard]] static Settings parse(const std::string& text);
  [[nodiscard]] static Settings of_environment();
};

/// BATCHCAST_FAKE_CUDA_SEED, or 1.
[[nodiscard]] std::uint64_t seed();
/// BATCHCAST_FAKE_CUDA_SESSION.
[[nodiscard]] std::string session();

}  // namespace batchcast::fake_cuda
