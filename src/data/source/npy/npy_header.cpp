// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/npy/npy_header.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "data/source/known_format.hpp"
#include "data/tensor_part.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t dimensions_max = 32;  // NumPy's own

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

[[noreturn]] void refuse_npy(std::string_view name, const std::string& why) {
  throw BadDataset(text("batchcast: {}: {}.", name, why));
}

// Text of a hostile file, made fit for a message.
std::string quoted(std::string_view words) {
  std::string shown(words.substr(0, 40));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
  }
  return text("`{}{}", shown, words.size() > 40 ? "...`" : "`");
}

// Reads the small part of Python's notation that headers use: {'descr': '<f4', 'fortran_order':
// False, 'shape': (3, 4), }
class Literal {
 public:
  Literal(std::string_view text, std::string_view name) : left_(text), name_(name) {}

  [[nodiscard]] bool take(char c) {
    skip_space();
    if (left_.empty() || left_.front() != c) return false;
    left_.remove_prefix(1);
    return true;
  }
  void need(char c) {
    if (!take(c)) broken();
  }
  [[nodiscard]] bool ended() {
    skip_space();
    return left_.empty();
  }
  [[nodiscard]] bool at(char c) {
    skip_space();
    return left_.starts_with(c);
  }
  [[nodiscard]] std::string_view string() {
    skip_space();
    if (left_.empty() || (left_.front() != '\'' && left_.front() != '"')) broken();
    const std::size_t end = left_.find(left_.front(), 1);
    if (end == std::string_view::npos) broken();
    const std::string_view result = left_.substr(1, end - 1);
    left_.remove_prefix(end + 1);
    return result;
  }
  [[nodiscard]] bool boolean() {
    skip_space();
    for (const auto& [word, value] :
         {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (!left_.starts_with(word)) continue;
      left_.remove_prefix(word.size());
      return value;
    }
    broken();
  }
  [[nodiscard]] std::vector<std::int64_t> extents() {
    std::vector<std::int64_t> shape;
    need('(');
    while (!take(')')) {
      if (shape.size() == dimensions_max)
        refuse_npy(name_, "its array has more than 32 dimensions");
      shape.push_back(extent());
      if (take(',')) continue;
      need(')');
      return shape;
    }
    return shape;
  }
  [[noreturn]] void broken() const {
    refuse_npy(name_, text("its header is not one of a .npy file at {}", quoted(left_)));
  }

 private:
  [[nodiscard]] std::int64_t extent() {
    skip_space();
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(left_.data(), left_.data() + left_.size(), value);
    if (error != std::errc()) broken();
    if (value < 0) refuse_npy(name_, "its array has a negative extent");
    left_.remove_prefix(static_cast<std::size_t>(stop - left_.data()));
    if (left_.starts_with('L')) left_.remove_prefix(1);  // as Python 2 wrote it
    return value;
  }
  void skip_space() {
    const std::size_t start = std::min(left_.find_first_not_of(" \n\t\r"), left_.size());
    left_.remove_prefix(start);
  }

  std::string_view left_;
  std::string_view name_;
};

DType dtype_of(std::string_view descr, std::string_view name) {
  constexpr std::array<std::pair<std::string_view, DType>, 12> types = {{{"u1", DType::u8},
                                                                         {"i1", DType::i8},
                                                                         {"i2", DType::i16},
                                                                         {"i4", DType::i32},
                                                                         {"i8", DType::i64},
                                                                         {"u2", DType::u16},
                                                                         {"u4", DType::u32},
                                                                         {"u8", DType::u64},
                                                                         {"f2", DType::f16},
                                                                         {"f4", DType::f32},
                                                                         {"f8", DType::f64},
                                                                         {"b1", DType::boolean}}};
  const std::string_view order = descr.substr(0, 1);
  const std::string_view type = descr.substr(std::min<std::size_t>(1, descr.size()));
  if (type.starts_with('O')) {
    refuse_npy(name,
               "it holds Python objects, which cannot be read without Python. Save an array of "
               "numbers");
  }
  for (const auto& [known, dtype] : types) {
    if (type != known) continue;
    if (size_of(dtype) > 1 && order == ">") {
      refuse_npy(name, text("its numbers are big-endian ({}). Save it again with "
                            "a.astype(a.dtype.newbyteorder('<'))",
                            quoted(descr)));
    }
    if (order == "<" || order == "=" || order == "|" || order == ">") return dtype;
  }
  refuse_npy(name, text("its element type {} is none that can be served (integers and floats of up "
                        "to 8 bytes, bool)",
                        quoted(descr)));
}

NpyHeader parse_dictionary(std::string_view dictionary, std::string_view name) {
  NpyHeader header;
  std::optional<bool> fortran;
  bool has_dtype = false;
  bool has_shape = false;
  Literal literal(dictionary, name);
  literal.need('{');
  while (!literal.take('}')) {
    const std::string_view key = literal.string();
    literal.need(':');
    if (key == "descr" && !has_dtype) {
      if (literal.at('[')) {
        refuse_npy(name,
                   "it holds records with several columns. Save each column as a separate array");
      }
      header.dtype = dtype_of(literal.string(), name);
      has_dtype = true;
    } else if (key == "fortran_order" && !fortran) {
      fortran = literal.boolean();
    } else if (key == "shape" && !has_shape) {
      header.shape = literal.extents();
      has_shape = true;
    } else {
      refuse_npy(name, text("its header has an unexpected entry {}", quoted(key)));
    }
    if (literal.take(',')) continue;
    literal.need('}');
    break;
  }
  if (!literal.ended()) literal.broken();
  if (!has_dtype || !has_shape || !fortran) {
    refuse_npy(name, "its header lacks `descr`, `fortran_order` or `shape`");
  }
  if (*fortran && header.shape.size() > 1) {
    refuse_npy(name,
               "its array is in Fortran order, so that no sample lies in one piece. Save it again "
               "with np.ascontiguousarray(a)");
  }
  return header;
}

[[noreturn]] void refuse_other(std::span<const std::byte> file, std::string_view name) {
  const std::optional<KnownFormat> format = known_format(file);
  if (!format) refuse_npy(name, file.empty() ? "the file is empty" : "it is no .npy file");
  const std::string unpack = unpacking_command(*format, name);
  std::string cure = text("Unpack it: {}", unpack);
  if (unpack.empty()) {
    cure = "Save each array in it as a separate file: np.save('NAME.npy', array)";
    if (*format == KnownFormat::zip) {
      cure =
          "Save each array in it as a separate file, in Python: for name, array in "
          "np.load(FILE).items(): np.save(name + '.npy', array)";
    }
  }
  refuse_npy(name, text("it is no .npy file but {}. {}", description_of(*format), cure));
}

}  // namespace

