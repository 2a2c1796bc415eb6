// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/producer_core.hpp"
#include "producer/producer_settings.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/identity.hpp>
#include <batchcast/core/nearest_name.hpp>
#include <batchcast/data/fingerprint.hpp>

#include <algorithm>

// Checks that need nothing to be made.
namespace batchcast::inline v0_1::detail {
namespace {

void check_consumers(const ProducerOptions& options) {
  const std::size_t most = limits::consumers_max - std::min(options.places.size(), std::size_t{64});
  if (options.max_consumers == 0 || options.max_consumers > most) {
    throw InvalidArgument(text("batchcast: max_consumers is {}; it must lie between 1 and {}.",
                               options.max_consumers, most));
  }
  if (options.wait_for > options.max_consumers) {
    throw InvalidArgument(
        text("batchcast: wait_for ({}) is more than max_consumers ({}): they would never all come.",
             options.wait_for, options.max_consumers));
  }
}

void check_stall_timeout(const ProducerOptions& options) {
  if (options.stall_timeout_ms != 0 && options.stall_timeout_ms <= limits::stall_timeout_ms_max) {
    return;
  }
  throw InvalidArgument(text("batchcast: stall_timeout_ms is {}; it must lie between 1 and {}.",
                             options.stall_timeout_ms, limits::stall_timeout_ms_max));
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
    throw InvalidArgument(text("batchcast: a stream is served on at most {} GPUs.", places_max));
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
      throw InvalidArgument(text(
          "batchcast: {} is named twice: all trainers on a GPU share one ring.", place->text()));
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
    throw InvalidArgument(text(
        "batchcast: field `{}` is to stay in host memory, but stream `{}` has none of that name.{}",
        name, options.stream, did_you_mean(name, names)));
  }
}

void check_grid(const ProducerOptions& options) {
  if (!options.grid) return;
  const bool fits = options.grid->is_sound() && options.want_grid && options.pure &&
                    options.samples_per_epoch == options.grid->samples_per_epoch();
  if (fits) return;
  throw InvalidArgument(
      text("batchcast: stream `{}` cannot be laid out by the grid {}. It needs a pure stream, "
           "samples_per_epoch of the grid, and want_grid.",
           options.stream, options.grid->to_json()));
}

/// Rings on GPUs hold samples of one shape, and an axis needs a number of rows.
void check_rows(const ProducerOptions& options) {
  const std::vector<std::string> axes = axes_of(options.schema);
  const auto check_axis = [&](const std::string& axis, const char* option) {
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) return;
    throw InvalidArgument(
        text("batchcast: {} names the axis `{}`, which no field of stream `{}` lies on.{}", option,
             axis, options.stream, did_you_mean(axis, axes)));
  };
  for (const RowsPerSample& one : options.rows_per_sample) {
    check_axis(one.axis, "rows_per_sample");
    if (!(one.rows > 0 && one.rows < 1e15)) {
      throw InvalidArgument(
          text("batchcast: rows_per_sample of the axis `{}` has to lie above 0.", one.axis));
    }
  }
  for (const AxisRowCount& one : options.rows) {
    check_axis(one.axis, "rows");
    if (one.rows == 0 || one.rows >= limits::position_max / 2) {
      throw InvalidArgument(
          text("batchcast: the axis `{}` is to have {} rows in the ring.", one.axis, one.rows));
    }
  }
  for (const std::string& axis : axes) {
    const bool has_mean =
        std::any_of(options.rows_per_sample.begin(), options.rows_per_sample.end(),
                    [&](const RowsPerSample& one) { return one.axis == axis; });
    const bool has_rows = std::any_of(options.rows.begin(), options.rows.end(),
                                      [&](const AxisRowCount& one) { return one.axis == axis; });
    if (has_mean || has_rows) continue;
    throw InvalidArgument(
        text("batchcast: the ring of stream `{}` cannot be divided: say how many rows a sample has "
             "on the axis `{}` about (rows_per_sample), or how many the ring has (rows).",
             options.stream, axis));
  }
  if (axes.empty() || options.places.empty()) return;
  throw InvalidArgument(
      text("batchcast: stream `{}` has the axis `{}`, and rings on GPUs hold samples of one shape "
           "only. Serve it without a place (--place), and let trainers take batches with pin.",
           options.stream, axes.front()));
}

void settle_identity(ProducerOptions& options) {
  if (!options.identity.empty()) {
    if (!options.pure) {
      throw InvalidArgument(
          "batchcast: an identity is of a stream whose recipe determines every byte. Leave it out, "
          "or set `pure`.");
    }
    if (is_none(identity_from(options.identity))) {
      throw InvalidArgument(
          text("batchcast: the identity `{}` is not 32 hexadecimal digits, of which one is not 0.",
               options.identity));
    }
    return;
  }
  if (!options.pure || options.recipe_json.empty()) return;
  options.identity = identity_in(options.recipe_json);
  if (options.identity.empty()) options.identity = fingerprint_of(options.recipe_json).to_hex();
}

/// Without samples that can be made again at any position, and have one shape, it has no heads.
void settle_heads(ProducerOptions& options) {
  if (options.heads == 0 || options.heads > heads_max) {
    throw InvalidArgument(text("batchcast: a stream is served at 1 to {} places (heads), not {}.",
                               heads_max, options.heads));
  }
  if (!(options.catch_up > 0 && options.catch_up < 1)) {
    throw InvalidArgument("batchcast: catch_up is a share of the work, above 0 and below 1.");
  }
  const bool can_be_made_again = options.pure && options.samples_per_epoch != 0;
  if (!can_be_made_again || !axes_of(options.schema).empty()) options.heads = 1;
  if (options.heads == 1 && options.on_stall == OnStall::own_place) {
    throw InvalidArgument(text("batchcast: {}.", own_place_needs_heads));
  }
}

}  // namespace

ProducerOptions checked(ProducerOptions options) {
  check_stream_name(options.stream);
  settle_identity(options);
  check_schema(options.schema);
  check_grid(options);
  check_rows(options);
  check_consumers(options);
  check_stall_timeout(options);
  check_epochs(options);
  check_places(options);
  settle_heads(options);
  return options;
}

}  // namespace batchcast::inline v0_1::detail
