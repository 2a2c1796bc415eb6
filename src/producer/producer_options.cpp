// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/producer_core.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/identity.hpp>
#include <batchcast/core/nearest_name.hpp>
#include <batchcast/data/fingerprint.hpp>

#include <algorithm>

// What can be seen to be wrong before anything is made.
namespace batchcast::inline v0_1::detail {
namespace {

void check_consumers(const ProducerOptions& options) {
  const std::size_t most = limits::consumers_max - std::min(options.places.size(), std::size_t{64});
  if (options.max_consumers == 0 || options.max_consumers > most) {
    throw InvalidArgument("batchcast: max_consumers is " + std::to_string(options.max_consumers) +
                          "; it must lie between 1 and " + std::to_string(most) + ".");
  }
  if (options.wait_for > options.max_consumers) {
    throw InvalidArgument("batchcast: wait_for (" + std::to_string(options.wait_for) +
                          ") is more than max_consumers (" + std::to_string(options.max_consumers) +
                          "): they would never all come.");
  }
}

void check_stall_timeout(const ProducerOptions& options) {
  if (options.stall_timeout_ms != 0 && options.stall_timeout_ms <= limits::stall_timeout_ms_max) {
    return;
  }
  throw InvalidArgument("batchcast: stall_timeout_ms is " +
                        std::to_string(options.stall_timeout_ms) + "; it must lie between 1 and " +
                        std::to_string(limits::stall_timeout_ms_max) + ".");
}

void check_epochs(const ProducerOptions& options) {
  if (options.samples_per_epoch >= limits::position_max) {
    throw InvalidArgument("batchcast: samples_per_epoch is beyond 2^63.");
  }
  if (options.epochs != 0 && options.samples_per_epoch == 0) {
    throw InvalidArgument(
        "batchcast: a number of epochs needs samples_per_epoch. Where an epoch's length is not "
        "known, "
        "call end_epoch() after each and finish() after the last.");
  }
}

/// Fields as consumers on GPUs see them.
std::vector<std::string> names_on_devices(const ProducerOptions& options) {
  std::vector<std::string> names;
  if (options.device_stage != nullptr) {
    for (const auto& field : options.device_stage->plan(options.schema).fields) {
      names.push_back(field.spec.name);
    }
  } else {
    for (const FieldSpec& field : options.schema) names.push_back(field.name);
  }
  names.emplace_back(sample_id_name);
  return names;
}

void check_places(const ProducerOptions& options) {
  constexpr std::size_t places_max = 64;
  if (options.places.size() > places_max) {
    throw InvalidArgument("batchcast: a stream is served on at most " + std::to_string(places_max) +
                          " GPUs.");
  }
  for (auto place = options.places.begin(); place != options.places.end(); ++place) {
    if (place->is_host()) {
      throw InvalidArgument(
          "batchcast: a stream is always served in host memory; name only GPUs as places.");
    }
    if (place->is_own_cuda()) {
      throw InvalidArgument(
          "batchcast: a stream is served on GPUs by their numbers (`cuda:0`): `cuda` is for "
          "trainers.");
    }
    if (std::find(options.places.begin(), place, *place) != place) {
      throw InvalidArgument("batchcast: " + place->text() +
                            " is named twice: all trainers on a GPU share one ring.");
    }
  }
  if (options.places.empty()) {
    if (options.device_stage != nullptr) {
      throw InvalidArgument(
          "batchcast: a device stage without a GPU to run on. Name one as a place (`serve "
          "--place cuda:0`).");
    }
    return;
  }
  const std::vector<std::string> names = names_on_devices(options);
  for (const std::string& name : options.host_fields) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    throw InvalidArgument("batchcast: field `" + name +
                          "` is to stay in host memory, but stream `" + options.stream +
                          "` has none of that name." + did_you_mean(name, names));
  }
}

void settle_identity(ProducerOptions& options) {
  if (!options.identity.empty()) {
    if (!options.pure) {
      throw InvalidArgument(
          "batchcast: an identity is of a stream whose recipe determines every byte. Leave it out, "
          "or set `pure`.");
    }
    if (is_none(identity_from(options.identity))) {
      throw InvalidArgument("batchcast: the identity `" + options.identity +
                            "` is not 32 hexadecimal digits, of which one is not 0.");
    }
    return;
  }
  if (!options.pure || options.recipe_json.empty()) return;
  options.identity = identity_in(options.recipe_json);
  if (options.identity.empty()) options.identity = fingerprint_of(options.recipe_json).to_hex();
}

}  // namespace

ProducerOptions checked(ProducerOptions options) {
  check_stream_name(options.stream);
  settle_identity(options);
  check_schema(options.schema);
  check_consumers(options);
  check_stall_timeout(options);
  check_epochs(options);
  check_places(options);
  return options;
}

}  // namespace batchcast::inline v0_1::detail
