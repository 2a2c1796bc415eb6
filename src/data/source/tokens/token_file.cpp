// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/tokens/token_file.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/schema.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "data/source/known_format.hpp"
#include "data/source/npy/npy_header.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

[[noreturn]] void refuse(const MappedFile& file, const std::string& why) {
  throw BadDataset(text("batchcast: {} {}", file.path(), why));
}

std::string text_of(DType dtype) { return std::string(batchcast::name_of(dtype)); }

constexpr std::string_view read_anyway =
    " If it is a file of tokens that only begins like that, add `header=0` to the source.";

bool is_integer(DType dtype) {
  return dtype <= DType::u64;  // f16 is the first of those that are none
}
static_assert(DType::u64 < DType::f16 && DType::u8 < DType::u64);

// How to save the file's only array for `tokens:`, in Python.
std::string_view python_cure(KnownFormat format) {
  switch (format) {
    case KnownFormat::zip:
      return "of an .npz np.save('tokens.npy', np.load(FILE)[NAME]), of a .pt "
             "np.save('tokens.npy', torch.load(FILE).numpy())";
    case KnownFormat::parquet:
      return "np.save('tokens.npy', np.concatenate("
             "pyarrow.parquet.read_table(FILE)[COLUMN].to_numpy()))";
    case KnownFormat::arrow:
      return "np.save('tokens.npy', np.concatenate("
             "pyarrow.ipc.open_file(FILE).read_all()[COLUMN].to_numpy()))";
    case KnownFormat::hdf5:
      return "np.save('tokens.npy', h5py.File(FILE)[NAME][:])";
    default:
      return "np.save('tokens.npy', safetensors.numpy.load_file(FILE)[NAME])";
  }
}

[[noreturn]] void refuse_format(const MappedFile& file, KnownFormat format) {
  std::string why = text("is {}, and tokens are read raw, ", description_of(format));
  why += "from .npy and from llm.c's files.";
  const std::string unpack = unpacking_command(format, file.path());
  if (unpack.empty()) {
    why += text(" Save them with Python: {}.", python_cure(format));
  } else {
    why += text(" Unpack it: {}.", unpack);
  }
  refuse(file, why + std::string(read_anyway));
}

// ---- .npy ----

TokenFile find_in_npy(const MappedFile& file) {
  const NpyHeader header = parse_npy_header(file.bytes(), file.path());
  if (header.shape.size() > 1) {
    refuse(file,
           text("is an array of {} dimensions, and tokens are a list of numbers. Where each of its "
                "rows is a sample, write `npy:{}`; else save it with np.save(FILE, a.reshape(-1)).",
                header.shape.size(), file.path()));
  }
  if (!is_integer(header.dtype) || header.shape.empty()) {
    refuse(file, text("holds {}, and tokens are a list of integers. Save it again: np.save(FILE, "
                      "a.astype(np.uint16)), or np.uint32 where the vocabulary is larger.",
                      header.shape.empty() ? "a single number"
                                           : text("numbers of type {}", text_of(header.dtype))));
  }
  return {header.dtype, header.data_offset,
          file.bytes().subspan(header.data_offset, static_cast<std::size_t>(header.data_bytes))};
}

// ---- llm.c: 256 little-endian i32, of which the first are magic number, version and tokens ----

constexpr std::size_t llmc_header_bytes = 1024;

struct LlmcKind {
  std::int32_t magic;
  std::int32_t version;
  DType dtype;
};
constexpr std::array llmc_tokens = {LlmcKind{20240520, 1, DType::u16},
                                    LlmcKind{20240801, 7, DType::u32}};
// Models, states, activations, tokenizers, and the files of HellaSwag and MMLU.
constexpr std::array llmc_others = {20240326, 20240327, 20240328, 20240522, 20240527, 20240803};

struct LlmcHeader {
  std::int32_t magic = 0;
  std::int32_t version = 0;
  std::int32_t tokens = 0;
};

LlmcHeader read_llmc_header(std::span<const std::byte> file) {
  LlmcHeader header;
  if (file.size() >= llmc_header_bytes) std::memcpy(&header, file.data(), sizeof header);
  return header;
}

TokenFile find_in_llmc(const MappedFile& file, const LlmcHeader& header, const LlmcKind& kind) {
  if (header.version != kind.version) {
    refuse(file, text("is a file of llm.c, of version {}, not {}. Where you know what it holds, "
                      "say it: `header=1024&dtype={}`.",
                      header.version, kind.version, text_of(kind.dtype)));
  }
  const auto tokens = file.bytes().subspan(llmc_header_bytes);
  const auto wanted =
      static_cast<std::int64_t>(header.tokens) * static_cast<std::int64_t>(size_of(kind.dtype));
  if (header.tokens < 0 || static_cast<std::int64_t>(tokens.size()) != wanted) {
    refuse(file, text("is a file of llm.c whose header speaks of {} tokens of type {}, and {} "
                      "bytes follow it: it was cut short, or is not whole yet.",
                      header.tokens, text_of(kind.dtype), tokens.size()));
  }
  return {kind.dtype, llmc_header_bytes, tokens};
}

