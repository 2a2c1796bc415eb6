// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Reception's part for heads: which ring a consumer gets, when a head opens and closes, and how its
// trainers come to the leading ring.
#include "producer/reception.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

// A trainer that is asked to move, and does not, is asked again after that time.
constexpr std::uint64_t ask_every_ns = 1'000'000'000;
// The leading ring goes on while a place is chosen, and may lose the sample meanwhile.
constexpr int tries = 4;

/// The cursor that a trainer needs: its own, or with `rewind` the start of the epoch that the
/// stream is in, where it would otherwise wait for more than half an epoch. Empty: any will do.
std::optional<std::uint64_t> cursor_of(const Hello& hello, const RingOutlook& leading,
                                       std::uint64_t samples_per_epoch) {
  if (hello.join == Join::at) return hello.cursor;
  const bool may_wait = hello.join != Join::rewind || hello.pace != Pace::lockstep;
  if (may_wait || !leading.rewind) return std::nullopt;
  const bool waits_long = *leading.rewind > leading.published &&
                          *leading.rewind - leading.published > samples_per_epoch / 2;
  return waits_long ? std::optional(leading.epoch_start) : std::nullopt;
}

}  // namespace

/// The leading ring, unless a head is needed.
std::variant<Reception::Chosen, Refusal> Reception::choose_ring(const Hello& hello) {
  ServedRing* const named = parts_.rings.find(hello.placement);
  Heads& heads = parts_.rings.heads();
  HostRing& leading = parts_.rings.host();
  const Chosen there{named, {}};
  if (!heads.are_allowed() || named != &leading) return there;
  if (auto refusal = refusal_if_full()) return std::move(*refusal);
  const bool needs_none =
      hello.observes || hello.world != 0 || hello.between_epochs == BetweenEpochs::let_go;
  if (needs_none) return there;
  const RingOutlook outlook = leading.writer().outlook(hello.cursor);
  const auto cursor = cursor_of(hello, outlook, parts_.options.samples_per_epoch);
  if (!cursor || outlook.is_over || outlook.goes_back || *cursor >= outlook.oldest) return there;
  return choose_head(hello, *cursor);
}

/// A head that has the sample, another one, or the nearest ring behind.
std::variant<Reception::Chosen, Refusal> Reception::choose_head(const Hello& hello,
                                                                std::uint64_t cursor) {
  Heads& heads = parts_.rings.heads();
  HostRing* behind = nullptr;
  std::uint64_t behind_at = 0;
  for (const auto& head : heads.list()) {
    const RingOutlook outlook = head->writer().outlook(cursor);
    if (outlook.is_over || hello.batch_size > head->capacity()) continue;
    if (outlook.oldest <= cursor && cursor <= outlook.published) return Chosen{head.get(), cursor};
    if (outlook.published > cursor || (behind != nullptr && outlook.published < behind_at))
      continue;
    behind = head.get();
    behind_at = outlook.published;
  }
  if (heads.has_free()) return open_head(hello, cursor);
  if (behind != nullptr) {
    parts_.log(LogLevel::info,
               text("all {} places are taken (--heads): the trainer at position {} waits for {}, "
                    "which is at {}",
                    parts_.options.heads, cursor, behind->id(), behind_at));
    return Chosen{behind, cursor};
  }
  return Refusal{RefusalKind::busy,
                 text("{}no ring is at or behind position {}, and all {} places (--heads) are "
                      "taken. It gets one once a head closes",
                      stream_text(), cursor, parts_.options.heads)};
}

