// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Names, options, descriptors.
#include <batchcast/core/cgroup.ipp>
#include <batchcast/core/file_descriptor.ipp>
#include <batchcast/core/group.ipp>
#include <batchcast/core/log.ipp>
#include <batchcast/core/named_thread.ipp>
#include <batchcast/core/nearest_name.ipp>
#include <batchcast/core/options.ipp>
#include <batchcast/core/placement.ipp>
#include <batchcast/core/printable.ipp>
#include <batchcast/core/process_end.ipp>
#include <batchcast/core/process_symbol.ipp>
#include <batchcast/core/schema.ipp>
#include <batchcast/core/text.ipp>
#include <batchcast/core/try_write.ipp>
