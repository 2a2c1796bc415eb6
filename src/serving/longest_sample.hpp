// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/maker.hpp>
#include <batchcast/producer_options.hpp>

namespace batchcast::inline v0_1::serving {

/// Refuses samples that have more rows than the ring will have, with what the longest takes. That
/// is known before anything is served where the maker knows the samples' rows. It throws
/// InvalidArgument. Unless each epoch `meets_all` samples, as where a shard is served, it warns.
/// Memory that has no room for one sample of the usual length is always refused.
void check_longest_sample(const ProducerOptions& serving, const SampleMaker& maker, bool meets_all);

}  // namespace batchcast::inline v0_1::serving
