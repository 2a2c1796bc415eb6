// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/process_symbol.hpp>

#include <dlfcn.h>

namespace batchcast::detail {

void* process_symbol(const char* name) noexcept { return ::dlsym(RTLD_DEFAULT, name); }

}  // namespace batchcast::detail
