// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/process_symbol.hpp>

#include <batchcast/core/inline.hpp>

#include <dlfcn.h>

namespace batchcast::detail {

BATCHCAST_INLINE void* process_symbol(const char* name) noexcept {
  return ::dlsym(RTLD_DEFAULT, name);
}

}  // namespace batchcast::detail
