// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/consumer/host_copy.hpp>
#include "cli/command.hpp"
#include "cli/consume/token_ledger.hpp"
#include "cli/consume/verification.hpp"
#include "cli/interrupts.hpp"
#include "cli/option_table.hpp"
#include "cli/output.hpp"
#include "options/consumer_options.hpp"

#include <batchcast/batchcast.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace batchcast::cli {
namespace {

struct Options {
  ConsumerOptions consumer;
  std::uint64_t epochs = 0;
  std::optional<double> seconds;
  bool verify = false;
  bool digest = false;
  bool json = false;
  bool verbose = false;
};

options::Table<Options> consume_options() {
  options::Table<Options> table;
  table.include(&Options::consumer, options::consumer_options());
  table.heading("The run");
  table.add("epochs", &Options::epochs, "Stop after this many epochs; 0: when the stream ends.");
  table
      .add("seconds", &Options::seconds,
           "Stop after this many seconds; ranks of a group stop with the first of them.")
      .above_zero();
  table.add("verify", &Options::verify,
            "Make every byte again from the recipe; refused where that cannot be.");
  table.add("digest", &Options::digest, "Print a digest of every epoch's bytes.");
  table.add("json", &Options::json, "Print one JSON object at the end.");
  table.add("verbose", &Options::verbose, "Report more.").command("verbose,-v");
  return table;
}

struct Report {
  std::uint64_t epochs = 0;
  double seconds = 0;
  double samples_per_second = 0;
  nlohmann::json digests = nlohmann::json::array();
  std::vector<std::uint64_t> digest_epochs;  ///< of the stream, which the digests are of
  std::string error;
  int exit = exit_ok;
};

void check(const Options& options, bool has_cursor) {
  const ConsumerOptions& consumer = options.consumer;
  if (has_cursor && consumer.join != Join::at) {
    std::string join(name_of(consumer.join));
    std::replace(join.begin(), join.end(), '_', '-');
    throw InvalidArgument(
        text("batchcast: --cursor says where `--join at` begins; with --join {} it has no meaning.",
             join));
  }
  if (!has_cursor && consumer.join == Join::at) {
    throw InvalidArgument(
        "batchcast: --join at begins where --cursor says: write `--join at --cursor N`, with N a "
        "position from 0.");
  }
  if (consumer.oversize != Oversize::error && !consumer.budget.is_set()) {
    throw InvalidArgument(
        text("batchcast: --oversize {} is of samples beyond a --budget, and there is none. Give a "
             "budget too, such as --budget tokens=16384, or leave --oversize out.",
             name_of(consumer.oversize)));
  }
  if (consumer.window.extra != 0 && consumer.window.axis.empty()) {
    throw InvalidArgument(
        text("batchcast: --extra {} is rows that each run of a --window shows besides. Give a "
             "window too, such as --window tokens=2048x8, or leave --extra out.",
             consumer.window.extra));
  }
  if (options.digest && consumer.window.is_set()) {
    throw InvalidArgument(
        "batchcast: --digest is of whole samples, and a --window cuts through them. Take the "
        "digest without --window.");
  }
  if (options.verify && consumer.window.is_set()) {
    throw InvalidArgument(
        "batchcast: --verify makes whole samples again, and a --window cuts through them. Verify "
        "without --window.");
  }
  if (options.digest && consumer.group != Group()) {
    throw InvalidArgument(
        "batchcast: --digest is of whole epochs, and a rank of a group (--group) gets a part of "
        "each.");
  }
}

std::unique_ptr<Recomputation> recomputation_for(const Options& options, const Consumer& consumer) {
  if (!options.verify) return nullptr;
  return Recomputation::of({options.consumer.stream, consumer.recipe_json(), consumer.schema()});
}

/// One run over the stream: its loop and its counts.
class Consumption {
 public:
  Consumption(const Options& options, Consumer& consumer)
      : options_(options),
        consumer_(consumer),
        ledger_(recomputation_for(options, consumer), consumer.group()),
        tokens_(consumer),
        started_ns_(now_ns()) {
    if (options.digest) digest_.emplace(consumer.schema().size() + 1);
  }

