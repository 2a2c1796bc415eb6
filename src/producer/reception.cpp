// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/reception.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include "core/numbered_name.hpp"
#include "producer/attendance.hpp"
#include "producer/head_reception.hpp"
#include "producer/late_reception.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

/// A consumer's desk: its memory, and the producer's mapping.
struct DeskMemory {
  Segment segment;
  Mapping mapping;

  explicit DeskMemory(Segment made)
      : segment(std::move(made)), mapping(segment, MapMode::read_write) {
    // Future writes are not sealed: the consumer writes to it.
    segment.seal(Seals::shrink | Seals::grow | Seals::seal);
  }
  [[nodiscard]] Desk* desk() noexcept { return reinterpret_cast<Desk*>(mapping.data()); }
};

/// `rate`: samples that are published in a second.
std::string note_of_wait(const Admitted& admitted, double rate) {
  std::string note = text("joins at position {}, {} samples from now", admitted.position,
                          admitted.samples_to_come);
  const double seconds = static_cast<double>(admitted.samples_to_come) / std::max(rate, 1e-9);
  constexpr double worth_saying_s = 1e9;
  if (rate > 0 && seconds < worth_saying_s) {
    note +=
        text(": about {} s at the present rate, or at once if no other consumer wants those before",
             static_cast<std::uint64_t>(seconds + 1));
  }
  return note;
}

AdmitRequest request_without_name(const Hello& hello) {
  AdmitRequest request;
  request.batch_size = static_cast<std::uint32_t>(hello.batch_size);
  request.pace = hello.pace;
  request.join = hello.join;
  request.cursor = hello.cursor;
  request.between_epochs = hello.between_epochs;
  request.observes = hello.observes;
  request.group = {hello.group, hello.rank, hello.world};
  request.tail = hello.tail;
  request.in_loop = is_in_loop(hello);
  return request;
}

std::string_view reason_of(SeatedGroups& groups, ConsumerKey key, Leaving how) {
  const bool is_lost = how == Leaving::evicted && groups.is_lost_for(key);
  return is_lost ? "its group broke" : name_of(how);
}

std::string text_of_leave(const std::string& name, std::string_view reason, bool has_moved) {
  return has_moved ? text("`{}` holds nothing of its earlier ring any more", name)
                   : text("`{}` is gone ({})", name, reason);
}

}  // namespace

RefusalKind refusal_kind_of(NotAdmitted::Reason reason) noexcept {
  switch (reason) {
    case NotAdmitted::Reason::full:
      return RefusalKind::full;
    case NotAdmitted::Reason::finished:
      return RefusalKind::finished;
    case NotAdmitted::Reason::stopped:
      return RefusalKind::stopped;
    case NotAdmitted::Reason::failed:
      return RefusalKind::failed;
    case NotAdmitted::Reason::cursor_gone:
      return RefusalKind::cursor_gone;
  }
  return RefusalKind::busy;
}

std::string refusal_text_of(const NotAdmitted& why) {
  return (why.reason == NotAdmitted::Reason::failed ? "it has failed: " : "") + why.text;
}

Reception::Reception(Parts parts)
    : parts_(std::move(parts)),
      checks_(parts_.options.stream, parts_.rings),
      grid_checks_(parts_.options),
      pidfd_(own_pidfd()),
      life_(parts_.rings, parts_.life),
      groups_([this](std::uint64_t epoch) {
        return receipt_of(parts_.options, epoch, parts_.options.samples_per_epoch);
      }),
      rank_checks_(parts_.options, parts_.log, forming_, groups_),
      counter_(parts_.options.samples_per_epoch, parts_.options.lengths),
      head_places_(parts_.options, parts_.rings, parts_.log) {
  expect_members();
}

std::string Reception::stream_text() const {
  return text("batchcast: stream `{}`: ", parts_.options.stream);
}

std::optional<Refusal> Reception::refusal_of(Hello& hello) {
  const auto attended = [this] { return Attendance::text_of(*this); };
  if (auto refusal = grid_checks_.settle(hello, attended)) return refusal;
  ServedRing* const ring = parts_.rings.find(hello.placement);
  if (ring == nullptr) return LateReception::refusal_of(*this, hello);
  if (auto refusal = checks_.refusal_of(hello, *ring)) return refusal;
  return hello.world == 0 ? std::nullopt : rank_checks_.refusal_of(hello, *ring);
}