std::variant<Reception::Chosen, Refusal> Reception::open_head(const Hello& hello,
                                                              std::uint64_t cursor) {
  std::string why = "no more samples of it are made";
  try {
    // Only one that comes back has what the receipt lacks.
    const auto before = hello.resumes ? receipt_before(parts_.options, cursor) : std::nullopt;
    const auto head = parts_.rings.heads().open({cursor, hello.batch_size, before});
    if (head) {
      parts_.log(LogLevel::info,
                 text("{} opens at position {}, which the leading ring no longer has: {} samples",
                      head->id(), cursor, head->capacity()));
      return Chosen{head.get(), cursor};
    }
  } catch (const Error& error) {
    std::string_view what = error.what();
    constexpr std::string_view prefix = "batchcast: ";
    if (what.starts_with(prefix)) what.remove_prefix(prefix.size());
    why = text("there is no room for a head (--head-memory): {}", what);
  }
  // A trainer that comes back does not give up where room is lacking.
  return Refusal{
      hello.resumes ? RefusalKind::busy : RefusalKind::cursor_gone,
      text("{}position {} is no longer in the ring, and {}", stream_text(), cursor, why)};
}

/// Places are counted over all rings in host memory.
std::optional<Refusal> Reception::refusal_if_full() const {
  if (parts_.rings.heads().list().empty()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto taken = std::count_if(seats_.begin(), seats_.end(), [](const auto& seat) {
    return seat.second.ring.placement().is_host();
  });
  if (static_cast<std::uint64_t>(taken) < parts_.options.max_consumers) return std::nullopt;
  return Refusal{RefusalKind::full,
                 text("{}all {} places for consumers are taken. Start the producer with a larger "
                      "--max-consumers (up to {})",
                      stream_text(), parts_.options.max_consumers, limits::consumers_max)};
}

/// A place for a consumer that is no rank, in the ring that has its sample.
std::variant<Reception::Seated, Refusal> Reception::seat_where_it_fits(const Hello& hello,
                                                                       std::uint32_t pid) {
  for (int left = tries;; --left) {
    auto chosen = choose_ring(hello);
    if (auto* refusal = std::get_if<Refusal>(&chosen)) return std::move(*refusal);
    const auto [ring, cursor] = std::get<Chosen>(chosen);
    AdmitRequest request = request_of(hello, pid);
    if (cursor) {
      request.join = Join::at;
      request.cursor = *cursor;
    }
    auto seated = seat(*ring, request);
    auto* const refusal = std::get_if<Refusal>(&seated);
    if (refusal == nullptr) return seated;
    close_empty_heads();
    const bool is_gone = refusal->kind == RefusalKind::cursor_gone;
    if (is_gone && parts_.rings.heads().are_allowed()) {
      if (ring->placement().is_host() && hello.world == 0 && left > 1 &&
          hello.between_epochs == BetweenEpochs::hold) {
        continue;
      }
      if (!ring->placement().is_host()) refusal->text += ". Heads are in host memory only";
    }
    return seated;
  }
}

/// What a consumer gets that is refused at another place. Where that is because its ring has lost
/// the cursor, a consumer that attaches again gets a head, and so does one that follows an
/// observer.
std::variant<Rejoined, Refusal> Reception::answer_gone(const Seat& seat, ConsumerKey key,
                                                       const Rejoin& rejoin, Refusal refusal) {
  const bool gets_head = refusal.kind == RefusalKind::cursor_gone && rejoin.join == Join::at &&
                         parts_.rings.heads().are_allowed() && seat.ring.placement().is_host() &&
                         seat.between_epochs == BetweenEpochs::hold;
  if (!gets_head) return refusal;
  if (!seat.observes) {
    refusal.kind = RefusalKind::busy;
    return refusal;
  }
  const RingOutlook outlook = seat.ring.writer().outlook(rejoin.cursor.position);
  const bool is_behind = rejoin.cursor.position < outlook.oldest;
  const auto announced = seat.ring.resume(seat.index, key, Join::now, 0);
  if (!is_behind || std::holds_alternative<NotAdmitted>(announced)) return refusal;
  Rejoined rejoined;
  rejoined.position = rejoin.cursor.position;
  return rejoined;
}

bool Reception::has_seats(const ServedRing& ring) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(seats_.begin(), seats_.end(),
                     [&](const auto& seat) { return &seat.second.ring == &ring; });
}

