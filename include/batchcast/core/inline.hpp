// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

// What a trainer runs is written once and built in two ways. As headers: each `.hpp` ends with the
// `.ipp` files of its definitions, which are `inline` then, and nothing is linked. Compiled: for
// programs that link the library BATCHCAST_COMPILED is defined, and the definitions are there;
// `src/compiled/` makes them.
#if defined(BATCHCAST_COMPILED)
#define BATCHCAST_INLINE
#else
#define BATCHCAST_INLINE inline
#endif
