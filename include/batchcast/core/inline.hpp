// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

// The code that a trainer runs is written once, in `.ipp` files beside the headers, and built in
// two ways. As headers: consumer.hpp includes all of them at its end, inline, and nothing is
// linked. Compiled: programs that link the library have BATCHCAST_COMPILED defined. They find the
// definitions in the library, which compiles them in `src/compiled/`.
#if defined(BATCHCAST_COMPILED)
#define BATCHCAST_INLINE
#else
#define BATCHCAST_INLINE inline
#endif
