// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "start/observation.hpp"

#include <batchcast/consumer/delivery.hpp>
#include <batchcast/core/deadline.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/join/directory.hpp>
#include <batchcast/ring/cursor.hpp>

#include <utility>
#include <variant>

namespace batchcast::inline v0_1::detail {
namespace {

ConsumerOptions as_observer(ConsumerOptions options) {
  options.observes = true;
  options.name = "recipe-check";
  options.batch_size = 1;  // it takes none: a ring of any size will do
  return options;
}

Joined joined_to(const ConsumerOptions& options) {
  check_stream_name(options.stream);
  const Deadline deadline(options.connect_timeout_ms);
  return StreamJoiner(options, "host", deadline, deadline).join();
}

}  // namespace

Observation::Observation(const ConsumerOptions& options)
    : Observation(as_observer(options), joined_to(as_observer(options))) {}

Observation::Observation(const ConsumerOptions& options, Joined joined)
    : options_(options),
      process_(options.stream),
      link_(process_, std::move(joined.door)),
      ring_(options_, process_, nullptr, joined.welcome, joined.descriptors) {
  link_.watch(std::move(joined.descriptors[2]));
}

std::string Observation::recipe_json() const { return std::string(ring_.board().recipe_json()); }

void Observation::announce_trainer(int timeout_ms) {
  const Deadline deadline(timeout_ms);
  DoorMessage answer;
  if (link_.ask(encode(Rejoin{}), timeout_ms) == DoorSend::sent &&
      link_.hear(answer, deadline.left_ms()) == DoorRead::message) {
    const ProducerMessage message = decode_from_producer(answer.text);
    if (std::holds_alternative<Rejoined>(message)) return;
    if (const auto* refusal = std::get_if<Refusal>(&message)) throw_refused(*refusal);
  }
  throw StreamNotFound(
      text("batchcast: the producer of stream `{}` is gone or does not answer.", options_.stream));
}

bool Observation::is_draining() const noexcept {
  const BoardView board = ring_.board();
  if (ordered::load_state(board.progress()) != StreamState::draining) return false;
  for (std::size_t i = 0; i < board.head().consumers_max; ++i) {
    const ConsumerEntry& entry = board.consumer(i);
    if (ordered::get(entry.consumer_id) != 0 && ordered::get(entry.paused) == 0) return true;
  }
  return false;
}

}  // namespace batchcast::inline v0_1::detail
