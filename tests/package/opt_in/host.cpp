// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// host STREAM COMMAND PLUGIN...: asks for what only start.hpp brings, first by itself and then in
// each plug-in, all of which are loaded by then.
#include <batchcast/consumer.hpp>

#include <dlfcn.h>

#include <cstdio>
#include <exception>
#include <utility>
#include <vector>

int main(int argc, char** argv) {
  using Start = void (*)(const char*, const char*, const char*);
  std::vector<std::pair<const char*, Start>> plugins;
  for (int i = 3; i < argc; ++i) {
    void* const plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    void* const start = plugin == nullptr ? nullptr : dlsym(plugin, "start_from_plugin");
    if (start == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 2;
    }
    plugins.emplace_back(argv[i], reinterpret_cast<Start>(start));
  }
  try {
    const batchcast::Consumer consumer(
        {.stream = argv[1],
         .start = {
             .source = "synthetic:8", .memory = 1 << 20, .idle_exit_s = 1, .command = argv[2]}});
    std::printf("host: attached\n");
  } catch (const std::exception& error) {
    std::printf("host: %s\n", error.what());
  }
  for (const auto& [name, start] : plugins) start(name, argv[1], argv[2]);
  return 0;
}
