// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/core/schema.hpp>

#include "fuzz.hpp"

// A schema as it stands on the board.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  batchcast::Schema schema;
  try {
    schema = batchcast::schema_from_json(fuzz::text_of(data, size));
  } catch (const batchcast::InvalidArgument&) {
    return 0;
  }
  BATCHCAST_ASSERT(batchcast::schema_from_json(batchcast::schema_to_json(schema)) == schema);
  for (const batchcast::FieldSpec& field : schema) BATCHCAST_ASSERT(!to_text(field).empty());
  return 0;
}