bool is_npy(std::span<const std::byte> file) noexcept { return as_text(file).starts_with(magic); }

NpyHeader parse_npy_header(std::span<const std::byte> file, std::string_view name) {
  constexpr std::size_t version_end = 8;
  if (file.size() < version_end || !is_npy(file)) refuse_other(file, name);
  const auto major = std::to_integer<unsigned>(file[6]);
  if (major < 1 || major > 3) {
    refuse_npy(name, text("it is of version {} of the .npy format, not 1 to 3", major));
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t start = version_end + length_bytes;
  std::uint32_t length = 0;
  if (file.size() >= start) std::memcpy(&length, file.data() + version_end, length_bytes);
  if (file.size() < start || file.size() - start < length) {
    refuse_npy(name, "it ends within its header: it was cut short, or its header is broken");
  }
  NpyHeader header = parse_dictionary(as_text(file.subspan(start, length)), name);
  header.data_offset = start + length;
  const std::optional<std::uint64_t> bytes = byte_count_of(header.dtype, header.shape);
  if (!bytes) refuse_npy(name, "its header speaks of more bytes than can be counted");
  header.data_bytes = *bytes;
  if (file.size() - header.data_offset < *bytes) {
    refuse_npy(name, text("it is cut short: its header speaks of {} bytes, of which {} are there",
                          *bytes, file.size() - header.data_offset));
  }
  return header;
}

}  // namespace batchcast::inline v0_1::detail
