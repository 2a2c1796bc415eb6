// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/megatron/megatron_index.hpp"

#include <batchcast/core/error.hpp>

#include <array>
#include <cstring>
#include <limits>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::string_view index_magic{"MMIDIDX\0\0", 9};
constexpr std::string_view legacy_magic{"TNTIDX\0\0", 8};
constexpr std::size_t index_header_bytes = 9 + 8 + 1 + 8 + 8;

[[noreturn]] void refuse_index(const std::string& path, const std::string& why) {
  throw BadDataset(text("batchcast: {}: {}.", path, why));
}

template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t offset) noexcept {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

DType dtype_of_code(unsigned code, const std::string& path) {
  // In the order of Megatron's codes, from 1.
  constexpr std::array types = {DType::u8,  DType::i8,  DType::i16, DType::i32,
                                DType::i64, DType::f64, DType::f32, DType::u16};
  if (code == 0 || code > types.size()) {
    refuse_index(path, text("its code of the type of elements is {}, and Megatron-LM has 1 to {}: "
                            "the file is broken, or of a newer Megatron-LM",
                            code, types.size()));
  }
  const DType dtype = types[code - 1];
  if (dtype == DType::f32 || dtype == DType::f64) {
    refuse_index(path, text("its elements are {}, and tokens are integers: u8, i8, i16, i32, i64 "
                            "or u16. Write the dataset again with one of these types",
                            batchcast::name_of(dtype)));
  }
  return dtype;
}

void check_head(std::span<const std::byte> idx, const std::string& path) {
  const std::string_view begin(reinterpret_cast<const char*>(idx.data()),
                               std::min(idx.size(), index_magic.size()));
  if (begin.starts_with(legacy_magic)) {
    refuse_index(path,
                 "it is of Megatron-LM's old form (TNTIDX). Write the dataset again with "
                 "tools/preprocess_data.py of a newer Megatron-LM");
  }
  if (begin != index_magic) {
    refuse_index(path, idx.empty() ? "the file is empty"
                                   : "it does not begin as an index of Megatron-LM (MMIDIDX)");
  }
  if (idx.size() < index_header_bytes) refuse_index(path, "it ends within its header");
  if (const auto version = value_at<std::uint64_t>(idx, 9); version != 1) {
    refuse_index(path, text("it is of version {} of the format, not 1", version));
  }
}

constexpr std::string_view changed_index =
    "its index was changed after the stream had begun. Leave the files of a stream as they are "
    "while it is served";

}  // namespace

MegatronIndex::MegatronIndex(std::span<const std::byte> idx, const std::string& path,
                             std::uint64_t bin_bytes) {
  check_head(idx, path);
  dtype_ = dtype_of_code(std::to_integer<unsigned>(idx[17]), path);
  elements_ = bin_bytes / size_of(dtype_);
  const auto sequences = value_at<std::uint64_t>(idx, 18);
  const auto documents = value_at<std::uint64_t>(idx, 26);
  const std::uint64_t left = idx.size() - index_header_bytes;
  // Each is checked alone first, so that no product can overflow.
  if (sequences > left / 12 || documents > left / 8 || sequences * 12 + documents * 8 > left) {
    refuse_index(path, text("it is cut short: its header speaks of {} sequences and {} ends of "
                            "documents, and {} bytes follow it",
                            sequences, documents, left));
  }
  const std::uint64_t more = left - sequences * 12 - documents * 8;
  if (more != 0) {
    refuse_index(path, more == sequences
                           ? "it has a mode for each sequence, as multimodal datasets do, and "
                             "those are not read. Write the dataset without `multimodal`"
                           : text("{} bytes follow its last table: the file is broken", more));
  }
  sequence_lengths_ = idx.subspan(index_header_bytes, sequences * 4);
  pointers_ = idx.subspan(index_header_bytes + sequences * 4, sequences * 8);
  document_ends_ = idx.last(documents * 8);
  lengths_ = std::make_shared<const StoredLengths>(check_documents(path));
}

std::int64_t MegatronIndex::number_at(std::span<const std::byte> table,
                                      std::uint64_t index) const noexcept {
  return value_at<std::int64_t>(table, index * 8);
}

bool MegatronIndex::find_run(std::uint64_t sequence, Run& run) const noexcept {
  const auto length = value_at<std::int32_t>(sequence_lengths_, sequence * 4);
  const std::int64_t pointer = number_at(pointers_, sequence);
  const auto width = static_cast<std::int64_t>(size_of(dtype_));
  if (length < 0 || pointer < 0 || pointer % width != 0) return false;
  run = {static_cast<std::uint64_t>(pointer / width), static_cast<std::uint64_t>(length)};
  return run.first <= elements_ && run.count <= elements_ - run.first;
}

std::vector<std::uint32_t> MegatronIndex::check_documents(const std::string& path) const {
  const std::uint64_t sequences = pointers_.size() / 8;
  const std::uint64_t ends = document_ends_.size() / 8;
  if (ends < 2) refuse_index(path, "it has no document");
  std::vector<std::uint32_t> lengths;
  lengths.reserve(ends - 1);
  std::int64_t end = number_at(document_ends_, 0);
  if (end != 0) refuse_index(path, text("its first document begins at sequence {}, not 0", end));
  for (std::uint64_t document = 1; document < ends; ++document) {
    const std::int64_t begin = std::exchange(end, number_at(document_ends_, document));
    if (end < begin || static_cast<std::uint64_t>(end) > sequences) {
      refuse_index(path, text("document {} goes from sequence {} to {}, and there are {}",
                              document - 1, begin, end, sequences));
    }
    std::uint64_t rows = 0;
    for (std::int64_t sequence = begin; sequence < end; ++sequence) {
      Run run;
      if (!find_run(static_cast<std::uint64_t>(sequence), run)) {
        refuse_index(path, text("sequence {} does not lie in the .bin, which has {} elements of "
                                "type {}: the two files do not belong together, or one was cut "
                                "short",
                                sequence, elements_, batchcast::name_of(dtype_)));
      }
      rows += run.count;
    }
    if (rows > std::numeric_limits<std::uint32_t>::max()) {
      refuse_index(path, text("document {} has {} tokens, and a sample has at most {}",
                              document - 1, rows, std::numeric_limits<std::uint32_t>::max()));
    }
    lengths.push_back(static_cast<std::uint32_t>(rows));
  }
  if (static_cast<std::uint64_t>(end) != sequences) {
    refuse_index(path, text("its documents end at sequence {}, and there are {}", end, sequences));
  }
  return lengths;
}

// Each number is read once: another process may write to the file meanwhile.
void MegatronIndex::runs_of(std::uint64_t document, const std::function<void(Run)>& take) const {
  const auto begin = static_cast<std::uint64_t>(number_at(document_ends_, document));
  const auto end = static_cast<std::uint64_t>(number_at(document_ends_, document + 1));
  if (begin > end || end > pointers_.size() / 8) throw BadSample(std::string(changed_index));
  std::uint64_t left = (*lengths_)[document];
  Run all;
  for (std::uint64_t sequence = begin; sequence < end; ++sequence) {
    Run run;
    if (!find_run(sequence, run) || run.count > left) throw BadSample(std::string(changed_index));
    left -= run.count;
    if (all.count != 0 && run.first == all.first + all.count) {
      all.count += run.count;
      continue;
    }
    if (all.count != 0) take(all);
    all = run;
  }
  if (left != 0) throw BadSample(std::string(changed_index));
  if (all.count != 0) take(all);
}

}  // namespace batchcast::inline v0_1::detail
