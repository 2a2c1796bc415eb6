// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/head_places.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/states.hpp>
#include <batchcast/core/text.hpp>
#include "producer/life_notes.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

// A trainer that is asked to move, and does not, is asked again after that time.
constexpr std::uint64_t ask_every_ns = 1'000'000'000;

/// The cursor that a trainer needs. With `rewind` it is the start of the stream's epoch, if the
/// trainer would else wait for more than half an epoch. Empty: any will do.
std::optional<std::uint64_t> cursor_of(const Hello& hello, const RingOutlook& leading,
                                       std::uint64_t samples_per_epoch) {
  if (hello.join == Join::at) return hello.cursor;
  const bool may_wait = hello.join != Join::rewind || hello.pace != Pace::lockstep;
  if (may_wait || !leading.rewind) return std::nullopt;
  const bool waits_long = *leading.rewind > leading.published &&
                          *leading.rewind - leading.published > samples_per_epoch / 2;
  return waits_long ? std::optional(leading.epoch_start) : std::nullopt;
}

/// In samples: of a rank, that of its group.
std::uint64_t batch_of(const Hello& hello) noexcept {
  return hello.batch_size * std::max(hello.world, 1U);
}

std::string without_prefix(std::string why) {
  constexpr std::string_view prefix = "batchcast: ";
  if (why.starts_with(prefix)) why.erase(0, prefix.size());
  return why;
}

bool has(const HeadPlaces::Seats& seats, const ServedRing& ring) {
  return std::find(seats.begin(), seats.end(), &ring) != seats.end();
}

}  // namespace

std::string HeadPlaces::stream_text() const {
  return text("batchcast: stream `{}`: ", options_.stream);
}

/// The leading ring, unless a head is needed.
std::variant<HeadPlaces::Chosen, Refusal> HeadPlaces::choose(const Hello& hello,
                                                             const Seats& seats) {
  ServedRing* const named = rings_.find(hello.placement);
  Heads& heads = rings_.heads();
  HostRing& leading = rings_.host();
  const Chosen there{named, {}};
  if (!heads.are_allowed() || named != &leading) return there;
  // A member that comes back had its place before a newcomer.
  auto full = hello.resumes ? std::nullopt : refusal_if_full(hello, seats);
  if (full && !heads.list().empty()) return std::move(*full);
  // A group gets no head that it can do without.
  const bool may_wait = hello.world != 0 && hello.join != Join::at;
  if (may_wait || hello.observes || hello.between_epochs == BetweenEpochs::let_go) return there;
  const RingOutlook outlook = leading.writer().outlook(hello.cursor);
  const auto cursor = cursor_of(hello, outlook, options_.samples_per_epoch);
  if (!cursor || outlook.is_over || outlook.goes_back || *cursor >= outlook.oldest) return there;
  if (full) return std::move(*full);
  auto chosen = choose_head(hello, *cursor);
  // With `rewind` it may wait instead, as it does without heads.
  const bool has_to = hello.join == Join::at || heads.is_making();
  return has_to || std::holds_alternative<Chosen>(chosen) ? chosen : there;
}

/// A head that has the sample, another one, or the nearest ring behind.
std::variant<HeadPlaces::Chosen, Refusal> HeadPlaces::choose_head(const Hello& hello,
                                                                  std::uint64_t cursor) {
  Heads& heads = rings_.heads();
  HostRing* behind = nullptr;
  std::uint64_t behind_at = 0;
  for (const auto& head : heads.list()) {
    const RingOutlook outlook = head->writer().outlook(cursor);
    if (outlook.is_over || 2 * batch_of(hello) > head->capacity()) continue;
    if (outlook.oldest <= cursor && cursor <= outlook.published) return Chosen{head.get(), cursor};
    if (outlook.published > cursor || (behind != nullptr && outlook.published < behind_at))
      continue;
    behind = head.get();
    behind_at = outlook.published;
  }
  if (heads.has_free()) return open_head(hello, cursor, "which the leading ring no longer has");
  if (behind != nullptr && hello.join == Join::at) {
    log_(LogLevel::info,
         text("all {} places are taken (--heads): the trainer at position {} waits for {}, "
              "which is at {}",
              options_.heads, cursor, behind->id(), behind_at));
    return Chosen{behind, cursor};
  }
  return Refusal{RefusalKind::busy,
                 text("{}no ring is at or behind position {}, and all {} places (--heads) are "
                      "taken. It gets one once a head closes",
                      stream_text(), cursor, options_.heads)};
}

