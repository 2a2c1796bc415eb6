// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/producer/gil.hpp"
#include "python/producer/producer_bindings.hpp"
#include "python/producer/python_source.hpp"
#include "python/producer/serve_call.hpp"
#include "python/producer/serving.hpp"

#include "producer/left_grid.hpp"
#include "serving/service.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/named_thread.hpp>
#include <batchcast/ring/fork_guard.hpp>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace batchcast::inline v0_1::python {
namespace {

enum class Phase : std::uint8_t { opening, serving, ended };

/// What a stream's thread works on. It outlives the stream's Python object while the dataset is
/// being opened, or a worker hangs: neither can be interrupted.
class Run {
 public:
  Run(serving::ServeOptions options, std::shared_ptr<const PythonSource> source, bool talks,
      bool pure)
      : options_(std::move(options)), source_(std::move(source)), talks_(talks), pure_(pure) {}

  void work() noexcept {
    try {
      serve();
    } catch (...) {
      note_failure(std::current_exception());
    }
    end();
  }

  /// The first reason counts. It stops the stream at once. What a worker meets from here on, such
  /// as the end of the process that reads for it, fails no stream.
  void ask_to_end(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (why_.empty()) why_ = why;
    if (producer_ != nullptr) producer_->stop(why_);
    changed_.notify_all();
  }

