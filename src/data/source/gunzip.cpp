// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/gunzip.hpp"

#include "data/source/archive_reader.hpp"

#include <batchcast/core/error.hpp>

#include <archive_entry.h>

#include <array>

namespace batchcast::inline v0_1::detail {

std::string gunzip(std::string_view packed) {
  const ArchiveReader reader(archive_read_new());
  archive_entry* entry = nullptr;
  if (!reader || archive_read_support_filter_gzip(reader.get()) != ARCHIVE_OK ||
      archive_read_support_format_raw(reader.get()) != ARCHIVE_OK ||
      archive_read_open_memory(reader.get(), packed.data(), packed.size()) != ARCHIVE_OK ||
      archive_read_next_header(reader.get(), &entry) != ARCHIVE_OK ||
      archive_filter_code(reader.get(), 0) != ARCHIVE_FILTER_GZIP) {
    throw Error("batchcast: these bytes are not gzipped.");
  }
  std::string bytes;
  std::array<char, 1 << 14> some;
  for (;;) {
    const la_ssize_t got = archive_read_data(reader.get(), some.data(), some.size());
    if (got < 0) throw Error("batchcast: gzipped bytes are damaged or cut short.");
    if (got == 0) return bytes;
    bytes.append(some.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace batchcast::inline v0_1::detail
