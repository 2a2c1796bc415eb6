// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "settings.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace batchcast::fake_cuda {

namespace {

[[noreturn]] void refuse(const std::string& word) {
  std::fprintf(stderr, "fake_cuda: '%s' is no setting\n", word.c_str());
  std::abort();
}

std::int64_t number(const std::string& word, const std::string& value) {
  char* end = nullptr;
  std::int64_t result = std::strtoll(value.c_str(), &end, 0);
  if (end == value.c_str()) refuse(word);
  const std::string unit = end;
  if (unit == "K") return result << 10;
  if (unit == "M") return result << 20;
  if (unit == "G") return result << 30;
  if (!unit.empty()) refuse(word);
  return result;
}

struct Taker {
  const std::string& word;
  const std::string name, value;
  bool taken = false;

  template <class Value>
  Taker& operator()(const char* known, Value& to) {
    if (name != known) return *this;
    taken = true;
    if constexpr (std::is_same_v<Value, std::string>) {
      to = value;
    } else {
      to = static_cast<Value>(number(word, value));
    }
    return *this;
  }
};

void take(const std::string& word, Settings& to) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos) refuse(word);
  Taker taker{word, word.substr(0, equals), word.substr(equals + 1)};
  taker("devices", to.devices)("init", to.init)("version", to.version);
  taker("memory", to.memory)("granularity", to.granularity);
  taker("vmm", to.vmm)("export", to.exports)("legacy_ipc", to.legacy_ipc)("mig", to.mig);
  taker("read_only_map", to.read_only_map)("read_only_register", to.read_only_register);
  taker("host_page_tables", to.host_page_tables)("host_alloc_fails", to.host_alloc_fails);
  taker("alloc_fails", to.alloc_fails)("alloc_limit", to.alloc_limit);
  taker("reserve_fails", to.reserve_fails)("map_fails", to.map_fails);
  taker("register_fails", to.register_fails)("copy_refused", to.copy_refused);
  taker("copy_fails", to.copy_fails)("launch_fails", to.launch_fails);
  taker("module_fails", to.module_fails)("lost_after", to.lost_after);
  taker("lost_device", to.lost_device)("lost_code", to.lost_code)("lost", to.lost);
  taker("delay_us", to.delay_us)("copy_us", to.copy_us)("hold", to.hold);
  if (!taker.taken || to.devices < 0 || to.devices > 8) refuse(word);
}

constexpr const char* session_name = "BATCHCAST_FAKE_CUDA_SESSION";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// Tests run side by side: each process that was given no session begins one, which its children
/// inherit.
[[gnu::constructor]] void begin_session() {
  ::setenv(session_name, ("of" + std::to_string(::getpid())).c_str(), 0);
}

}  // namespace

Settings Settings::parse(const std::string& text) {
  Settings result;
  std::string word;
  for (const char c : text + ' ') {
    if (c != ' ' && c != ',') {
      word += c;
    } else if (!word.empty()) {
      take(word, result);
      word.clear();
    }
  }
  return result;
}

Settings Settings::of_environment() { return parse(variable("BATCHCAST_FAKE_CUDA")); }

std::uint64_t seed() {
  const std::string text = variable("BATCHCAST_FAKE_CUDA_SEED");
  return text.empty() ? 1 : std::strtoull(text.c_str(), nullptr, 0);
}

std::string session() { return variable(session_name); }

}  // namespace batchcast::fake_cuda
