// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// A file that takes consumers from the library, beside files that compile the headers.
#include <batchcast/consumer.hpp>

const bool takes_the_library = sizeof(batchcast::Consumer) != 0;