std::variant<HeadPlaces::Chosen, Refusal> HeadPlaces::open_head(const Hello& hello,
                                                                std::uint64_t cursor,
                                                                const std::string& reason) {
  std::string why;
  try {
    // Only one that comes back has what the receipt lacks.
    const auto before = hello.resumes ? receipt_before(options_, cursor) : std::nullopt;
    auto opened = rings_.heads().open({cursor, batch_of(hello), before});
    if (const auto* head = std::get_if<std::shared_ptr<HostRing>>(&opened)) {
      log_(LogLevel::info, text("{} opens at position {}, {}: {} samples", (*head)->id(), cursor,
                                reason, (*head)->capacity()));
      return Chosen{head->get(), cursor};
    }
    const Heads::NotOpen& not_open = std::get<Heads::NotOpen>(opened);
    if (not_open.comes) {
      return Refusal{RefusalKind::busy,
                     text("{}a head opens at position {}", stream_text(), cursor)};
    }
    why = not_open.why;
  } catch (const Error& error) {
    why = error.what();
  }
  // A trainer that comes back does not give up where room is lacking.
  return Refusal{hello.resumes ? RefusalKind::busy : RefusalKind::cursor_gone,
                 text("{}position {}, {}, needs a head, and none opens (--head-memory): {}",
                      stream_text(), cursor, reason, without_prefix(std::move(why)))};
}

ServedRing* HeadPlaces::open_again(const std::string& group, std::uint64_t cursor,
                                   std::uint64_t batch_size) {
  std::string why = text("all {} places (--heads) are taken", options_.heads);
  try {
    if (rings_.heads().has_free()) {
      const auto opened =
          rings_.heads().open_now({cursor, batch_size, receipt_before(options_, cursor)});
      if (const auto* head = std::get_if<std::shared_ptr<HostRing>>(&opened)) {
        log_(LogLevel::info, text("{} opens at position {}, where group `{}` was: {} samples",
                                  (*head)->id(), cursor, group, (*head)->capacity()));
        return head->get();
      }
      why = std::get<Heads::NotOpen>(opened).why;
    }
  } catch (const Error& error) {
    why = error.what();
  }
  log_(LogLevel::warning,
       text("group `{}` gets no head (--head-memory): {}. The stream goes on at position {}, where "
            "its ranks are, and the other trainers wait until it has come to theirs",
            group, without_prefix(std::move(why)), cursor));
  return nullptr;
}

/// Places are counted over all rings in host memory.
std::optional<Refusal> HeadPlaces::refusal_if_full(const Hello& hello, const Seats& seats) const {
  const auto taken = static_cast<std::uint64_t>(
      std::count_if(seats.begin(), seats.end(),
                    [](const ServedRing* ring) { return ring->placement().is_host(); }));
  const std::uint64_t places = options_.max_consumers;
  if (taken + std::max(hello.world, 1U) <= places) return std::nullopt;
  const std::string why =
      hello.world == 0 ? text("all {} places for consumers are taken", places)
                       : text(
                             "group `{}` has {} ranks, and {} of the {} places for consumers "
                             "are taken",
                             hello.group, hello.world, taken, places);
  return Refusal{RefusalKind::full,
                 text("{}{}. Start the producer with a larger --max-consumers (up to {})",
                      stream_text(), why, limits::consumers_max)};
}

void HeadPlaces::close_empty(const Seats& seats) {
  if (keeps_empty_) return;
  for (const auto& head : rings_.heads().list()) {
    if (has(seats, *head)) continue;
    log_(LogLevel::info, text("{} closes: no trainer is there any more", head->id()));
    rings_.heads().close(*head);
  }
}

/// At each tick.
void HeadPlaces::look(const Seats& seats) {
  Heads& heads = rings_.heads();
  if (!heads.are_allowed()) return;
  heads.look(now_ns());
  if (heads.list().empty()) return;
  const auto over = rings_.host().writer().refusal_of_newcomers();
  if (over && over->reason == NotAdmitted::Reason::failed) heads.fail(over->text);
  if (over && over->reason == NotAdmitted::Reason::stopped) heads.stop(over->text);
  close_empty(seats);
  if (over && over->reason != NotAdmitted::Reason::full) return;
  if (!has(seats, rings_.host())) fetch_leading_ring();
  bring_to_leading_ring();
}

