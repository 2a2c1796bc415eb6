// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/core.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/printable.hpp>

#include <batchcast/core/named_thread.hpp>
#include "control/zmq_threads.hpp"

#include <cstdio>
#include <cstring>
#include <numeric>

// Making the host ring, and the loans. Further rings and the stream's end are in
// producer_rings.cpp, the door and the commands in producer_door.cpp and producer_commands.cpp.
namespace batchcast::inline v0_1::detail {
namespace {

StreamDirectory::Options directory_options(const ProducerOptions& options) {
  StreamDirectory::Options directory;
  directory.stream = options.stream;
  directory.base = options.directory;
  directory.allow_uids = options.allow_uids;
  directory.log = options.log;
  return directory;
}

}  // namespace

ProducerCore::ProducerCore(ProducerOptions options, const ServedRings& further)
    : options_(checked(std::move(options))), directory_(directory_options(options_)) {
  all_fields_ = options_.schema;
  all_fields_.push_back({std::string(sample_id_name), DType::u64, {}});
  // Each consumer holds its connection, its pidfd and its desk open here.
  constexpr std::uint64_t descriptors_each = 3;
  constexpr std::uint64_t descriptors_besides = 64 + limits::fields_max;
  const std::uint64_t rings = 1 + options_.places.size();
  raise_open_files_limit(rings * (options_.max_consumers * descriptors_each + descriptors_besides));
  const std::vector<PlaceOutlook> outlooks = look_at_places(further);  // before memory is taken
  space_fields(outlooks);
  make_ring();
  make_board();
  make_further_rings(further);
  start_serving();
}

void ProducerCore::make_ring() {
  const auto report = [this](LogLevel level, std::string_view text) { log(level, text); };
  MemoryChoice choice = choose_pages(options_.huge_pages, options_.memory, report);
  if (!make_segments(choice)) {
    choice = choose_pages(HugePages::off, options_.memory, report);
    if (!make_segments(choice)) {
      throw OutOfMemory("batchcast: the ring's memory could not be made.");
    }
  }
  std::vector<FieldInfo> infos;
  for (std::size_t i = 0; i < all_fields_.size(); ++i) {
    const FieldPlan& field = plan_.fields[i];
    windows_.push_back(
        {mappings_[i].data(), field.capacity, field.stride_bytes, field.sample_bytes});
    infos.push_back(
        {all_fields_[i], all_fields_[i].element_count(), field.sample_bytes, field.stride_bytes});
    if (field.padded()) {
      log(LogLevel::info, "samples of field " + to_text(all_fields_[i]) + " lie " +
                              std::to_string(field.stride_bytes) + " bytes apart instead of " +
                              std::to_string(field.sample_bytes) +
                              (field.stride_bytes == spaced_fields_[i].byte_count()
                                   ? ", as they do on the GPU"
                                   : ", since rounding to pages would have cost more than a tenth "
                                     "of the memory") +
                              "; batches have that stride");
    }
  }
  fields_ = FieldTable(std::move(infos));
  populator_ = std::make_unique<Populator>(mappings_, MapMode::read_write);
}

bool ProducerCore::make_segments(const MemoryChoice& choice) {
  segments_.clear();
  mappings_.clear();
  plan_ = plan_with(choice.granularity);
  // Reserved huge pages are no part of what the machine has left.
  if (!choice.huge) check_memory_exists(plan_.total_bytes());
  for (std::size_t i = 0; i < all_fields_.size(); ++i) {
    auto segment = Segment::create(all_fields_[i].name, plan_.fields[i].segment_bytes(), choice);
    if (!segment) {
      log(LogLevel::warning, "huge pages ran out: the ring takes ordinary ones");
      return false;
    }
    // Both mappings come before the seal that forbids writable ones to everybody else.
    mappings_.emplace_back(*segment, MapMode::read_write);
    segment->seal(Seals::shrink | Seals::grow | Seals::future_write | Seals::seal);
    if (!writable_map_is_refused(*segment)) {
      if (!choice.huge) {
        throw SystemError(
            "batchcast: this kernel lets others write to sealed memory (Linux 5.1 or later is "
            "needed)",
            EPERM);
      }
      log(LogLevel::warning, "this kernel does not seal huge pages: the ring takes ordinary ones");
      return false;
    }
    segments_.push_back(std::move(*segment));
  }
  return true;
}

void ProducerCore::make_board() {
  std::vector<FieldEntry> entries;
  for (std::size_t i = 0; i < all_fields_.size(); ++i) {
    entries.push_back(field_entry(all_fields_[i], plan_.fields[i]));
  }
  BoardSpec spec;
  spec.recipe_json = options_.recipe_json;
  spec.identity = options_.identity;
  spec.fields = entries;
  spec.capacity = plan_.capacity;
  spec.samples_per_epoch = options_.samples_per_epoch;
  spec.epochs = options_.epochs;
  // Mirrors stand on it too, and take no consumer's place: they come first.
  spec.consumers_max = options_.max_consumers + static_cast<std::uint32_t>(options_.places.size());
  spec.pure = options_.pure;
  const std::uint64_t page = page_bytes();
  const std::uint64_t bytes = (board_bytes_for(spec) + page - 1) / page * page;
  board_segment_.emplace(Segment::create_small("board", bytes));
  board_.emplace(*board_segment_, MapMode::read_write);
  format_board({board_->data(), bytes}, spec);
  board_segment_->seal(Seals::shrink | Seals::grow | Seals::future_write | Seals::seal);

  RingWriter::Options writer;
  writer.samples_per_epoch = options_.samples_per_epoch;
  writer.epochs = options_.epochs;
  writer.wait_for = options_.wait_for;
  writer.free_running = options_.free_running;
  writer.ahead = options_.ahead;
  writer.goes_back = options_.pure;
  writer.stall_timeout_ms = options_.stall_timeout_ms;
  writer.on_stall = options_.on_stall;
  writer.log = [this](LogLevel level, std::string_view text) { log(level, text); };
  writer.on_evicted = [this](std::uint64_t consumer_id, const std::string& reason) {
    tell_evicted(consumer_id, reason);
  };
  writer_ = std::make_unique<RingWriter>(Board(board_->data()), std::move(writer));
}

void ProducerCore::start_serving() {
  // Once the door is open, consumers may come in and rely on the rest.
  constexpr unsigned own_threads = 3;  // bc-door, bc-control, bc-messages
  rehearse_threads(own_threads + zmq_threads, zmq_bytes,
                   "the producer of stream `" + options_.stream + "`");
  pidfd_ = own_pidfd();
  DoorServer::Options door;
  door.layout_version = layout_version;
  door.log = options_.log;
  door_server_ = std::make_unique<DoorServer>(directory_, *this, std::move(door));
  door_.store(door_server_.get());
  ControlServer::Options control;
  control.control_path = directory_.paths().control;
  control.events_path = directory_.paths().events;
  control.handle = [this](std::string_view command) { return answer(command); };
  control.statistics = [this] { return statistics(); };
  control.log = options_.log;
  try {
    control_ = std::make_unique<ControlServer>(std::move(control));
  } catch (...) {
    take_down();  // somebody may have come in already, for whom a mirror runs
    throw;
  }
}

ProducerCore::~ProducerCore() { take_down(); }

void ProducerCore::take_down() noexcept {
  // Nobody may come in or ask while the rest is taken down. Mirrors may evict to the last.
  control_.reset();
  if (door_server_) door_server_->stop();
  further_.clear();
  door_.store(nullptr);
  door_server_.reset();
}

void ProducerCore::tell_evicted(ConsumerKey key, const std::string& reason) {
  log(LogLevel::warning, "evicted a consumer: " + reason);
  if (DoorServer* door = door_.load()) door->evict(key, reason);
}

std::optional<LoanContents> ProducerCore::loan(std::uint64_t samples_max, int timeout_ms) {
  check_process();
  if (samples_max == 0) throw InvalidArgument("batchcast: a loan of 0 samples.");
  Ticket ticket;
  switch (writer_->claim(samples_max, timeout_ms, ticket)) {
    case Claim::timed_out:
      return std::nullopt;
    case Claim::ended:
      over_.store(true, std::memory_order_relaxed);
      return std::nullopt;
    case Claim::granted:
      break;
  }
  LoanContents loan;
  loan.fields = &fields_;
  loan.position = ticket.position;
  loan.size = ticket.size;
  loan.epoch = ticket.epoch;
  loan.index_in_epoch = ticket.position - ticket.epoch_start;
  auto* ids = reinterpret_cast<std::uint64_t*>(windows_.back().at(ticket.position));
  std::iota(ids, ids + ticket.size, loan.index_in_epoch);
  return loan;
}

void ProducerCore::publish(const LoanContents& loan) {
  Receipt receipt;
  receipt.add(
      {reinterpret_cast<const std::uint64_t*>(windows_.back().at(loan.position)), loan.size});
  writer_->publish({loan.position, loan.size, loan.epoch}, receipt);
}

void ProducerCore::give_back(const LoanContents& loan) noexcept {
  writer_->give_back({loan.position, loan.size, loan.epoch});
}

void ProducerCore::check_process() const {
  if (!in_forked_child()) return;
  throw Forked("batchcast: this process was forked from the producer of stream `" +
               options_.stream + "`, and cannot serve it.");
}

void ProducerCore::log(LogLevel level, std::string_view text) const {
  if (options_.log) {
    options_.log(level, text);
  } else if (level >= LogLevel::warning) {
    std::fprintf(stderr, "batchcast: stream `%s`: %s\n", options_.stream.c_str(),
                 printable_lines(text).c_str());
  }
}

}  // namespace batchcast::inline v0_1::detail
