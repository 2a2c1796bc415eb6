// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/image_folder/class_folder_reader.hpp"

#include <batchcast/core/assert.hpp>

#include <algorithm>
#include <system_error>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

// Enough threads to hide a network disk's answers, and few enough not to burden it.
constexpr std::size_t threads_max = 16;
// How many classes are read before they are asked for; they take memory.
constexpr std::size_t ahead_max = 64;

}  // namespace

ClassFolderReader::ClassFolderReader(int dataset, const std::string& dataset_path,
                                     std::span<const std::string> classes)
    : dataset_(dataset), dataset_path_(dataset_path), classes_(classes), results_(classes.size()) {
  const std::size_t count = std::min(threads_max, classes.size());
  try {
    for (std::size_t i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    if (threads_.empty()) throw;  // fewer threads suffice
  }
}

ClassFolderReader::~ClassFolderReader() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
}

ClassFolder ClassFolderReader::next() {
  std::unique_lock lock(mutex_);
  BATCHCAST_ASSERT(given_ < results_.size());
  Result& result = results_[given_];
  changed_.wait(lock, [&] { return result.folder || result.error; });
  ++given_;
  changed_.notify_all();
  if (result.error) std::rethrow_exception(result.error);
  ClassFolder folder = std::move(*result.folder);
  result.folder.reset();
  return folder;
}

void ClassFolderReader::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(
        lock, [&] { return over_ || begun_ == classes_.size() || begun_ < given_ + ahead_max; });
    if (over_ || begun_ == classes_.size()) return;
    const std::size_t mine = begun_++;
    lock.unlock();
    Result result;
    try {
      result.folder = read_class_folder(dataset_, dataset_path_, classes_[mine]);
    } catch (...) {
      result.error = std::current_exception();
    }
    lock.lock();
    results_[mine] = std::move(result);
    changed_.notify_all();
  }
}

}  // namespace batchcast::inline v0_1::detail
