// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <archive.h>

#include <memory>

namespace batchcast::inline v0_1::detail {

struct CloseArchive {
  void operator()(archive* reader) const noexcept { archive_read_free(reader); }
};

/// A reader of libarchive, owned.
using ArchiveReader = std::unique_ptr<archive, CloseArchive>;

}  // namespace batchcast::inline v0_1::detail