AdmitRequest Reception::request_of(const Hello& hello, std::uint32_t pid) const {
  // Names differ between rings too: a command evicts a consumer by its name alone.
  const std::vector<std::string> names = parts_.rings.consumer_names();
  const std::unordered_set<std::string> taken(names.begin(), names.end());
  AdmitRequest request = request_without_name(hello);
  request.name = numbered_name(hello.name.empty() ? "consumer" : hello.name,
                               [&](const std::string& name) { return taken.contains(name); });
  request.pid = pid;
  return request;
}

AdmissionReply Reception::admit(const Hello& said, const PeerIdentity& peer) {
  Hello hello = said;
  const auto pid = static_cast<std::uint32_t>(peer.pid != 0 ? peer.pid : hello.pid);
  if (auto refusal = refusal_of(hello)) {
    const bool asks_again = refusal->kind == RefusalKind::busy;
    if (hello.world != 0 && !asks_again) rank_checks_.note_refused(hello, pid, refusal->text);
    return std::move(*refusal);
  }
  if (hello.world != 0 && !hello.resumes) return Waiting{forming_.add(hello, pid)};
  if (auto reply = HeadReception::move(*this, hello, pid)) return std::move(*reply);
  if (!hello.observes && returning_.is_to_wait(hello)) return wait_with_members(hello, pid);
  if (hello.resumes) {
    if (auto reply = take_kept_place(hello, pid)) return std::move(*reply);
    if (hello.world != 0) return rank_checks_.refusal_of_late(hello);
  }
  return HeadReception::welcome<AdmissionReply>(*this, hello, pid);
}

std::variant<Reception::Seated, Refusal> Reception::seat(ServedRing& ring,
                                                         const AdmitRequest& request,
                                                         std::uint64_t reading) {
  std::shared_ptr<DeskMemory> memory;
  try {
    memory = std::make_shared<DeskMemory>(Segment::create_small("desk", page_bytes()));
  } catch (const Error& error) {
    return Refusal{RefusalKind::busy,
                   text("{}no desk could be made: {}", stream_text(), error.what())};
  }
  ordered::set_reading(*memory->desk(), reading);
  auto let = let_in(ring, request, std::shared_ptr<Desk>(memory, memory->desk()));
  if (auto* refusal = std::get_if<Refusal>(&let)) return std::move(*refusal);
  const Admitted& admitted = std::get<Admitted>(let);
  parts_.log(LogLevel::info,
             text("`{}` (pid {}) {}{}", admitted.name, request.pid,
                  request.observes ? "looks on" : text("joined at position {}", admitted.position),
                  on_device(ring)));
  Seated seated{&ring, admitted, welcomed(admitted, ring)};
  seated.admission.welcome.desk_bytes = memory->segment.bytes();
  seated.admission.descriptors[1] = memory->segment.fd();
  seated.admission.hold = std::move(memory);
  return seated;
}

std::variant<Admitted, Refusal> Reception::let_in(ServedRing& ring, const AdmitRequest& request,
                                                  std::shared_ptr<Desk> desk) {
  auto reply = ring.admit(request, std::move(desk));
  if (const auto* refusal = std::get_if<NotAdmitted>(&reply)) {
    return Refusal{refusal_kind_of(refusal->reason), stream_text() + refusal_text_of(*refusal)};
  }
  Admitted& admitted = std::get<Admitted>(reply);
  const bool goes_on = parts_.rings.count_trainers();
  // The host ring's writer admits under the lock under which it ends the stream. Another ring's
  // consumer may come while the stream ends because it has no consumers.
  if (!goes_on && &ring != &parts_.rings.host()) {
    ring.writer().remove(admitted.index, admitted.consumer_id);
    ring.look_for_demand();
    static_cast<void>(parts_.rings.count_trainers());
    return Refusal{RefusalKind::stopped, text("{}it has just ended", stream_text())};
  }
  const std::lock_guard lock(mutex_);
  seats_.insert({admitted.consumer_id, Seat{ring, admitted.index, admitted.name, request.observes,
                                            request.between_epochs, request.pid}});
  return std::move(admitted);
}

