// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/hello_checks.hpp"

#include <batchcast/core/identity.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/ring/layout.hpp>
#include <batchcast/ring/row_refusal.hpp>
#include <batchcast/ring/window.hpp>

#include <algorithm>

namespace batchcast::inline v0_1::detail {

std::string on_device(const ServedRing& ring) {
  return ring.placement().is_host() ? "" : text(" on {}", ring.placement().text());
}

std::optional<Refusal> HelloChecks::refusal_of(const Hello& hello, ServedRing& ring) const {
  if (hello.batch_size > ring.capacity()) return too_large(hello.batch_size, ring);
  if (auto refusal = refusal_of_budget(hello, ring)) return refusal;
  if (auto refusal = refusal_of_window(hello, ring)) return refusal;
  if (auto refusal = refusal_of_row({hello.cursor, hello.cursor_row}, hello.window.axis, ring)) {
    return refusal;
  }
  return hello.resumes ? refusal_of_other_recipe(hello, ring) : std::nullopt;
}

std::string HelloChecks::stream_text() const { return text("batchcast: stream `{}`: ", stream_); }

Refusal HelloChecks::not_served_at(const std::string& placement) const {
  return {RefusalKind::placement,
          text("batchcast: stream `{}` is served {}, not on the GPU {}. Start its producer with "
               "--place and the number that this GPU has there (`batchcast doctor` lists them), or "
               "attach with placement `host`",
               stream_, rings_.places(), placement)};
}

Refusal HelloChecks::too_large(std::uint64_t batch_size, const ServedRing& ring) const {
  return {RefusalKind::ring_too_small,
          text("{}a batch of {} samples does not fit into the ring{}, which spans {}. Serve it "
               "with {} or more, or ask for smaller batches",
               stream_text(), batch_size, on_device(ring), ring.capacity(),
               ring.memory_option_for(batch_size))};
}

/// A budget that no batch can have.
std::optional<Refusal> HelloChecks::refusal_of_budget(const Hello& hello, ServedRing& ring) const {
  if (!hello.budget.is_set()) return std::nullopt;
  const auto& [axis, rows] = hello.budget;
  const auto arena = ring.rows_of(axis);
  if (!arena) {
    return Refusal{RefusalKind::bad_hello, text("{}it has no axis `{}` to cut batches by{}",
                                                stream_text(), axis, ring.axes_text())};
  }
  const std::uint64_t ranks = std::max(hello.world, 1U);
  if (rows <= *arena / ranks) return std::nullopt;
  return Refusal{
      RefusalKind::ring_too_small,
      text("{}a budget of {} rows{} does not fit into the ring, which has {} on the axis "
           "`{}`. Serve it with --rows {}={} or more, or ask for less",
           stream_text(), rows, ranks == 1 ? "" : text(" for each of {} ranks", ranks), *arena,
           axis, axis, rows * ranks)};
}

/// A window that no batch can have.
std::optional<Refusal> HelloChecks::refusal_of_window(const Hello& hello, ServedRing& ring) const {
  if (!hello.window.is_set()) return std::nullopt;
  const Window& window = hello.window;
  const auto arena = ring.rows_of(window.axis);
  if (!arena) {
    return Refusal{RefusalKind::bad_hello, text("{}it has no axis `{}` to cut batches of{}",
                                                stream_text(), window.axis, ring.axes_text())};
  }
  const auto why = why_no_window(window, std::max(hello.world, 1U), *arena);
  if (!why) return std::nullopt;
  return Refusal{RefusalKind::ring_too_small, stream_text() + *why};
}

/// A row that the sample does not have, where that is known.
std::optional<Refusal> HelloChecks::refusal_of_row(RowPlace cursor, const std::string& axis,
                                                   ServedRing& ring) const {
  if (cursor.row == 0) return std::nullopt;
  const auto there = ring.rows_at(axis, cursor.position);
  if (!there || cursor.row < there->rows) return std::nullopt;
  return Refusal{RefusalKind::cursor_gone,
                 stream_text() + why_no_row(cursor, there->axis, there->rows)};
}

/// A stage on a GPU gives the ring there an identity that is not the host's.
std::optional<Refusal> HelloChecks::refusal_of_other_recipe(const Hello& hello,
                                                            ServedRing& ring) const {
  const BoardHead& head = ring.writer().head();
  if (head.identity == hello.resumes->identity && head.samples_per_epoch != 0) return std::nullopt;
  return Refusal{RefusalKind::recipe,
                 text("{}it is served with another recipe now ({}) than the one that this consumer "
                      "reads ({}). Serve the first one again, or attach again to read this one",
                      stream_text(), is_none(head.identity) ? "no pure one" : to_hex(head.identity),
                      to_hex(hello.resumes->identity))};
}

}  // namespace batchcast::inline v0_1::detail