void Reception::close_empty_heads() {
  for (const auto& head : parts_.rings.heads().list()) {
    if (has_seats(*head)) continue;
    parts_.log(LogLevel::info, text("{} closes: no trainer is there any more", head->id()));
    parts_.rings.heads().close(*head);
  }
}

/// At each tick.
void Reception::look_after_heads() {
  Heads& heads = parts_.rings.heads();
  if (heads.list().empty()) return;
  const auto over = parts_.rings.host().writer().refusal_of_newcomers();
  if (over && over->reason == NotAdmitted::Reason::failed) heads.fail(over->text);
  if (over && over->reason == NotAdmitted::Reason::stopped) heads.stop(over->text);
  close_empty_heads();
  heads.look(now_ns());
  if (over && over->reason != NotAdmitted::Reason::full) return;
  if (!has_seats(parts_.rings.host())) fetch_leading_ring();
  bring_to_leading_ring();
}

/// The leading ring has no consumer: it goes to the trainers of the foremost head.
void Reception::fetch_leading_ring() {
  std::optional<std::uint64_t> place;
  std::uint64_t foremost = 0;
  for (const auto& head : parts_.rings.heads().list()) {
    const WriterStatus status = head->writer().status();
    if (has_ended(status.state) || (place && status.published < foremost)) continue;
    std::optional<std::uint64_t> lowest;
    for (const ConsumerStatus& one : status.consumers) {
      lowest = std::min(lowest.value_or(one.position), one.position);
    }
    if (!lowest) continue;
    place = std::min(*lowest, status.published);
    foremost = status.published;
  }
  if (!place) return;
  RingWriter& leading = parts_.rings.host().writer();
  const RingOutlook outlook = leading.outlook(*place);
  const bool is_held = outlook.oldest <= *place && *place <= outlook.published;
  if (!is_held) static_cast<void>(leading.go_to(*place));
}

/// A trainer of a head whose next sample is in the newer half of what the leading ring holds is
/// asked to come there. Its consumer says hello, and gets its place under that ring's lock.
void Reception::bring_to_leading_ring() {
  const RingOutlook leading = parts_.rings.host().writer().outlook(0);
  const std::uint64_t held = saturating_sub(leading.published, leading.oldest);
  const std::uint64_t from = leading.published - held / 2;
  const std::uint64_t now = now_ns();
  for (const auto& head : parts_.rings.heads().list()) {
    for (const ConsumerStatus& one : head->writer().status().consumers) {
      if (one.position < from || one.group.world != 0) continue;
      std::uint64_t& asked_ns = asked_to_move_[one.consumer_id];
      if (now - asked_ns < ask_every_ns) continue;
      asked_ns = now;
      head->writer().ask_to_move(one.index, one.consumer_id);
    }
  }
}

/// A consumer of a head comes to the leading ring. It keeps its place in the head until it has
/// given back what it holds there. Nothing where the hello is of none.
std::optional<AdmissionReply> Reception::move_to_leading_ring(const Hello& hello,
                                                              std::uint32_t pid) {
  Heads& heads = parts_.rings.heads();
  const bool is_of_head = hello.resumes && heads.had(hello.resumes->incarnation);
  if (!is_of_head) return std::nullopt;
  const auto seat = seat_of(hello.resumes->consumer_id);
  if (!seat || !heads.is_head(seat->ring) || hello.world != 0) {
    return Refusal{RefusalKind::cursor_gone,
                   stream_text() + "this consumer has no place in a head any more"};
  }
  AdmitRequest request = request_of(hello, pid);
  request.name = seat->name;  // it is the same trainer
  auto seated = this->seat(parts_.rings.host(), request);
  if (auto* refusal = std::get_if<Refusal>(&seated)) {
    // It stays where it is, and is asked again.
    return Refusal{RefusalKind::cursor_gone, std::move(refusal->text)};
  }
  note_member(std::get<Seated>(seated), hello, pid);
  parts_.log(LogLevel::info,
             text("`{}` goes on in the leading ring from position {}", seat->name, hello.cursor));
  return std::move(std::get<Seated>(seated).admission);
}

}  // namespace batchcast::inline v0_1::detail
