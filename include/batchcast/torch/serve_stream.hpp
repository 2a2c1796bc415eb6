// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/text.hpp>
#include <batchcast/producer.hpp>
#include <batchcast/ring/futex.hpp>
#include <batchcast/torch/serve_columns.hpp>

#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Options for a producer of what torch makes. Throws InvalidArgument where they set what only the
/// samples themselves determine.
[[nodiscard]] inline ProducerOptions torch_producer_options(ProducerOptions options,
                                                            const std::string& what) {
  if (!options.schema.empty() || options.samples_per_epoch != 0 || options.pure) {
    throw InvalidArgument(
        "batchcast: serve() finds out the schema and the length of an epoch by itself, and no "
        "stream that torch makes is pure. Leave `schema`, `samples_per_epoch` and `pure` out.");
  }
  if (options.recipe_json.empty()) {
    options.recipe_json = R"({"served_from":")" + what + R"(","pure":false})";
  }
  return options;
}

inline void log_what_is_served(const ProducerOptions& options, const Schema& schema,
                               const std::string& what) {
  if (!options.log) return;
  std::string fields;
  for (const FieldSpec& field : schema) fields += (fields.empty() ? "" : ", ") + to_text(field);
  options.log(LogLevel::info, text("stream `{}` serves a {}: {}. It is not pure: only its "
                                   "producer can make its samples again",
                                   options.stream, what, fields));
}

/// Throws InvalidArgument, which names what differs from the first batch.
inline void check_same_schema(const Schema& expected, const Schema& found) {
  if (expected == found) return;
  constexpr const char* cure =
      " All samples of a stream have the same fields, shapes and dtypes: crop, resize, pad or "
      "convert in the dataset.";
  for (std::size_t i = 0; i < expected.size() && i < found.size(); ++i) {
    if (expected[i] == found[i]) continue;
    throw InvalidArgument(text("batchcast: the first batch had `{}`, and this one has `{}`.{}",
                               to_text(expected[i]), to_text(found[i]), cure));
  }
  const bool less = found.size() < expected.size();
  throw InvalidArgument(
      text("batchcast: the first batch had {}field `{}`, and this one has {}{}", less ? "" : "no ",
           (less ? expected : found)[std::min(expected.size(), found.size())].name,
           less ? "none." : "one.", cure));
}

/// The text of an exception for trainers, without the producer's backtrace.
[[nodiscard]] inline std::string text_for_consumers(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "batchcast: the loader threw something that is no std::exception.";
  }
}

/// Fails a stream. For half a second the door tells the reason to consumers that are just coming.
inline void fail_stream(Producer& producer, const std::string& text,
                        const ProducerOptions& options) {
  constexpr int farewell_ms = 500;
  producer.fail(text);
  if (producer.stats().consumers.size() >= std::max<std::size_t>(options.wait_for, 1)) return;
  // The loop only waits: meanwhile the door's thread tells consumers that come.
  const std::atomic<std::uint32_t> nothing = 0;
  futex_wait(nothing, 0,
             options.linger_ms < 0 ? farewell_ms : std::min(options.linger_ms, farewell_ms));
}

/// Waits for consumers to drain as the options say, so that the destructor does not wait again.
inline ProducerStats finish_stream(Producer& producer) {
  if (!producer.finish()) producer.stop("its producer did not linger longer");
  return producer.stats();
}

/// A stream whose samples come batch by batch, and whose epochs end when its caller says so. The
/// first batch tells the schema and brings the producer up. One thread uses it.
class TorchStream {
 public:
  /// `what` is served, in words. Throws InvalidArgument.
  TorchStream(ProducerOptions options, std::string what)
      : options_(torch_producer_options(std::move(options), what)),
        what_(std::move(what)),
        epochs_(std::exchange(options_.epochs, 0)) {}

  /// Whether another epoch is wanted.
  [[nodiscard]] bool wants_epoch() const noexcept { return epochs_ == 0 || epoch_ < epochs_; }

  /// Copies a batch into the ring, as soon as there is space. False if the stream was stopped.
  /// Throws InvalidArgument for a batch that cannot be served.
  [[nodiscard]] bool append(const TorchColumns& batch) {
    Schema schema = schema_of(batch);
    ++batches_;
    if (batch.samples == 0) return true;
    if (!producer_) {
      open(std::move(schema));
    } else {
      check_same_schema(producer_->schema(), schema);
    }
    for (std::size_t begin = 0; begin < batch.samples;) {
      auto loan = producer_->loan(batch.samples - begin);
      if (!loan) return false;
      for (const TorchColumn& column : batch.columns) {
        const auto places = loan->field<std::byte>(column.name);
        copy_samples(column, begin, loan->size(), {places.data(), places.sample_stride_bytes()});
      }
      begin += loan->size();
      samples_ += loan->size();
      loan->publish();
    }
    return true;
  }

  /// Throws InvalidArgument for an epoch without a sample: only more of them would follow.
  void end_epoch() {
    if (samples_ == 0) {
      throw InvalidArgument(
          text("batchcast: epoch {} of the {}{}{}", epoch_, what_,
               batches_ == 0 ? " has no batch." : " has no sample in its batches.",
               epoch_ == 0 ? " There is nothing to serve."
                           : " If it can be gone through only once, serve it with epochs = 1."));
    }
    producer_->end_epoch();
    samples_ = batches_ = 0;
    ++epoch_;
  }

  [[nodiscard]] ProducerStats finish() { return finish_stream(*producer_); }
  [[nodiscard]] ProducerStats stats() const { return producer_->stats(); }

  /// Ends the stream for all consumers with the text of what happened, and where.
  void fail(const std::exception_ptr& failure) {
    if (!producer_) return;
    const std::string where =
        text(" (after {} samples of epoch {} of the {})", samples_, epoch_, what_);
    fail_stream(*producer_, text_for_consumers(failure) + where, options_);
  }

 private:
  void open(Schema schema) {
    log_what_is_served(options_, schema, what_);
    options_.schema = std::move(schema);
    producer_.emplace(options_);
  }

  ProducerOptions options_;
  std::string what_;
  std::uint64_t epochs_;
  std::uint64_t epoch_ = 0;
  std::uint64_t batches_ = 0;  ///< of this epoch
  std::uint64_t samples_ = 0;
  std::optional<Producer> producer_;
};

}  // namespace batchcast::inline v0_1::detail
