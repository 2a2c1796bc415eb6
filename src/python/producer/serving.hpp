// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "python/consumer/consumer_bindings.hpp"
#include "python/consumer/names.hpp"

#include "serving/serve_options.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/data/cache_options.hpp>
#include <batchcast/data/token_account.hpp>
#include <batchcast/feeder.hpp>
#include <batchcast/producer.hpp>

#include <nanobind/nanobind.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// What all streams have that this process serves.
namespace batchcast::inline v0_1::python {

/// What `call` returns. What it throws about options calls them as Python does.
template <class Call>
decltype(auto) with_options_of_python(Call&& call) {
  constexpr auto named = [](const std::string& text) { return with_names_of_python(text); };
  try {
    return call();
  } catch (const InvalidArgument&) {
    raise_changed(std::current_exception(), named);
  } catch (const OutOfMemory&) {
    raise_changed(std::current_exception(), named);
  }
}

/// Warnings and errors; of a stream that `talks` everything that the command prints.
[[nodiscard]] LogCallback serving_log(const serving::ServeOptions& options, bool talks);

/// Names and values of settings, which Python has made texts.
using SettingValues = std::vector<std::pair<std::string, std::string>>;

/// For Python, with the GIL held.
[[nodiscard]] nanobind::dict stats_dict(const ProducerStats& stream, const FeederStats& feeder,
                                        std::uint64_t bad_samples, const StandIns& stand_ins,
                                        const CacheStats& cache = {});
/// None where the lengths of texts are not known.
[[nodiscard]] nanobind::object tokens_value(const std::optional<TokenAccount>& account,
                                            const MadeTokens& made);

}  // namespace batchcast::inline v0_1::python