Admission Reception::welcomed(const Admitted& admitted, ServedRing& ring) const {
  Admission admission;
  admission.key = admitted.consumer_id;
  Welcome& welcome = admission.welcome;
  welcome.stream = parts_.options.stream;
  welcome.consumer_index = admitted.index;
  welcome.consumer_id = admitted.consumer_id;
  welcome.name = admitted.name;
  welcome.position = admitted.position;
  welcome.samples_to_come = admitted.samples_to_come;
  welcome.board_bytes = ring.board_segment().bytes();
  constexpr int desk = -1;  // put in by the caller, which owns it
  admission.descriptors = {ring.board_segment().fd(), desk, pidfd_.get()};
  ring.offer(welcome, admission.descriptors);
  if (admitted.samples_to_come > 0)
    welcome.notes.push_back(note_of_wait(admitted, parts_.rate.per_second()));
  return admission;
}

std::optional<Reception::Seat> Reception::seat_of(ConsumerKey key) const {
  const std::lock_guard lock(mutex_);
  const auto found = seats_.find(key);
  if (found == seats_.end()) return std::nullopt;
  return found->second;
}

void Reception::left(ConsumerKey key, Leaving how) {
  counter_.forget(key);
  if (forming_.remove(key) || returning_.remove(key)) return;
  const auto seat = seat_of(key);
  if (!seat) return;
  seat->ring.writer().remove(seat->index, key);
  life_.left(seat->ring, key, loss_of(how), groups_.ended_by(key));
  parts_.rings.note_leave(seat->ring);
  {
    const std::lock_guard lock(mutex_);
    seats_.erase(key);
  }
  const bool has_moved = head_places_.has_moved(key);
  head_places_.forget(key);
  seat->ring.look_for_demand();
  static_cast<void>(parts_.rings.count_trainers());
  parts_.log(how == Leaving::misbehaved ? LogLevel::warning : LogLevel::info,
             text_of_leave(seat->name, reason_of(groups_, key, how), has_moved));
  const StreamState state = parts_.rings.host().writer().state();
  if (const auto line = groups_.gone(key, how, state)) parts_.log(LogLevel::info, *line);
  head_places_.close_empty(HeadReception::seats(*this));
}

std::variant<Rejoined, Refusal> Reception::rejoin(ConsumerKey key, const Rejoin& rejoin) {
  const auto seat = seat_of(key);
  if (!seat) return Refusal{RefusalKind::busy, "batchcast: this consumer is not attached"};
  if (auto refusal = checks_.refusal_of_row(rejoin.cursor, {}, seat->ring)) {
    return std::move(*refusal);
  }
  // Ranks stay, unless they come from another ring.
  const bool stays = groups_.has(key) && !groups_.is_coming(key);
  const Join join = stays ? Join::rewind : rejoin.join;
  const auto reply = seat->ring.resume(seat->index, key, join, rejoin.cursor.position);
  if (const auto* refusal = std::get_if<NotAdmitted>(&reply)) {
    return HeadReception::answer_gone(
        *this, *seat, key, rejoin,
        {refusal_kind_of(refusal->reason), stream_text() + refusal_text_of(*refusal)});
  }
  life_.hasten();
  Rejoined rejoined;
  rejoined.position = std::get<std::uint64_t>(reply);
  return rejoined;
}

void Reception::paused(ConsumerKey key) {
  const auto seat = seat_of(key);
  if (!seat) return;
  seat->ring.writer().pause(seat->index, key);
  life_.hasten();
  seat->ring.look_for_demand();
}

void Reception::door_lost() {
  const std::string why =
      "the program that serves it closed the stream's file descriptors (os.closerange, or a step "
      "that makes a daemon): no consumer can join any more, nor be seen to leave. Close them "
      "before "
      "the stream is served";
  parts_.log(LogLevel::error, why);
  parts_.rings.fail(why);
}

void Reception::tick() {
  parts_.rings.take_late();
  look_after_absent();
  for (ServedRing* const ring : parts_.rings.all()) ring->look_for_demand();
  HeadReception::look(*this);
  parts_.rate.note(parts_.rings.samples_published());
  if (!awaits_members_.load()) life_.look(now_ns(), groups_.ended());
}

}  // namespace batchcast::inline v0_1::detail
