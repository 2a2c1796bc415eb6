// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "core/span_buffer.hpp"
#include "producer/ring_spans.hpp"
#include "producer/served_rings.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// What the threads of a stream do while `batchcast trace` looks. It is on from the first page that
/// a client asks for until the last, or until no client has asked for five seconds. While it is
/// off, nothing runs, and each note costs a relaxed load. Any thread may call everything.
class Tracing {
 public:
  /// `rings` must outlive it.
  explicit Tracing(const ServedRings& rings) : rings_(rings) {}
  ~Tracing();
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;

  /// A worker's spans. They are forgotten once the caller has given them up.
  void add(std::shared_ptr<SpanBuffer> spans);

  /// What is wanted with a page. `end`: no span after this moment. The session ends with the page
  /// that says that there are no more.
  enum class Ask { begin, next, end };
  /// The spans since the last page of that session, as JSON (docs/protocol.md). Throws
  /// InvalidArgument while another session has the trace, and where this one is over, and
  /// SystemError where no thread can be started.
  [[nodiscard]] std::string page(const std::string& session, Ask ask);

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Worker {
    std::shared_ptr<SpanBuffer> spans;
    std::string name;
    std::uint32_t track = 0;  ///< of this trace
    bool is_gone = false;
  };
  struct Track {
    std::string group;
    std::string name;
  };

  void begin(Lock& lock, const std::string& session);
  void watch();
  /// Whether it ends, since no client has asked for five seconds.
  [[nodiscard]] bool is_unasked() const;
  /// Reads the buffers into `waiting_`.
  void collect(Worker& worker);
  void turn_off(Lock& lock);
  /// Ends the thread.
  void stop(Lock& lock);
  void keep(Span span);
  [[nodiscard]] std::uint32_t make_track(const std::string& group, const std::string& name);
  [[nodiscard]] std::string next_page();

  const ServedRings& rings_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Worker> workers_;
  std::uint64_t workers_ever_ = 0;
  // Of the trace that is on, or was.
  std::string session_;  ///< empty: none
  bool is_on_ = false;
  bool stops_ = false;
  std::uint64_t began_ns_ = 0;
  std::uint64_t ended_ns_ = 0;  ///< 0: it goes on
  std::uint64_t asked_ns_ = 0;
  std::deque<Span> waiting_;   ///< for a page
  std::vector<Track> tracks_;  ///< by number
  std::size_t tracks_told_ = 0;
  std::uint64_t left_out_ = 0;
  std::vector<Span> room_;
  std::thread thread_;
};

}  // namespace batchcast::inline v0_1::detail
