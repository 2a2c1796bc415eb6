// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// copies STREAM LIBRARY LIBRARY: two hidden copies of batchcast in one process, each with a
// consumer and a fault handler of its own. Both write into their batches; one is closed, the other
// goes on; the first comes back.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace {

struct Copy {
  void* library = nullptr;
  void* (*attach)(const char*, const char*) = nullptr;
  int (*write)(void*, unsigned char) = nullptr;
  void (*detach)(void*) = nullptr;
  void* consumer = nullptr;
};

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
}

Copy open_copy(const char* path, const char* stream, const char* name) {
  Copy copy;
  copy.library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (copy.library == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    std::exit(3);
  }
  find(copy.library, "plugin_attach", copy.attach);
  find(copy.library, "plugin_write", copy.write);
  find(copy.library, "plugin_detach", copy.detach);
  copy.consumer = copy.attach(stream, name);
  if (copy.consumer == nullptr) std::exit(3);
  return copy;
}

void close_copy(Copy& copy) {
  copy.detach(copy.consumer);
  ::dlclose(copy.library);
}

void must(int failed, const char* what) {
  if (failed == 0) return;
  std::fprintf(stderr, "%s: %d\n", what, failed);
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  Copy first = open_copy(argv[2], argv[1], "first");
  Copy second = open_copy(argv[3], argv[1], "second");
  must(first.write(first.consumer, 0xA5), "the first copy writes");
  must(second.write(second.consumer, 0x5A), "the second copy writes");
  must(first.write(first.consumer, 0xA6), "the first copy writes again");
  close_copy(first);
  must(second.write(second.consumer, 0x5B), "the second copy writes after the first was closed");
  first = open_copy(argv[2], argv[1], "third");
  must(first.write(first.consumer, 0xA7), "a copy that came back writes");
  must(second.write(second.consumer, 0x5C), "the second copy goes on");
  close_copy(second);
  must(first.write(first.consumer, 0xA8), "the copy that came back goes on alone");
  close_copy(first);
  std::puts("two hidden copies in one process");
  return 0;
}
