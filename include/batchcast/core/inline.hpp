// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

// What a trainer runs is written once, in `.ipp` files beside the headers, and built in two ways.
// As headers: consumer.hpp ends with all of them, inline, and nothing is linked. Compiled: for
// programs that link the library BATCHCAST_COMPILED is defined, and the definitions are there;
// `src/compiled/` makes them.
#if defined(BATCHCAST_COMPILED)
#define BATCHCAST_INLINE
#else
#define BATCHCAST_INLINE inline
#endif
