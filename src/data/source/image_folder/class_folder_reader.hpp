// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "data/source/image_folder/class_folder.hpp"

namespace batchcast::inline v0_1::detail {

/// Reads the folders of many classes at a time, since each look at a file on a network disk is a
/// wait. It gives them one after the other.
class ClassFolderReader {
 public:
  /// `dataset` is the open folder that holds the classes; all arguments must outlive the reader.
  ClassFolderReader(int dataset, const std::string& dataset_path,
                    std::span<const std::string> classes);
  /// Waits for the folders that are just being read.
  ~ClassFolderReader();
  ClassFolderReader(const ClassFolderReader&) = delete;
  ClassFolderReader& operator=(const ClassFolderReader&) = delete;

  /// The next class's folder. Throws what read_class_folder threw.
  [[nodiscard]] ClassFolder next();

 private:
  struct Result {
    std::optional<ClassFolder> folder;
    std::exception_ptr error;
  };

  void work();

  int dataset_;
  const std::string& dataset_path_;
  std::span<const std::string> classes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Result> results_;
  std::size_t begun_ = 0;
  std::size_t given_ = 0;
  bool over_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace batchcast::inline v0_1::detail
