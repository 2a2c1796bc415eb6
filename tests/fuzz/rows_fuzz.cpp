// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/ring/board.hpp>
#include <batchcast/ring/reader.hpp>

#include "fuzz.hpp"

#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <vector>

namespace {

using namespace batchcast;

constexpr std::uint64_t capacity = 16;
constexpr std::uint64_t arena = 64;
constexpr std::size_t axes = 2;

/// Numbers that the input chooses: mostly small, now and then any.
class Numbers {
 public:
  explicit Numbers(std::span<const std::byte> input) : choices_(input) {}
  [[nodiscard]] std::uint64_t up_to(std::uint32_t most) { return choices_.up_to(most); }
  [[nodiscard]] std::uint64_t any() {
    switch (choices_.up_to(7)) {
      case 0:
        return std::numeric_limits<std::uint64_t>::max() - choices_.up_to(80);
      case 1:
        return std::uint64_t{choices_.up_to(~0U)} << choices_.up_to(32);
      default:
        return choices_.up_to(2 * arena);
    }
  }

 private:
  fuzz::Choices choices_;
};

/// A board and tables of rows as a hostile producer may write them, and an honest consumer's desk.
struct Ring {
  explicit Ring(Numbers& numbers) {
    for (std::size_t axis = 0; axis < axes; ++axis) entries.emplace_back(capacity + 1);
    FieldEntry field{};
    field.capacity = capacity;
    field.stride_bytes = field.sample_bytes = 8;
    field.segment_bytes = 8 * capacity;
    const std::vector<FieldEntry> fields(2, field);
    const std::vector<AxisSpec> specs = {{"a", arena, capacity + 1, 4096},
                                         {"b", arena, capacity + 1, 4096}};
    BoardSpec spec;
    spec.fields = fields;
    spec.axes = specs;
    spec.capacity = capacity;
    spec.samples_per_epoch = numbers.up_to(40);
    spec.epochs = numbers.up_to(3);
    spec.consumers_max = 1;
    const std::size_t bytes = board_bytes_for(spec);
    memory.reset(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{64})));
    std::memset(memory.get(), 0, bytes);
    format_board({memory.get(), bytes}, spec);
    ordered::set_release(desk.released, numbers.up_to(20));
  }

  void scribble(Numbers& numbers) {
    Board board(memory.get());
    BoardProgress& progress = board.progress();
    for (std::vector<RowEntry>& table : entries) {
      // As a rule rows follow each other, so that batches are found at all.
      std::uint64_t next = numbers.any();
      const bool is_hostile = numbers.up_to(3) == 0;
      for (RowEntry& entry : table) {
        ordered::set(entry.first, is_hostile ? numbers.any() : next);
        const std::uint64_t rows = is_hostile ? numbers.any() : numbers.up_to(20);
        ordered::set(entry.rows, rows);
        next += rows;
      }
    }
    const std::uint64_t published = numbers.any();
    ordered::claim(progress, numbers.any(), numbers.up_to(2) == 0 ? numbers.any() : 0);
    ordered::publish(progress, published);
    ordered::begin_row_wait(progress);
    for (std::size_t axis = 0; axis < axes; ++axis) {
      ordered::set(board.axis(axis).waiting_first, numbers.any());
      ordered::set(board.axis(axis).waiting_rows, numbers.any());
    }
    ordered::end_row_wait(progress, numbers.up_to(1) == 0 ? published : numbers.any());
  }

  struct Free {
    void operator()(std::byte* at) const noexcept { ::operator delete (at, std::align_val_t{64}); }
  };
  std::unique_ptr<std::byte[], Free> memory;
  std::vector<std::vector<RowEntry>> entries;
  Desk desk{};
};

class Host final : public ReaderHost {
 public:
  bool producer_is_dead() noexcept override { return true; }
  std::string why_revoked() override { return "a fuzzer said so"; }
  bool give_oldest_back() noexcept override { return false; }
};

}  // namespace

// What a consumer makes of the tables of rows that a producer shows it: runs of samples within what
// is published, or an error. It ends, whatever they say.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Numbers numbers(fuzz::bytes_of(data, size));
  Ring ring(numbers);
  std::vector<std::uint64_t> ids(2 * capacity);
  Host host;
  RingReader::Options options;
  options.pace = numbers.up_to(1) == 0 ? Pace::lockstep : Pace::free;
  options.shares = static_cast<std::uint32_t>(1 + numbers.up_to(2));
  options.share = static_cast<std::uint32_t>(numbers.up_to(options.shares - 1));
  options.budget = {numbers.up_to(axes - 1), numbers.up_to(arena),
                    static_cast<Oversize>(numbers.up_to(3))};
  for (const auto& table : ring.entries) {
    options.axes.push_back({RowTable(table.data(), table.size(), arena), "axis", 4});
  }
  ring.scribble(numbers);
  try {
    const FieldWindow window{reinterpret_cast<std::byte*>(ids.data()), capacity, 8, 8};
    RingReader reader(BoardView(ring.memory.get()), ring.desk, window, host, options);
    for (int call = 0; call < 6; ++call) {
      const std::uint64_t most = 1 + numbers.up_to(capacity - 1);
      Run run;
      const bool peeks = numbers.up_to(2) == 0;
      bool there = false;
      try {
        there = peeks ? reader.peek(most, 0, run) : reader.next(most, 0, run) == Next::batch;
      } catch (const RingTooSmall&) {
      } catch (const InvalidArgument&) {  // a sample beyond the budget
      }
      if (there) {
        BATCHCAST_ASSERT(run.size >= 1 && run.size <= capacity * 3);
        BATCHCAST_ASSERT(run.position >= run.batch_start);
        BATCHCAST_ASSERT(run.position + run.size <= run.batch_start + run.batch_size);
        if (!peeks && options.pace == Pace::lockstep) reader.give_back(run.lease);
      }
      if (numbers.up_to(2) == 0) ring.scribble(numbers);
    }
  } catch (const Error&) {  // the stream is over for it
  }
  return 0;
}
