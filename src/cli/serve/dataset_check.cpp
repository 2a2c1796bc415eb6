// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/serve/dataset_check.hpp"

#include "data/codec/orientation.hpp"
#include "feeder/one_sample.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace batchcast::cli {
namespace {

constexpr std::size_t rows_at_once = 16;

/// A part has the limit of all parts, unless the recipe says otherwise.
std::int64_t pixels_max_of(const std::string& part, const std::optional<Recipe>& recipe) {
  if (!recipe) return DecodeStage::Parameters{}.pixels_max;
  for (const FieldRecipe& field : recipe->fields) {
    if ((field.from.empty() ? field.name : field.from) != part) continue;
    for (const auto& stage : field.stages) {
      if (const DecodeStage* decode = stage->as_decode()) {
        return decode->parameters().pixels_max;
      }
    }
  }
  return DecodeStage::Parameters{}.pixels_max;
}

/// One thread's decoder, and memory for a few rows: what they hold is of no interest.
class WholeImage {
 public:
  detail::ImageInfo decode(std::span<const std::byte> encoded, std::int64_t pixels_max) {
    const detail::ImageInfo info = decoder_.open(encoded, {.pixels_max = pixels_max});
    const detail::RowLayout layout = decoder_.start({0, 0, info.size.width, info.size.height});
    rows_.resize(std::max(rows_.size(), layout.byte_count * rows_at_once));
    auto left = static_cast<std::size_t>(info.size.height);
    while (left > 0) {
      const std::size_t got =
          decoder_.read(rows_.data(), layout.byte_count, std::min(left, rows_at_once));
      if (got == 0) throw BadSample("it ends before its last row");
      left -= got;
    }
    return info;
  }

 private:
  detail::ImageDecoder decoder_;
  std::vector<std::uint8_t> rows_;
};

}  // namespace

struct DatasetCheck::Worker {
  SampleParts parts;
  WholeImage image;
  std::unique_ptr<detail::OneSample> sample;
};

DatasetCheck::DatasetCheck(std::shared_ptr<const Source> source,
                           const std::optional<Recipe>& recipe)
    : source_(std::move(source)) {
  for (const PartSpec& part : source_->parts()) {
    pixels_max_.push_back(pixels_max_of(part.name, recipe));
  }
  if (!recipe) return;
  fields_ = detail::resolve(*recipe).fields;
  PipelineOptions options;
  options.source = source_;
  options.recipe = *recipe;
  options.recipe.order = OrderMode::sequential;
  // Substitution makes the pipeline go on, and tell about each bad sample once.
  options.on_bad_sample = OnBadSample::substitute;
  options.bad_samples_max = std::numeric_limits<std::uint64_t>::max();
  options.on_bad = [this](const BadSampleReport& bad) { add(bad); };
  pipeline_ = std::make_unique<Pipeline>(std::move(options));
}

DatasetCheck::~DatasetCheck() {
  stop();
  for (std::thread& thread : threads_) thread.join();
}

void DatasetCheck::start(unsigned workers) {
  for (unsigned i = 0; i < workers; ++i) {
    {
      const std::lock_guard lock(mutex_);
      ++running_;
    }
    threads_.emplace_back([this] {
      try {
        work();
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
        stop();
      }
      const std::lock_guard lock(mutex_);
      if (--running_ == 0) ended_.notify_all();
    });
  }
}

bool DatasetCheck::wait(int timeout_ms) {
  std::unique_lock lock(mutex_);
  if (!ended_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                       [this] { return running_ == 0; })) {
    return false;
  }
  if (failure_) std::rethrow_exception(failure_);
  return true;
}

void DatasetCheck::work() {
  Worker worker;
  if (pipeline_) worker.sample = std::make_unique<detail::OneSample>(*pipeline_);
  while (!stops_.load(std::memory_order_relaxed)) {
    const std::uint64_t sample_id = next_.fetch_add(1);
    if (sample_id >= source_->size()) return;
    check(sample_id, worker);
    checked_.fetch_add(1);
  }
}

void DatasetCheck::check(std::uint64_t sample_id, Worker& worker) {
  try {
    source_->read(sample_id, worker.parts);
    for (std::size_t i = 0; i < pixels_max_.size(); ++i) {
      if (source_->parts()[i].kind == PartKind::image) {
        look_at_sizes(sample_id, i, worker.image.decode(worker.parts[i], pixels_max_[i]));
      }
    }
  } catch (const BadSample& bad) {
    add({sample_id, source_->name_of(sample_id), bad.what()});
    return;
  }
  if (!worker.sample) return;
  try {
    worker.sample->make(0, sample_id);
  } catch (const BadSample&) {
    // No sample is left to stand in: each of them was told about.
  }
}

void DatasetCheck::look_at_sizes(std::uint64_t sample_id, std::size_t part,
                                 const detail::ImageInfo& info) {
  for (const detail::ResolvedField& field : fields_) {
    if (field.from != source_->parts()[part].name || field.stages.empty()) continue;
    const DecodeStage* const decode = field.stages.front().stage->as_decode();
    if (decode == nullptr) continue;
    const ImageSize size =
        decode->parameters().orient ? detail::upright_size(info.size, info.orientation) : info.size;
    if (const auto failure = detail::later_failure(field.stages, size)) {
      add_later(sample_id, field.name, *failure);
    }
  }
}

// Of several threads the one with the first sample of the dataset names it.
void DatasetCheck::add_later(std::uint64_t sample_id, const std::string& field,
                             const detail::LaterFailure& failure) {
  const std::lock_guard lock(mutex_);
  auto known = std::find_if(later_.begin(), later_.end(), [&](const LaterBad& one) {
    return one.field == field && one.stage == failure.path;
  });
  if (known == later_.end()) known = later_.insert(known, {field, failure.path, 0, {}, {}, 0});
  if (known->samples++ != 0 && known->sample_id < sample_id) return;
  known->sample_id = sample_id;
  known->name = source_->name_of(sample_id);
  known->reason = failure.reason;
}

void DatasetCheck::add(const BadSampleReport& bad) {
  const std::lock_guard lock(mutex_);
  bad_.push_back(bad);
}

std::uint64_t DatasetCheck::bad_count() const {
  const std::lock_guard lock(mutex_);
  return bad_.size();
}

std::vector<BadSampleReport> DatasetCheck::take_bad() {
  const std::lock_guard lock(mutex_);
  const auto by_id = [](const BadSampleReport& a, const BadSampleReport& b) {
    return a.sample_id < b.sample_id;
  };
  std::stable_sort(bad_.begin(), bad_.end(), by_id);
  // One that does not decode whole may also have been met in making another's stand-in.
  bad_.erase(std::unique(bad_.begin(), bad_.end(),
                         [](const BadSampleReport& a, const BadSampleReport& b) {
                           return a.sample_id == b.sample_id;
                         }),
             bad_.end());
  return std::move(bad_);
}

}  // namespace batchcast::cli
