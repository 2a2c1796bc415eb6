// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/idx/idx_file.hpp"

#include "data/source/archive_reader.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <new>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::size_t header_bytes_max = 4 + 255 * 4;

[[noreturn]] void refuse_idx(std::string_view name, const std::string& why) {
  throw BadDataset(text("batchcast: {}: {}.", name, why));
}

std::uint64_t big_endian(std::span<const std::byte> bytes) noexcept {
  std::uint64_t value = 0;
  for (const std::byte b : bytes) value = value << 8 | std::to_integer<std::uint64_t>(b);
  return value;
}

[[noreturn]] void refuse_packed(archive* reader, std::string_view name) {
  const char* const why = reader == nullptr ? nullptr : archive_error_string(reader);
  refuse_idx(name, text("it cannot be unpacked: {}", why == nullptr ? "it is broken" : why));
}

// Fills `to` as far as there is data; returns how far.
std::size_t read_fully(archive* reader, std::span<std::byte> to, std::string_view name) {
  std::size_t filled = 0;
  while (filled < to.size()) {
    const la_ssize_t got = archive_read_data(reader, to.data() + filled, to.size() - filled);
    if (got < 0) refuse_packed(reader, name);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  return filled;
}

}  // namespace

std::size_t size_of(IdxType type) noexcept {
  switch (type) {
    case IdxType::u8:
    case IdxType::i8:
      return 1;
    case IdxType::i16:
      return 2;
    case IdxType::i32:
    case IdxType::f32:
      return 4;
    case IdxType::f64:
      return 8;
  }
  return 0;
}

IdxHeader parse_idx_header(std::span<const std::byte> start, std::string_view name) {
  if (start.size() < 4 || start[0] != std::byte{0} || start[1] != std::byte{0}) {
    refuse_idx(name, start.empty() ? "the file is empty" : "it is no file of the IDX format");
  }
  IdxHeader header;
  header.type = static_cast<IdxType>(start[2]);
  const std::size_t element_bytes = size_of(header.type);
  if (element_bytes == 0) {
    refuse_idx(name, text("its element type {} is none of the IDX format",
                          std::to_integer<int>(start[2])));
  }
  const auto dimensions = std::to_integer<std::size_t>(start[3]);
  header.data_offset = 4 + 4 * dimensions;
  if (start.size() < header.data_offset) refuse_idx(name, "it ends within its header");
  header.data_bytes = element_bytes;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::uint64_t extent = big_endian(start.subspan(4 + 4 * i, 4));
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (extent != 0 && header.data_bytes > (most - header_bytes_max) / extent) {
      refuse_idx(name, "its header speaks of more bytes than can be counted");
    }
    header.data_bytes *= extent;
    header.shape.push_back(static_cast<std::int64_t>(extent));
  }
  return header;
}

UnpackedIdx unpack_idx(std::span<const std::byte> packed, std::string_view name) {
  const ArchiveReader reader(archive_read_new());
  archive_entry* entry = nullptr;
  if (!reader || archive_read_support_filter_gzip(reader.get()) != ARCHIVE_OK ||
      archive_read_support_format_raw(reader.get()) != ARCHIVE_OK ||
      archive_read_open_memory(reader.get(), packed.data(), packed.size()) != ARCHIVE_OK ||
      archive_read_next_header(reader.get(), &entry) != ARCHIVE_OK) {
    refuse_packed(reader.get(), name);
  }
  std::array<std::byte, header_bytes_max> start;
  std::size_t filled = read_fully(reader.get(), start, name);
  const IdxHeader header = parse_idx_header(std::span(start).first(filled), name);
  const std::uint64_t expected = header.data_offset + header.data_bytes;
  // A hostile header must not choose how much memory is taken: a byte of gzip makes no more.
  constexpr std::uint64_t deflate_ratio_max = 1032;
  if (expected / deflate_ratio_max > packed.size()) {
    refuse_idx(
        name, text("its header speaks of {} bytes, more than can be packed in it: it was cut short",
                   expected));
  }
  UnpackedIdx result;
  try {
    result.bytes = std::make_unique_for_overwrite<std::byte[]>(expected);
  } catch (const std::bad_alloc&) {
    refuse_idx(name, text("it unpacks to {} bytes, more memory than there is", expected));
  }
  result.size = expected;
  const std::span<std::byte> bytes(result.bytes.get(), expected);
  const std::size_t begun = std::min(filled, bytes.size());
  std::copy_n(start.begin(), begun, bytes.begin());
  if (filled < expected) filled += read_fully(reader.get(), bytes.subspan(begun), name);
  std::byte beyond{};
  if (filled != expected || read_fully(reader.get(), {&beyond, 1}, name) != 0) {
    refuse_idx(name, text("its header speaks of {} bytes, and it holds {}", expected,
                          filled < expected ? text("{}", filled) : "more"));
  }
  return result;
}

IdxFile::IdxFile(const std::string& path) : path_(path) {
  MappedFile file(path);
  file_bytes_ = file.bytes().size();
  std::span<const std::byte> all = file.bytes();
  const bool packed = all.size() >= 2 && all[0] == std::byte{0x1f} && all[1] == std::byte{0x8b};
  if (packed) {
    unpacked_ = unpack_idx(all, path);
    all = {unpacked_.bytes.get(), unpacked_.size};
  } else {
    mapped_ = std::move(file);
  }
  header_ = parse_idx_header(all, path);
  if (all.size() - header_.data_offset != header_.data_bytes) {
    refuse_idx(path, text("its header speaks of {} bytes, and it holds {}",
                          header_.data_offset + header_.data_bytes, all.size()));
  }
  data_ = all.subspan(header_.data_offset);
}

std::vector<std::int64_t> IdxFile::integers() const {
  if (header_.type == IdxType::f32 || header_.type == IdxType::f64) {
    refuse_idx(path_, "its numbers are not whole");
  }
  const std::size_t width = size_of(header_.type);
  std::vector<std::int64_t> values(data_.size() / width);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits = big_endian(data_.subspan(i * width, width));
    switch (header_.type) {
      case IdxType::i8:
        values[i] = static_cast<std::int8_t>(bits);
        break;
      case IdxType::i16:
        values[i] = static_cast<std::int16_t>(bits);
        break;
      case IdxType::i32:
        values[i] = static_cast<std::int32_t>(bits);
        break;
      default:
        values[i] = static_cast<std::int64_t>(bits);
    }
  }
  return values;
}

}  // namespace batchcast::inline v0_1::detail
