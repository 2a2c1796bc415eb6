// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/process_symbol.hpp>

#include <batchcast/core/inline.hpp>

#include <dlfcn.h>

namespace batchcast::inline v0_1::detail {

BATCHCAST_INLINE void* process_symbol(const char* name) noexcept {
  return ::dlsym(RTLD_DEFAULT, name);
}

BATCHCAST_INLINE void keep_loaded(const void* code) noexcept {
  Dl_info where{};
  if (::dladdr(code, &where) == 0 || where.dli_fname == nullptr) return;
  static_cast<void>(::dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
}

}  // namespace batchcast::inline v0_1::detail