  void run(Interrupts& interrupts, Report& report) {
    try {
      loop(interrupts, report);
      await_receipts(interrupts, report);
    } catch (const StreamFinished&) {
      // The stream's regular end.
    } catch (const StreamOver& error) {
      report.error = error.what();
      report.exit = exit_stream_ended;
    } catch (const GroupBroken& error) {
      if (!ended_with_group(error)) {
        report.error = error.what();
        report.exit = exit_stream_ended;
      }
    } catch (const Revoked& error) {
      report.error = error.what();
      report.exit = exit_stream_ended;
    } catch (const Missed& error) {
      report.error = error.what();
      report.exit = exit_not_held;
    }
    const std::uint64_t ended_ns = now_ns();
    report.seconds = seconds_from_ns(ended_ns - started_ns_);
    report.samples_per_second = rate(ended_ns);
  }

  /// With a window.
  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }
  [[nodiscard]] const Ledger& ledger() const noexcept { return ledger_; }
  [[nodiscard]] const TokenLedger& tokens() const noexcept { return tokens_; }

 private:
  void loop(Interrupts& interrupts, Report& report) {
    constexpr int look_ms = 100;
    constexpr std::uint64_t look_every_batches = 64;
    ProgressLine progress;
    for (std::uint64_t batches = 1; !done(report); ++batches) {
      NextBatch next;
      try {
        next = consumer_.try_next(look_ms);
      } catch (const ReceiptMismatch& error) {
        report.error = error.what();
        next.outcome = Outcome::end_of_epoch;
      }
      if (next.outcome == Outcome::batch) take(next.batch);
      if (next.outcome == Outcome::end_of_epoch) end_epoch(report);
      if (next.outcome == Outcome::batch && batches % look_every_batches != 0) continue;
      if (is_interrupted(interrupts, 0, report)) return;
      if (progress.due()) progress.show(progress_text(report));
    }
  }

  [[nodiscard]] static bool is_interrupted(Interrupts& interrupts, int timeout_ms,
                                           Report& report) noexcept {
    const int signal = interrupts.wait(timeout_ms);
    if (signal != 0) report.exit = interrupted_exit(signal);
    return signal != 0;
  }

  /// The last epochs' receipts are a group's once the slowest rank has come to their end.
  void await_receipts(Interrupts& interrupts, Report& report) {
    constexpr int look_ms = 5;
    constexpr double patience_s = 10;
    if (consumer_.group().world == 0 || options_.epochs == 0) return;
    if (report.epochs < options_.epochs) return;
    const auto compared = [&] {
      const ConsumerStats stats = consumer_.stats();
      return stats.epochs_matched + stats.epochs_mismatched + stats.epochs_unknown;
    };
    const std::uint64_t began_ns = now_ns();
    while (compared() < report.epochs) {
      if (is_interrupted(interrupts, look_ms, report)) return;
      if (seconds_from_ns(now_ns() - began_ns) < patience_s) continue;
      report.error = fmt::format(
          "batchcast: the receipts of the last epoch did not come within {} s: not all ranks of "
          "group `{}` have come to its end.",
          patience_s, consumer_.group().name);
      report.exit = exit_not_held;
      return;
    }
  }

  /// Whether that is how a run of --seconds ends in a group. All ranks begin together, and one of
  /// them is the first whose time is up.
  [[nodiscard]] bool ended_with_group(const GroupBroken& error) const {
    constexpr double apart_s = 1;
    const bool left = std::string_view(error.what()).find(") left") != std::string_view::npos;
    return options_.seconds && left &&
           seconds_from_ns(now_ns() - started_ns_) + apart_s >= *options_.seconds;
  }

  [[nodiscard]] bool done(const Report& report) const noexcept {
    if (options_.epochs != 0 && report.epochs >= options_.epochs) return true;
    return options_.seconds && seconds_from_ns(now_ns() - started_ns_) >= *options_.seconds;
  }

  void take(Batch& batch) {
    if (first_batch_ns_ == 0) first_batch_ns_ = now_ns();
    const ConsumerStats stats = consumer_.stats();
    const bool drops = options_.consumer.oversize == Oversize::drop;
    const std::uint64_t skipped = stats.skipped + (drops ? stats.oversized : 0);
    const std::uint64_t given_up = skipped - std::exchange(skipped_, skipped);
    if (looks_at_bytes() && !batch.placement().is_host()) {
      look_at(detail::copy_to_host(batch), given_up, batch);
    } else {
      look_at(batch, given_up, batch);
    }
    batch.release();
  }

  [[nodiscard]] bool looks_at_bytes() const noexcept {
    return options_.verify || digest_ || tokens_.has_mask();
  }