/// The leading ring has no consumer: it goes to the trainers of the foremost head.
void HeadPlaces::fetch_leading_ring() {
  std::optional<std::uint64_t> place;
  std::uint64_t foremost = 0;
  for (const auto& head : rings_.heads().list()) {
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
  RingWriter& leading = rings_.host().writer();
  const RingOutlook outlook = leading.outlook(*place);
  const bool is_held = outlook.oldest <= *place && *place <= outlook.published;
  if (!is_held) static_cast<void>(leading.go_to(*place));
}

std::map<std::string, HeadPlaces::GroupInHead> HeadPlaces::groups_of(
    const std::vector<ConsumerStatus>& consumers) const {
  std::map<std::string, GroupInHead> groups;
  for (const ConsumerStatus& one : consumers) {
    if (one.group.world == 0 || has_moved(one.consumer_id)) continue;
    GroupInHead& group = groups.insert({one.group.name, {one.position, 0}}).first->second;
    group.lowest = std::min(group.lowest, one.position);
    ++group.ranks;
  }
  return groups;
}

/// Once some ranks have moved, these keep the leading ring back. So it may be full from their place
/// on, and a rank that is where they are never comes to the newer half.
bool HeadPlaces::GroupInHead::may_move(const ConsumerStatus& rank, std::uint64_t oldest,
                                       std::uint64_t newer_half) const noexcept {
  const bool is_whole = ranks >= rank.group.world;
  return is_whole ? lowest >= newer_half : rank.position >= oldest;
}

/// A trainer of a head whose next sample is in the newer half of what the leading ring holds is
/// asked to come there. Its consumer says hello, and gets its place under that ring's lock. The
/// ranks of a group are asked once that holds for each of them.
void HeadPlaces::bring_to_leading_ring() {
  const RingOutlook leading = rings_.host().writer().outlook(0);
  const std::uint64_t held = saturating_sub(leading.published, leading.oldest);
  const std::uint64_t from = leading.published - held / 2;
  const std::uint64_t now = now_ns();
  for (const auto& head : rings_.heads().list()) {
    const std::vector<ConsumerStatus> consumers = head->writer().status().consumers;
    const std::map<std::string, GroupInHead> groups = groups_of(consumers);
    for (const ConsumerStatus& one : consumers) {
      if (has_moved(one.consumer_id)) continue;
      const bool has_caught_up =
          one.group.world == 0 ? one.position >= from
                               : groups.at(one.group.name).may_move(one, leading.oldest, from);
      if (!has_caught_up) continue;
      if (stays_in_own_place(one.consumer_id, now)) continue;
      std::uint64_t& asked_ns = asked_to_move_[one.consumer_id];
      if (now - asked_ns < ask_every_ns) continue;
      asked_ns = now;
      head->writer().ask_to_move(one.index, one.consumer_id);
    }
  }
}

bool HeadPlaces::may_serve(std::uint64_t cursor) const {
  const Heads& heads = rings_.heads();
  if (heads.has_free()) return true;
  for (const auto& head : heads.list()) {
    const RingOutlook outlook = head->writer().outlook(cursor);
    if (outlook.oldest <= cursor && cursor <= outlook.published) return true;
  }
  return false;
}

// ---- a slow trainer gets a head

std::optional<SlowTrainerWatch::Slow> HeadPlaces::look_for_slow() {
  const auto window_ns = rings_.heads().own_place_window_ns();
  RingWriter& leading = rings_.host().writer();
  if (!window_ns || leading.state() != StreamState::running) {
    slow_trainers_.forget();
    return std::nullopt;
  }
  return slow_trainers_.look(leading.status(), rings_.host().capacity(), now_ns(), *window_ns);
}

void HeadPlaces::offer_own_place(const SlowTrainerWatch::Slow& slow) {
  const std::string waited = text("`{}` let the others wait for {}% of the time", slow.name,
                                  static_cast<std::uint64_t>(100 * slow.waited_share));
  if (!rings_.heads().has_free()) {
    if (std::exchange(told_of_no_place_, true)) return;
    log_(LogLevel::warning,
         text("{}, and all {} places (--heads) are taken", waited, options_.heads));
    return;
  }
  told_of_no_place_ = false;
  log_(LogLevel::info, text("{}: it is asked to go on in a head", waited));
  offered_ns_[slow.consumer_id] = now_ns();
  rings_.host().writer().ask_to_move(slow.index, slow.consumer_id);
}

bool HeadPlaces::has_offer(ConsumerKey key) const {
  constexpr std::uint64_t windows = 2;
  const auto offered = offered_ns_.find(key);
  const auto window_ns = rings_.heads().own_place_window_ns();
  return offered != offered_ns_.end() && !moved_.contains(key) && window_ns &&
         now_ns() - offered->second <= windows * *window_ns;
}

std::variant<HeadPlaces::Chosen, Refusal> HeadPlaces::choose_own_place(const Hello& hello) {
  if (!rings_.heads().has_free()) {
    return Refusal{RefusalKind::cursor_gone,
                   text("{}all {} places (--heads) are taken", stream_text(), options_.heads)};
  }
  auto chosen = open_head(hello, hello.cursor, "for a trainer that is slower than the others");
  // Where there is no room, it stays where it is.
  auto* const refusal = std::get_if<Refusal>(&chosen);
  if (refusal != nullptr && !rings_.heads().is_making()) refusal->kind = RefusalKind::cursor_gone;
  return chosen;
}

void HeadPlaces::note_own_place(ConsumerKey in_head) { own_since_ns_[in_head] = now_ns(); }

bool HeadPlaces::stays_in_own_place(ConsumerKey key, std::uint64_t now_ns) const {
  const auto since = own_since_ns_.find(key);
  const auto window_ns = rings_.heads().own_place_window_ns();
  return since != own_since_ns_.end() && window_ns && now_ns - since->second < *window_ns;
}

void HeadPlaces::forget(ConsumerKey key) {
  asked_to_move_.erase(key);
  offered_ns_.erase(key);
  own_since_ns_.erase(key);
  moved_.erase(key);
  std::erase_if(moved_, [key](const auto& one) { return one.second == key; });
}

}  // namespace batchcast::inline v0_1::detail
