// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/consumer/interpreter.hpp"
#include "python/producer/producer_bindings.hpp"
#include "python/producer/serve_call.hpp"
#include "python/producer/serving.hpp"

#include "serving/console.hpp"
#include "serving/linger_clock.hpp"
#include "serving/service.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/producer.hpp>
#include <batchcast/ring/fork_guard.hpp>

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace batchcast::inline v0_1::python {
namespace {

constexpr int slice_ms = 50;  ///< between two looks for Ctrl-C

using Array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
/// Each field's name, dtype and array; of one on an axis, the axis and how many rows each sample
/// has.
using Columns = std::vector<std::tuple<std::string, std::string, Array, std::string, Array>>;

/// One field of a batch.
struct Column {
  FieldSpec spec;
  const std::byte* data = nullptr;
  std::size_t sample_bytes = 0;                 ///< of a field on an axis, of a row
  std::span<const std::uint64_t> lengths = {};  ///< of one on an axis
  std::vector<std::uint64_t> offsets = {};
};

/// A stream whose samples come batch by batch from one thread, and whose epochs end when that says
/// so. The producer comes up with the first batch, which tells the schema. Any thread may call
/// anything: one works on the stream at a time, and others ask for stats, stop it and close it.
class BatchStream {
 public:
  BatchStream(const ServeCall& call, const std::string& served_from, bool talks)
      : options_(call.of(served_from)), served_from_(served_from) {
    log_ = serving_log(options_, talks);
    if (talks) progress_.emplace();
  }
  ~BatchStream() {
    if (fork_guard_.in_child()) {
      new std::shared_ptr<Producer>(std::move(producer_));  // the parent's
      return;
    }
    const WithoutGil released;
    stop("its producer was dropped");
    producer_.reset();
  }
  BatchStream(const BatchStream&) = delete;
  BatchStream& operator=(const BatchStream&) = delete;

  /// Copies a batch into the ring as soon as there is space. False once the stream is over. With
  /// the GIL held.
  [[nodiscard]] bool append(const Columns& batch) {
    std::vector<Column> columns;
    for (const auto& [name, dtype, array, axis, lengths] : batch) {
      columns.push_back(column_of(name, dtype, array, axis, lengths));
    }
    const Column& one = columns.front();
    const std::size_t count =
        one.spec.on_axis() ? one.lengths.size() : std::get<2>(batch.front()).shape(0);
    const WithoutGil released;
    const Turn turn = take_turn();
    std::shared_ptr<Producer> producer = turn ? producer_now() : nullptr;
    if (turn && !producer) producer = open(columns);
    if (!producer) return false;
    for (std::size_t begin = 0; begin < count;) {
      std::optional<Loan> loan = producer->try_loan(count - begin, slice_ms);
      if (!loan) {
        if (producer->over()) return false;
        look(*producer);
        continue;
      }
      if (!take_rows(columns, begin, *producer, *loan)) {
        if (producer->over()) return false;
        continue;
      }
      copy(columns, begin, *loan);
      begin += loan->size();
      loan->publish();
    }
    show(*producer);
    return true;
  }
  /// Nothing, where it is over.
  void end_epoch() {
    const Turn turn = take_turn();
    const std::shared_ptr<Producer> producer = producer_now();
    if (turn && producer && !producer->over()) producer->end_epoch();
  }
  /// Once every epoch is appended: whether nothing is left to wait for. Consumers have drained it
  /// within a short while, the options' time for that is over, or it was ended before.
  [[nodiscard]] bool finish() {
    const Turn turn = take_turn();
    const std::shared_ptr<Producer> producer = producer_now();
    if (!turn || !producer) return true;  // `stop` or `close` of another thread has closed it
    if (!linger_clock_) linger_clock_.emplace(options_.linger_s);
    const StreamState before = producer->stats().state;
    if (producer->finish(slice_ms)) return true;
    end_if_idle(*producer);
    show(*producer);
    const StreamState state = producer->stats().state;
    const bool was_ended = state == StreamState::stopped || state == StreamState::failed;
    if (was_ended) return true;
    if (!linger_clock_->is_over(before)) return false;
    producer->stop("its producer ended");
    return true;
  }
  [[nodiscard]] bool over() const {
    const std::lock_guard lock(mutex_);
    return !why_.empty() || (producer_ && producer_->over());
  }

  void stop(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (why_.empty()) why_ = why;
    if (producer_) producer_->stop(why);
    stopped_.notify_all();
  }
  /// For half a second the door tells consumers that are just coming why.
  void fail(const std::string& why) {
    constexpr auto farewell = std::chrono::milliseconds(500);
    std::unique_lock lock(mutex_);
    if (!producer_) return;
    producer_->fail(why);
    if (producer_->stats().consumers.size() >= std::max(options_.producer.wait_for, 1U)) return;
    stopped_.wait_for(lock, farewell, [this] { return !why_.empty(); });
  }
  /// Takes the stream away. Where a thread works on it, it goes with the end of that work. This
  /// tells the work to end, and waits for it.
  void close() {
    constexpr auto patience = std::chrono::seconds(1);
    {
      const std::lock_guard lock(mutex_);
      if (producer_) last_ = producer_->stats();
    }
    stop("its producer ended");  // so that taking it down does not wait again
    const Turn turn(turn_, patience);
    if (turn && progress_) progress_->finish();
    std::shared_ptr<Producer> gone;
    const std::lock_guard lock(mutex_);
    gone.swap(producer_);
  }

  void set(const SettingValues& values) {
    const std::lock_guard lock(mutex_);
    if (!producer_) {
      throw InvalidArgument(
          text("batchcast: stream `{}` is not served at present.", options_.producer.stream));
    }
    producer_->set(values);
  }
  [[nodiscard]] ProducerStats stats() const {
    const std::lock_guard lock(mutex_);
    if (producer_) return producer_->stats();
    ProducerStats stats = last_;
    // It was stopped before its first batch came.
    if (!why_.empty() && stats.state == StreamState::starting) stats.state = StreamState::stopped;
    return stats;
  }
  [[nodiscard]] std::string directory() const {
    const std::lock_guard lock(mutex_);
    return producer_ ? producer_->directory() : options_.producer.directory;
  }

 private:
  /// Recursive: signal handlers run in the middle of `append`, and may close the stream.
  using Turn = std::unique_lock<std::recursive_timed_mutex>;

  /// For one thread at a time. Empty once the stream is over. Raises KeyboardInterrupt.
  [[nodiscard]] Turn take_turn() {
    Turn turn(turn_, std::defer_lock);
    while (!turn.try_lock_for(std::chrono::milliseconds(slice_ms))) {
      if (over()) break;
      check_signals();
    }
    return turn;
  }
  [[nodiscard]] std::shared_ptr<Producer> producer_now() const {
    const std::lock_guard lock(mutex_);
    return producer_;
  }

  [[nodiscard]] static Column column_of(const std::string& name, const std::string& dtype,
                                        const Array& array, const std::string& axis,
                                        const Array& lengths) {
    Column column{{name, *parse_dtype(dtype), {}}, static_cast<const std::byte*>(array.data()), 0};
    column.spec.axis = axis;
    if (!axis.empty()) {
      column.lengths = {static_cast<const std::uint64_t*>(lengths.data()), lengths.size()};
      column.offsets.assign(1, 0);
      for (const std::uint64_t rows : column.lengths) {
        column.offsets.push_back(column.offsets.back() + rows);
      }
    }
    for (std::size_t i = 1; i < array.ndim(); ++i) {
      column.spec.shape.push_back(static_cast<std::int64_t>(array.shape(i)));
    }
    column.sample_bytes = column.spec.byte_count();
    return column;
  }

  [[nodiscard]] static std::string text_of(const Schema& schema) {
    std::string text;
    for (const FieldSpec& field : schema) text += (text.empty() ? "" : ", ") + to_text(field);
    return text;
  }

  /// None if it was stopped before its first batch came.
  [[nodiscard]] std::shared_ptr<Producer> open(const std::vector<Column>& columns) {
    ProducerOptions asked = options_.producer;
    asked.log = log_;
    asked.recipe_json = nlohmann::json{
        {"served_from", served_from_},
        {"directory", std::filesystem::current_path().string()},
        {"pure", false}}.dump();
    for (const Column& column : columns) {
      if (column.spec.name != sample_id_name) asked.schema.push_back(column.spec);
    }
    log_(LogLevel::info, text("stream `{}` serves a {}: {}. It is not pure: only its producer can "
                              "make its samples again",
                              options_.producer.stream, served_from_, text_of(asked.schema)));
    say_rows(columns, asked);
    const std::lock_guard lock(mutex_);
    if (!why_.empty()) return nullptr;
    producer_ = std::make_shared<Producer>(std::move(asked));
    if (progress_) serving::say_what_is_served(*producer_);
    return producer_;
  }

  /// Of each axis that the options do not speak of: a quarter more than the first batch has.
  static void say_rows(const std::vector<Column>& columns, ProducerOptions& asked) {
    for (const Column& column : columns) {
      if (!column.spec.on_axis()) continue;
      const std::string& axis = column.spec.axis;
      const auto is_it = [&](const auto& one) { return one.axis == axis; };
      if (std::any_of(asked.rows.begin(), asked.rows.end(), is_it) ||
          std::any_of(asked.rows_per_sample.begin(), asked.rows_per_sample.end(), is_it)) {
        continue;
      }
      const double mean = static_cast<double>(column.offsets.back()) /
                          static_cast<double>(std::max<std::size_t>(1, column.lengths.size()));
      asked.rows_per_sample.push_back({axis, std::max(1.0, 1.25 * mean)});
    }
  }

  /// Of each axis, for all samples of the loan, which may become shorter. False where it has none
  /// any more. Looks for Ctrl-C.
  [[nodiscard]] bool take_rows(const std::vector<Column>& columns, std::size_t begin,
                               Producer& producer, Loan& loan) {
    std::vector<std::string_view> axes;
    std::vector<std::span<const std::uint64_t>> lengths;
    for (const Column& column : columns) {
      const std::string_view axis = column.spec.axis;
      if (axis.empty() || std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
      axes.push_back(axis);
      lengths.push_back(column.lengths.subspan(begin));
    }
    if (axes.empty()) return true;
    for (;;) {
      const Loan::Taken taken = loan.try_take_rows(lengths, slice_ms);
      if (taken != Loan::Taken::timed_out) return taken == Loan::Taken::taken;
      look(producer);
    }
  }

  static void copy(const std::vector<Column>& columns, std::size_t begin, const Loan& loan) {
    for (const Column& column : columns) {
      if (column.spec.on_axis()) {
        const std::uint64_t first = column.offsets[begin];
        const std::uint64_t rows = column.offsets[begin + loan.size()] - first;
        if (rows == 0) continue;
        const auto places = loan.rows<std::byte>(0, column.spec.name);  // the others' follow
        std::memcpy(places.data(), column.data + first * column.sample_bytes,
                    rows * column.sample_bytes);
        continue;
      }
      const std::byte* from = column.data + begin * column.sample_bytes;
      if (column.spec.name == sample_id_name) {
        std::memcpy(loan.sample_ids().data(), from, loan.size() * column.sample_bytes);
        continue;
      }
      const auto places = loan.field<std::byte>(column.spec.name);
      if (places.sample_stride_bytes() == column.sample_bytes) {
        std::memcpy(places.data(), from, loan.size() * column.sample_bytes);
        continue;
      }
      for (std::size_t i = 0; i < loan.size(); ++i) {
        std::memcpy(places.data() + i * places.sample_stride_bytes(),
                    from + i * column.sample_bytes, column.sample_bytes);
      }
    }
  }

  /// While it waits for space. Raises KeyboardInterrupt.
  void look(Producer& producer) {
    end_if_idle(producer);
    show(producer);
    check_signals();
  }
  static void check_signals() {
    const WithGil held;
    if (in_python([] { return PyErr_CheckSignals(); }) != 0) throw nb::python_error();
  }
  void end_if_idle(Producer& producer) {
    if (!options_.idle_exit_s) return;
    static_cast<void>(producer.stop_if_unattended(
        *options_.idle_exit_s, "no consumer was attached for as long as idle_exit says"));
  }
  void show(const Producer& producer) {
    if (!progress_ || !progress_->due()) return;
    progress_->show(serving::progress_text(
        {.stream = producer.stats(), .wait_for = options_.producer.wait_for}));
  }

  ForkGuard fork_guard_;
  const serving::ServeOptions options_;
  const std::string served_from_;
  LogCallback log_;
  const serving::UnwaitedStderr unwaited_;
  std::optional<serving::ProgressLine> progress_;     ///< of one that talks
  std::optional<serving::LingerClock> linger_clock_;  ///< from the first `finish` on

  std::recursive_timed_mutex turn_;  ///< before `mutex_`
  mutable std::mutex mutex_;         ///< for `producer_` to come and go
  std::condition_variable stopped_;
  std::string why_;
  ProducerStats last_;
  std::shared_ptr<Producer> producer_;  ///< a call that works on it keeps it too
};

using Released = nb::call_guard<WithoutGil>;

}  // namespace

void add_batch_stream(nb::module_& module) {
  nb::class_<BatchStream>(module, "BatchStream", "A stream of batches that Python makes.")
      .def(nb::init<const ServeCall&, const std::string&, bool>(), nb::arg("options"),
           nb::arg("served_from"), nb::arg("talks"))
      .def(
          "append",
          [](BatchStream& stream, const Columns& columns) {
            return with_options_of_python([&] { return stream.append(columns); });
          },
          nb::arg("columns"),
          nb::sig("def append(self, columns: "
                  "list[tuple[str, str, numpy.typing.NDArray[typing.Any], str, "
                  "numpy.typing.NDArray[typing.Any]]]) -> bool"),
          "Copies a batch, each field's name, dtype and array, and of one on an axis the axis and "
          "each sample's rows (u64), into the ring. False once the stream is over.")
      .def("end_epoch", &BatchStream::end_epoch, Released())
      .def("finish", &BatchStream::finish, Released(),
           "Once every epoch is appended, to be called until it is True: consumers have drained "
           "the stream, did not within `linger`, or it was ended.")
      .def_prop_ro("over", &BatchStream::over, Released())
      .def("stop", &BatchStream::stop, nb::arg("why"), Released())
      .def("fail", &BatchStream::fail, nb::arg("why"), Released())
      .def("close", &BatchStream::close, Released())
      .def_prop_ro("directory", &BatchStream::directory, Released())
      .def("set", &BatchStream::set, nb::arg("values"), Released(),
           "Changes settings, by name and value.")
      .def(
          "stats",
          [](const BatchStream& stream) {
            ProducerStats stats;
            {
              const WithoutGil released;
              stats = stream.stats();
            }
            return stats_dict(stats, {}, 0, {});
          },
          nb::sig("def stats(self) -> dict[str, typing.Any]"));
}

}  // namespace batchcast::inline v0_1::python