  void look_at(const Batch& batch, std::uint64_t given_up, const Batch& held) {
    rows_ += batch.is_window() ? batch.size() * options_.consumer.window.rows : 0;
    // A rank's runs with a budget do not say where the others' lie. A window's are no samples.
    const bool is_run = options_.consumer.budget.is_set() && consumer_.group().world != 0;
    if (!is_run && !batch.is_window()) ledger_.add(batch, given_up, held);
    if (digest_) digest_->add(batch);
    tokens_.add(batch);
  }

  void end_epoch(Report& report) {
    ++report.epochs;
    const std::uint64_t matched = consumer_.stats().epochs_matched;
    const bool whole = matched != std::exchange(matched_, matched);
    const std::string missing = tokens_.end_epoch(consumer_, whole);
    if (!missing.empty() && report.error.empty()) {
      report.error = missing;
      report.exit = exit_not_held;
    }
    // What is dropped or repeated at an epoch's end is no loss, nor are epochs that pass between
    // two loops of `let-go`.
    const bool follows = options_.consumer.tail == Tail::keep && consumer_.group().world == 0;
    if (options_.consumer.between_epochs != BetweenEpochs::hold || !follows) ledger_.forget_place();
    if (!digest_) return;
    const std::uint64_t n = consumer_.samples_per_epoch();
    const bool all = n != 0 ? digest_->samples() == n : options_.consumer.tail == Tail::keep;
    const std::string digest = digest_->finish();
    report.digests.push_back(whole && all ? nlohmann::json(digest) : nlohmann::json(nullptr));
    report.digest_epochs.push_back(consumer_.epoch() - 1);
  }

  [[nodiscard]] double rate(std::uint64_t until_ns) const noexcept {
    if (first_batch_ns_ == 0 || until_ns <= first_batch_ns_) return 0;
    return static_cast<double>(consumer_.stats().samples) /
           seconds_from_ns(until_ns - first_batch_ns_);
  }

  [[nodiscard]] std::string progress_text(const Report& report) const {
    const ConsumerStats stats = consumer_.stats();
    const double a_second = rate(now_ns());
    return fmt::format("{}: epoch {}  {}  {}  {}/s{}  waited {:.1f} s", consumer_.name(),
                       consumer_.epoch(), counted(stats.samples, "sample"),
                       counted(stats.batches, "batch", "batches"),
                       counted(static_cast<std::uint64_t>(a_second), "sample"),
                       left_text(seconds_left(report, a_second)), stats.wait_seconds);
  }

  /// Of as many epochs or seconds as were asked for; not finite where it is not known.
  [[nodiscard]] double seconds_left(const Report& report, double a_second) const {
    if (options_.seconds) {
      return std::max(0.0, *options_.seconds - seconds_from_ns(now_ns() - started_ns_));
    }
    const std::uint64_t per_epoch = consumer_.samples_per_epoch();
    if (per_epoch == 0) return std::numeric_limits<double>::infinity();
    const std::uint64_t epochs =
        options_.epochs > report.epochs ? options_.epochs - report.epochs : 1;
    const std::uint64_t to_come = epochs * per_epoch - consumer_.cursor() % per_epoch;
    return static_cast<double>(to_come) / a_second;
  }

  const Options& options_;
  Consumer& consumer_;
  Ledger ledger_;
  std::optional<EpochDigest> digest_;
  TokenLedger tokens_;
  std::uint64_t started_ns_;
  std::uint64_t first_batch_ns_ = 0;
  std::uint64_t skipped_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t matched_ = 0;
};

std::string receipts_text(const ConsumerStats& stats) {
  if (stats.epochs_mismatched > 0) return "mismatch";
  return stats.epochs_matched > 0 ? "match" : "unknown";
}

/// Why receipts are unknown, for the line that says so.
std::string why_unknown(const ConsumerStats& stats) {
  if (stats.epochs_mismatched > 0 || stats.epochs_matched > 0) return {};
  return " (no epoch was read from its first sample to its last)";
}

