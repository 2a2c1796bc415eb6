// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "observe/ask_statistics.hpp"

#include "observe/stream_json.hpp"

#include <batchcast/core/deadline.hpp>
#include <batchcast/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace batchcast::inline v0_1::observe {
namespace {

using nlohmann::json;

/// Where the page after this one begins; nothing where it is the last.
std::optional<std::uint64_t> next_of(const json& page, std::uint64_t from) {
  const auto next = page.find("next");
  if (next == page.end() || !next->is_number_unsigned()) return std::nullopt;
  const auto position = next->get<std::uint64_t>();
  return position > from ? std::optional(position) : std::nullopt;
}

void count_left_out(json& answer) {
  const auto total = answer.find("consumers_total");
  const auto rows = answer.find("consumers");
  if (total == answer.end() || !total->is_number_unsigned()) return;
  if (rows == answer.end() || !rows->is_array()) return;
  const auto all = total->get<std::uint64_t>();
  if (all > rows->size()) answer["consumers_left_out"] = all - rows->size();
}

/// A producer that is asked for one page after the other.
class Asked {
 public:
  Asked(ControlClient* producer, AskedStatistics& result) : producer_(producer), result_(result) {}

  /// Asks for the first page; false where there is none to wait for.
  [[nodiscard]] bool begin() { return producer_ != nullptr && ask(0); }
  /// Takes the page that has come, and asks for the next one; false where none is to come.
  [[nodiscard]] bool go_on() {
    const auto answer = producer_->receive(0);
    json page = answer ? json::parse(*answer, nullptr, false) : json();
    if (!page.is_object()) {
      end();
      return false;
    }
    next_ = next_of(page, from_);
    if (result_.answer) {
      add_page(*result_.answer, page);
    } else {
      result_.answer = std::move(page);
    }
    if (next_ && ++pages_ < pages_max && ask(*next_)) return true;
    end();
    return false;
  }
  /// No more pages are waited for.
  void end() {
    if (next_ && result_.answer) count_left_out(*result_.answer);
  }
  /// A page that comes too late is not the answer to the next question.
  void give_up() {
    static_cast<void>(producer_->receive(0));
    end();
  }
  [[nodiscard]] ControlClient* producer() const noexcept { return producer_; }

 private:
  static constexpr int pages_max = 64;  // a thousand trainers with the longest names take eleven

  bool ask(std::uint64_t from) {
    constexpr int send_ms = 50;  // into a queue, which takes it at once
    from_ = from;
    try {
      return producer_->send(json{{"command", "stats"}, {"from", from}}.dump(), send_ms);
    } catch (const Error&) {
      result_.failure = std::current_exception();
      return false;
    }
  }

  ControlClient* producer_;
  AskedStatistics& result_;
  std::optional<std::uint64_t> next_;
  std::uint64_t from_ = 0;
  int pages_ = 0;
};

std::vector<ControlClient*> clients_of(const std::vector<Asked*>& asked) {
  std::vector<ControlClient*> clients;
  for (const Asked* const one : asked) clients.push_back(one->producer());
  return clients;
}

}  // namespace

std::vector<AskedStatistics> ask_statistics(const std::vector<ControlClient*>& producers,
                                            int timeout_ms) {
  const detail::Deadline deadline(timeout_ms);
  std::vector<AskedStatistics> results(producers.size());
  std::deque<Asked> all;
  std::vector<Asked*> waiting;
  for (std::size_t i = 0; i < producers.size(); ++i) {
    Asked& one = all.emplace_back(producers[i], results[i]);
    if (one.begin()) waiting.push_back(&one);
  }
  while (!waiting.empty()) {
    const auto ready = ControlClient::wait_for_any(clients_of(waiting), deadline.left_ms());
    if (ready.empty()) break;
    for (const std::size_t i : ready) {
      if (!waiting[i]->go_on()) waiting[i] = nullptr;
    }
    std::erase(waiting, nullptr);
  }
  for (Asked* const one : waiting) one->give_up();
  return results;
}

}  // namespace batchcast::inline v0_1::observe