// ---- raw ----

TokenFile find_raw(const MappedFile& file, const TokenFileOptions& options) {
  const DType dtype = options.dtype.value_or(DType::u16);
  const std::uint64_t header_bytes = options.header_bytes.value_or(0);
  if (file.bytes().size() < header_bytes) {
    refuse(file, text("is shorter than its header of {} bytes.", header_bytes));
  }
  const auto tokens = file.bytes().subspan(static_cast<std::size_t>(header_bytes));
  if (tokens.size() % size_of(dtype) != 0) {
    refuse(file, text("holds {} bytes, which is no whole number of tokens of type {}: it was cut "
                      "short, or its type is another.",
                      tokens.size(), text_of(dtype)));
  }
  return {dtype, static_cast<std::size_t>(header_bytes), tokens};
}

TokenFile find_by_header(const MappedFile& file, const TokenFileOptions& options) {
  const std::span<const std::byte> bytes = file.bytes();
  if (is_npy(bytes)) return find_in_npy(file);
  const LlmcHeader header = read_llmc_header(bytes);
  for (const LlmcKind& kind : llmc_tokens) {
    if (header.magic == kind.magic) return find_in_llmc(file, header, kind);
  }
  if (std::count(llmc_others.begin(), llmc_others.end(), header.magic) != 0) {
    refuse(file, text("is a file of llm.c that holds no run of tokens: a model, its state, a "
                      "tokenizer or an evaluation.{}",
                      read_anyway));
  }
  if (const std::optional<KnownFormat> format = known_format(bytes)) refuse_format(file, *format);
  return find_raw(file, options);
}

// ---- their width ----

template <class T>
std::array<std::uint64_t, 4> maxima_of(std::span<const std::byte> tokens) {
  std::array<std::uint64_t, 4> maxima{};
  for (std::size_t i = 0; (i + 1) * sizeof(T) <= tokens.size(); ++i) {
    T value;
    std::memcpy(&value, tokens.data() + i * sizeof value, sizeof value);
    maxima[i % 4] = std::max<std::uint64_t>(maxima[i % 4], value);
  }
  return maxima;
}

// The maxima of tokens 0, 4, 8 …; of 1, 5, 9 …; and so on.
std::array<std::uint64_t, 4> maxima_of(const TokenFile& file) {
  constexpr std::size_t looked_at = 1 << 16;
  const std::size_t width = size_of(file.dtype);
  const auto first = file.tokens.first(std::min(file.tokens.size(), looked_at * width));
  switch (width) {
    case 1:
      return maxima_of<std::uint8_t>(first);
    case 2:
      return maxima_of<std::uint16_t>(first);
    default:
      return maxima_of<std::uint32_t>(first);
  }
}

}  // namespace

TokenFile find_tokens(const MappedFile& file, const TokenFileOptions& options) {
  if (options.header_bytes) return find_raw(file, options);
  const TokenFile found = find_by_header(file, options);
  if (options.dtype && *options.dtype != found.dtype) {
    throw InvalidArgument(
        text("batchcast: {} holds tokens of type {}, as its header says, not {}: leave `dtype` "
             "out, or write `dtype={}`.",
             file.path(), text_of(found.dtype), text_of(*options.dtype), text_of(found.dtype)));
  }
  return found;
}

std::string remark_on_width(const TokenFile& file) {
  constexpr std::size_t tokens_min = 16;
  constexpr std::uint64_t upper_half_max = 32;  // of 2 million tokens, read as u16
  constexpr std::uint64_t lower_half_min = 4096;
  const std::size_t width = size_of(file.dtype);
  if (width > 4 || file.tokens.size() < tokens_min * width) return {};
  const std::array<std::uint64_t, 4> most = maxima_of(file);
  const auto are_halves = [&](std::uint64_t lower, std::uint64_t upper) {
    return upper == 0 ? lower > 0 : upper < upper_half_max && lower >= lower_half_min;
  };
  std::size_t wider = 0;
  if (width <= 2 && most[2] == 0 && most[3] == 0 && are_halves(most[0], most[1])) {
    wider = 4;
  } else if (are_halves(std::max(most[0], most[2]), std::max(most[1], most[3]))) {
    wider = 2;
  }
  if (wider == 0) return {};
  const std::string wanted = text("u{}", 8 * wider * width);
  return text(
      "{}{} where they are read as {}, which is how tokens of type {} look: should it be "
      "`dtype={}`?",
      wider == 2 ? "every second token is" : "three of four tokens are",
      std::max({most[1], most[3]}) == 0 ? " 0" : " almost 0", text_of(file.dtype), wanted, wanted);
}

}  // namespace batchcast::inline v0_1::detail