  /// Waits until the stream is there, or over, `timeout_ms` at most.
  [[nodiscard]] bool wait_past(Phase phase, int timeout_ms) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                             [&] { return phase_ > phase; });
  }
  [[nodiscard]] Phase phase() const {
    const std::lock_guard lock(mutex_);
    return phase_;
  }
  /// Whether its thread may be joined without a wait that might never end.
  [[nodiscard]] bool is_through() const {
    const std::lock_guard lock(mutex_);
    return phase_ == Phase::ended && hangs_.empty();
  }
  [[nodiscard]] std::string hangs() const {
    const std::lock_guard lock(mutex_);
    return hangs_;
  }
  void rethrow_failure() const {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }

  struct Stats {
    ProducerStats stream;
    FeederStats feeder;
    std::uint64_t bad_samples = 0;
    StandIns stand_ins;
    std::string directory;
    CacheStats cache = {};
    std::optional<TokenAccount> token_account = {};
    MadeTokens made_tokens = {};
  };
  [[nodiscard]] Stats stats() const {
    const std::lock_guard lock(mutex_);
    return producer_ == nullptr ? last_ : stats_now();
  }
  [[nodiscard]] const std::string& stream() const noexcept { return options_.producer.stream; }
  void set(const SettingValues& values) {
    const std::lock_guard lock(mutex_);
    if (producer_ == nullptr) {
      throw InvalidArgument(text("batchcast: stream `{}` is not served at present.", stream()));
    }
    producer_->set(values);
  }

 private:
  void note_failure(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
  }

  [[nodiscard]] Stats stats_now() const {
    return {
        producer_->stats(),        service_ == nullptr ? FeederStats() : service_->feeder_stats(),
        dataset_->bad_samples(),   dataset_->stand_ins(),
        producer_->directory(),    dataset_->cache_stats(),
        dataset_->token_account(), dataset_->made_tokens()};
  }

  [[nodiscard]] std::string asked_to_end(int timeout_ms) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                      [this] { return !why_.empty(); });
    return why_;
  }

  [[nodiscard]] ProducerOptions producer_options(const serving::Dataset& dataset) const {
    ProducerOptions asked = serving::serving_options(options_, dataset);
    asked.log = [this, log = serving_log(options_, talks_)](LogLevel level, std::string_view text) {
      // Its files are taken away before it ends: that is no news.
      if (!is_left_.load()) log(level, text);
    };
    if (!pure_) {
      asked.pure = false;
      asked.identity.clear();
      asked.log(LogLevel::info, text("stream `{}` serves a {}, which has no fingerprint(). So it "
                                     "is not pure: only its producer can make its samples again",
                                     stream(), source_->name()));
    }
    return asked;
  }

  void serve() {
    serving::Dataset dataset(serving::served_dataset(options_), serving_log(options_, talks_),
                             source_);
    if (!asked_to_end(0).empty()) return;
    if (dataset.grid()) {
      dataset.lay_out(detail::grid_to_begin_with(options_.producer, *dataset.grid()));
    }
    while (!serve_once(dataset)) dataset.lay_out(wish_.take().value());
  }

  /// False where the stream is to be laid out in another way.
  [[nodiscard]] bool serve_once(const serving::Dataset& dataset) {
    ProducerOptions asked = producer_options(dataset);
    asked.want_grid = [this](const Grid& grid) { wish_.ask(grid); };
    serving::rehearse_serving(options_, asked, dataset);
    const serving::UnwaitedStderr unwaited;
    Producer producer(std::move(asked));
    if (talks_) serving::say_what_is_served(producer);
    serving::Service service({[this](int timeout_ms) { return asked_to_end(timeout_ms); }, producer,
                              dataset, options_.producer.wait_for, options_.idle_exit_s, talks_,
                              &wish_});
    begin(producer, service, dataset);
    try {
      if (service.produce(serving::feeding_options(options_))) {
        static_cast<void>(service.linger(options_.linger_s));
      } else {
        leave_to(producer, service.take_feeder());
      }
    } catch (...) {
      note_last();
      throw;
    }
    note_last();
    if (service.made_way() && asked_to_end(0).empty()) return false;
    producer.stop("its producer ended");  // so that taking it down does not wait again
    const std::lock_guard lock(mutex_);
    if (last_.stream.state == StreamState::failed && !failure_) throw_failed();
    return true;
  }

  [[noreturn]] void throw_failed() const {
    throw Error(text("batchcast: stream `{}` failed; stderr says why.", stream()));
  }

  void begin(Producer& producer, serving::Service& service, const serving::Dataset& dataset) {
    const std::lock_guard lock(mutex_);
    producer_ = &producer;
    service_ = &service;
    dataset_ = &dataset;
    phase_ = Phase::serving;
    if (!why_.empty()) producer.stop(why_);
    changed_.notify_all();
  }

  /// The stream is over for everybody else; this thread stays until the worker is through.
  void leave_to(Producer& producer, std::unique_ptr<Feeder> feeder) {
    std::exception_ptr failure = feeder->failure();
    is_left_.store(true);
    producer.give_up_name("its producer ended");
    const std::string read = source_ == nullptr ? std::string() : source_->longest_read();
    note_last();
    {
      const std::lock_guard lock(mutex_);
      hangs_ = read.empty() ? "a worker that is still at a sample"
                            : text("a worker that still reads {}", read);
      if (failure && !failure_) failure_ = std::move(failure);
    }
    end();
    feeder.reset();
  }

  /// From here on no other thread looks at the producer.
  void note_last() {
    const std::lock_guard lock(mutex_);
    if (producer_ != nullptr) last_ = stats_now();
    producer_ = nullptr;
  }

  void end() {
    const std::lock_guard lock(mutex_);
    phase_ = Phase::ended;
    changed_.notify_all();
  }

  const serving::ServeOptions options_;
  const std::shared_ptr<const PythonSource> source_;
  const bool talks_;
  const bool pure_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Phase phase_ = Phase::opening;
  std::string why_;
  std::string hangs_;
  std::atomic<bool> is_left_{false};  ///< to a worker that hangs
  std::exception_ptr failure_;
  Stats last_;
  serving::GridWish wish_;
  Producer* producer_ = nullptr;  ///< while it serves
  const serving::Service* service_ = nullptr;
  const serving::Dataset* dataset_ = nullptr;
};

/// Of a Python object. Any thread may release it, with the GIL or without.
[[nodiscard]] std::shared_ptr<const PythonSource> shared_source(nb::handle object) {
  if (object.is_none()) return nullptr;
  return {nb::cast<const PythonSource*>(object),
          [kept = object.inc_ref()](const PythonSource*) noexcept {
            if (interpreter_ends() || !may_take_gil()) return;  // its memory ends with the process
            const PyGILState_STATE state = in_python([] { return PyGILState_Ensure(); });
            // What goes with it may leave the interpreter and come back, such as torch's tensors:
            // until then the interpreter does not end, which would end this thread in the midst.
            in_python([&] { Py_DECREF(kept.ptr()); });
            in_python([&] { PyGILState_Release(state); });
            has_gil();
          }};
}

