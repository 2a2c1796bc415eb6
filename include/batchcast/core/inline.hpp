// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

// What a trainer runs is written once and built in two ways. As headers: each `.hpp` ends with the
// `.ipp` of its definitions, which are `inline` then, and nothing is linked. Compiled: whoever links
// the library, which defines BATCHCAST_COMPILED for its users, takes the definitions from there, and
// `src/compiled/` is where they are made.
#if defined(BATCHCAST_COMPILED)
#define BATCHCAST_INLINE
#else
#define BATCHCAST_INLINE inline
#endif