void print_report(const Options& options, const Consumer& consumer, const Consumption& consumption,
                  const Report& report) {
  const ConsumerStats stats = consumer.stats();
  const Ledger& ledger = consumption.ledger();
  const TokenLedger& tokens = consumption.tokens();
  const std::uint64_t rows = consumption.rows();
  if (options.json) {
    nlohmann::json object = {{"stream", options.consumer.stream},
                             {"consumer", consumer.name()},
                             {"placement", consumer.placement().text()},
                             {"batch_size", options.consumer.batch_size},
                             {"samples", stats.samples},
                             {"batches", stats.batches},
                             {"epochs", report.epochs},
                             {"seconds", report.seconds},
                             {"samples_per_second", report.samples_per_second},
                             {"wait_seconds", stats.wait_seconds},
                             {"attach_seconds", stats.attach_seconds},
                             {"missing", ledger.missing()},
                             {"duplicated", ledger.duplicated()},
                             {"torn", ledger.torn()},
                             {"skipped", stats.skipped},
                             {"late_wakeups", stats.late_wakeups},
                             {"verified_bytes", ledger.verified_bytes()},
                             {"receipts", receipts_text(stats)},
                             {"digests", report.digests},
                             {"digest_epochs", report.digest_epochs}};
    if (options.consumer.budget.is_set()) object["oversized"] = stats.oversized;
    if (options.consumer.window.is_set()) {
      object["rows"] = rows;
      object["dropped_rows"] = stats.dropped_rows;
    }
    if (tokens.has_tokens()) object["tokens"] = tokens.json(stats.rows);
    if (const Group& group = consumer.group(); group.world != 0) {
      object["group"] = group.name;
      object["rank"] = group.rank;
      object["world"] = group.world;
    }
    if (!report.error.empty()) object["error"] = report.error;
    print_json(object);
    return;
  }
  fmt::print("{}: {} in {}, {}, {:.1f} s, {}/s, waited {:.2f} s\n", printable(consumer.name()),
             counted(stats.samples, "sample"), counted(stats.batches, "batch", "batches"),
             counted(report.epochs, "epoch"), report.seconds,
             counted(static_cast<std::uint64_t>(report.samples_per_second), "sample"),
             stats.wait_seconds);
  fmt::print("missing {}, duplicated {}, torn {}, skipped {}, receipts {}{}", ledger.missing(),
             ledger.duplicated(), ledger.torn(), stats.skipped, receipts_text(stats),
             why_unknown(stats));
  if (options.consumer.window.is_set()) {
    fmt::print(", {}, {} dropped", counted(rows, "row"), stats.dropped_rows);
  }
  if (options.verify) fmt::print(", {} verified", bytes_text(ledger.verified_bytes()));
  fmt::print("\n");
  if (tokens.has_tokens()) fmt::print("{}\n", tokens.text(stats.rows));
  for (std::size_t i = 0; i < report.digests.size(); ++i) {
    fmt::print("digest of epoch {}: {}\n", report.digest_epochs[i],
               report.digests[i].is_null() ? "none, not delivered whole"
                                           : report.digests[i].get<std::string>());
  }
}

int run_attached(const Options& options, Interrupts& interrupts, Consumer consumer) {
  Consumption consumption(options, consumer);
  Report report;
  consumption.run(interrupts, report);
  const Ledger& ledger = consumption.ledger();
  if (!report.error.empty()) say(report.error + "\n");
  print_report(options, consumer, consumption, report);
  const bool held = ledger.missing() == 0 && ledger.duplicated() == 0 && ledger.torn() == 0 &&
                    consumer.stats().epochs_mismatched == 0;
  return held ? report.exit : exit_not_held;
}

int run(const Options& options, bool has_cursor) {
  check(options, has_cursor);
  Interrupts interrupts;
  std::optional<Consumer> consumer;
  try {
    const EndsAtOnce waiting(interrupts);
    ConsumerOptions attaching = options.consumer;
    attaching.log = console_log(options.verbose);
    consumer.emplace(std::move(attaching));
  } catch (const StreamOver& error) {
    say(std::string(error.what()) + "\n");
    return exit_stream_ended;
  }
  return run_attached(options, interrupts, std::move(*consumer));
}

}  // namespace

void add_consume(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* consume =
      program.add_subcommand("consume", "Take a stream as a trainer would, and report how it came");
  consume->footer(
      "Without --epochs and --seconds it runs until the stream ends. The exit code is\n"
      "0 only if every promise held: nothing missing, nothing twice, nothing torn,\n"
      "receipts as the producer's.");
  add_options(*consume, consume_options(), *options, {"stream"});
  consume->callback([options, consume, &chosen] {
    const bool has_cursor = consume->count("--cursor") != 0;
    chosen = [options, has_cursor] { return run(*options, has_cursor); };
  });
}

}  // namespace batchcast::cli