/// A dataset that threads of this process serve as a stream.
class DatasetStream {
 public:
  DatasetStream(const ServeCall& call, const std::string& location, nb::handle source, bool talks,
                bool pure)
      : run_(std::make_shared<Run>(call.of(location), shared_source(source), talks, pure)) {
    thread_ =
        std::make_unique<std::thread>(start_thread("bc-serve", [run = run_] { run->work(); }));
  }
  ~DatasetStream() {
    if (fork_guard_.in_child()) {  // the thread is the parent's
      static_cast<void>(thread_.release());
      return;
    }
    const WithoutGil released;
    run_->ask_to_end("its producer was dropped");
    constexpr int patience_ms = 2000;
    if (run_->phase() != Phase::opening)
      static_cast<void>(run_->wait_past(Phase::serving, patience_ms));
    if (run_->is_through()) {
      thread_->join();
    } else {
      thread_->detach();
    }
  }
  DatasetStream(const DatasetStream&) = delete;
  DatasetStream& operator=(const DatasetStream&) = delete;

  [[nodiscard]] bool wait(Phase past, int timeout_ms) {
    if (fork_guard_.in_child()) {
      throw Forked(
          text("batchcast: this process was forked from the one that serves stream `{}`, and "
               "cannot wait for it.",
               run_->stream()));
    }
    return run_->wait_past(past, timeout_ms);
  }
  void ask_to_end(const std::string& why) {
    if (!fork_guard_.in_child()) run_->ask_to_end(why);
  }
  [[nodiscard]] Run& run() const noexcept { return *run_; }

 private:
  ForkGuard fork_guard_;
  std::shared_ptr<Run> run_;
  std::unique_ptr<std::thread> thread_;
};

using Released = nb::call_guard<WithoutGil>;

}  // namespace

void add_dataset_stream(nb::module_& module) {
  nb::class_<DatasetStream>(module, "DatasetStream",
                            "A dataset that threads of this process serve as a stream.")
      .def(nb::init<const ServeCall&, const std::string&, nb::handle, bool, bool>(),
           nb::arg("options"), nb::arg("location"), nb::arg("source").none(), nb::arg("talks"),
           nb::arg("pure"),
           nb::sig("def __init__(self, options: ServeOptions, location: str, source: PythonSource "
                   "| None, talks: bool, pure: bool) -> None"))
      .def(
          "wait_opened",
          [](DatasetStream& stream, int timeout_ms) {
            return stream.wait(Phase::opening, timeout_ms);
          },
          nb::arg("timeout_ms"), Released(), "Whether the stream is there, or over.")
      .def(
          "wait_ended",
          [](DatasetStream& stream, int timeout_ms) {
            return stream.wait(Phase::serving, timeout_ms);
          },
          nb::arg("timeout_ms"), Released(), "Whether the stream is over.")
      .def("ask_to_end", &DatasetStream::ask_to_end, nb::arg("why"), Released())
      .def(
          "raise_failure",
          [](const DatasetStream& stream) {
            with_options_of_python([&] { stream.run().rethrow_failure(); });
          },
          "Raises what failed the stream, if anything did.")
      .def_prop_ro(
          "hangs", [](const DatasetStream& stream) { return stream.run().hangs(); },
          "What the end did not wait for.")
      .def_prop_ro("directory",
                   [](const DatasetStream& stream) { return stream.run().stats().directory; })
      .def(
          "set",
          [](const DatasetStream& stream, const SettingValues& values) {
            stream.run().set(values);
          },
          nb::arg("values"), Released(), "Changes settings, by name and value.")
      .def(
          "stats",
          [](const DatasetStream& stream) {
            Run::Stats stats;
            {
              const WithoutGil released;
              stats = stream.run().stats();
            }
            nb::dict told = stats_dict(stats.stream, stats.feeder, stats.bad_samples,
                                       stats.stand_ins, stats.cache);
            told["tokens"] = tokens_value(stats.token_account, stats.made_tokens);
            return told;
          },
          nb::sig("def stats(self) -> dict[str, typing.Any]"));
}

}  // namespace batchcast::inline v0_1::python
