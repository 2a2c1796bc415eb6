// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/printable.hpp>
#include <batchcast/core/schema.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <exception>
#include <optional>
#include <system_error>

#include "data/fingerprint_builder.hpp"
#include "data/reason.hpp"
#include "data/source/class_labels.hpp"
#include "data/source/file_key.hpp"
#include "data/source/npy/npy_header.hpp"
#include "data/source/source_kinds.hpp"
#include "data/tensor_part.hpp"
#include "data/webdataset/pattern.hpp"
#include "data/webdataset/shard_files.hpp"
#include "data/webdataset/shard_index.hpp"
#include "data/webdataset/tar.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

// Between parts of a sample lie a few headers. Reading over them costs less than a second read.
constexpr std::uint64_t gap_bytes_max = 16 * 1024;

std::string with_unit(std::uint64_t bytes) {
  constexpr std::uint64_t mebibyte = 1 << 20;
  return bytes < 10 * mebibyte ? text("{} bytes", bytes) : text("{} MiB", bytes / mebibyte);
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// `17`, `-1\n`
std::int64_t parse_integer(std::span<const std::byte> bytes, const std::string& part) {
  std::string_view digits = as_text(bytes);
  constexpr std::string_view space = " \t\r\n";
  digits.remove_prefix(std::min(digits.find_first_not_of(space), digits.size()));
  digits = digits.substr(0, digits.find_last_not_of(space) + 1);
  if (digits.starts_with('+')) digits.remove_prefix(1);
  std::int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc() || stop != end || digits.empty()) {
    throw BadSample(
        text("`{}` is not an integer in ASCII digits; with `?labels=names` after the source, "
             "names of classes become labels",
             part));
  }
  return value;
}

class Webdataset final : public Source {
 public:
  struct Options {
    WebdatasetIndexer::Options index;
    UnpackedFile::Place unpack = UnpackedFile::Place::disk;
  };

  Webdataset(std::vector<std::string> paths, const Options& options)
      : files_(std::move(paths)),
        unpacked_(options.unpack),
        labels_are_names_(options.index.labels_are_names) {
    WebdatasetIndexer indexer;
    for (std::size_t shard = 0; shard < files_.size(); ++shard) index_shard(shard, indexer);
    unpacked_.finish();
    index_ = indexer.finish(options.index);
    learn_arrays();
    if (labels_are_names_) learn_names();
    remark_on_unpacked();
  }

  [[nodiscard]] std::uint64_t size() const noexcept override { return index_.size(); }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override {
    return index_.plan.parts;
  }
  [[nodiscard]] std::string name_of(std::uint64_t sample_id) const override {
    return text("{}/{}", files_[index_.shard_of(sample_id)].name, index_.key(sample_id));
  }
  [[nodiscard]] Fingerprint fingerprint() const override { return index_.fingerprint; }
  [[nodiscard]] std::span<const std::string> remarks() const noexcept override {
    return index_.remarks;
  }
  [[nodiscard]] bool labels_are_names() const noexcept override { return labels_are_names_; }
  [[nodiscard]] std::span<const std::string> class_names() const noexcept override {
    std::span<const std::string> names;
    for (std::size_t part = 0; part < parts().size(); ++part) {
      if (index_.plan.meanings[part] != PartMeaning::class_name) continue;
      if (names.empty() || parts()[part].name == "label") names = labels_[part].names();
    }
    return names;
  }
  [[nodiscard]] bool in_memory() const noexcept override {
    return !unpacked_.mapped().empty() && shards_unpacked_ == files_.size();
  }

  void read(std::uint64_t sample_id, SampleParts& out) const override {
    read_parts(sample_id, {0, index_.plan.parts.size()}, out);
  }
  void read_part(std::uint64_t sample_id, std::size_t part, SampleParts& out) const override {
    read_parts(sample_id, {part, part + 1}, out);
  }
  // Runs of parts, each in one read.
  void read_wanted(std::uint64_t sample_id, std::span<const std::uint8_t> wanted,
                   SampleParts& out) const override {
    for (std::size_t part = 0; part < wanted.size(); ++part) {
      const std::size_t begin = part;
      while (part < wanted.size() && wanted[part] != 0) ++part;
      if (part > begin) read_parts(sample_id, {begin, part}, out);
    }
  }
  // What was unpacked is no file that could be found again.
  [[nodiscard]] std::optional<PartKey> key_of(std::uint64_t sample_id,
                                              std::size_t part) const noexcept override {
    const std::size_t shard = index_.shard_of(sample_id);
    if (is_unpacked_[shard]) return std::nullopt;
    try {
      const ShardFiles::Lease file = files_.acquire(shard);
      struct stat status = {};
      if (::fstat(file.get(), &status) != 0) return std::nullopt;
      const MemberPlace& place = index_.places(sample_id)[part];
      return key_of_file(status, place.offset, place.byte_count);
    } catch (const std::exception&) {
      return std::nullopt;  // `read` says why
    }
  }

 private:
  void index_shard(std::size_t shard, WebdatasetIndexer& indexer) {
    FileDescriptor file = files_.open_first(shard);
    const ShardFiles::Shard& facts = files_[shard];
    indexer.begin_shard(facts.name);
    const TarFacts tar = walk_tar({file.get(), facts.path, facts.byte_count}, indexer, unpacked_);
    indexer.end_shard();
    is_unpacked_.push_back(tar.compressed);
    if (tar.compressed) ++shards_unpacked_;
    if (!tar.compressed) files_.keep(shard, std::move(file));
    if (tar.more_after_end) {
      remarks_.push_back(
          text("{}: what follows the end mark at byte {} is not read", facts.name, tar.end));
    }
  }

  void remark_on_unpacked() {
    index_.remarks.insert(index_.remarks.begin(), remarks_.begin(), remarks_.end());
    if (shards_unpacked_ == 0) return;
    const bool in_memory = !unpacked_.mapped().empty();
    index_.remarks.push_back(text("unpacked: {} compressed shard(s), {}, into {}", shards_unpacked_,
                                  with_unit(unpacked_.byte_count()),
                                  in_memory ? "memory"
                                            : text("an unnamed file in {} (TMPDIR chooses another "
                                                   "place, `?unpack=memory` keeps it in memory)",
                                                   unpacked_.folder())));
  }

  struct PartRange {
    std::size_t begin;
    std::size_t end;
    [[nodiscard]] std::size_t size() const noexcept { return end - begin; }
  };

  void read_parts(std::uint64_t sample_id, PartRange wanted, SampleParts& out) const {
    const std::span<const MemberPlace> places = index_.places(sample_id);
    out.resize(places.size());
    const std::size_t shard = index_.shard_of(sample_id);
    if (!is_unpacked_[shard]) {
      read_members(files_.acquire(shard).get(), sample_id, wanted, out);
    } else if (unpacked_.mapped().empty()) {
      read_members(unpacked_.get(), sample_id, wanted, out);
    } else {
      for (std::size_t part = wanted.begin; part < wanted.end; ++part) {
        const auto raw = unpacked_.mapped().subspan(places[part].offset, places[part].byte_count);
        interpret({sample_id, part}, raw, out.make(part, sizeof(std::int64_t)), out);
      }
    }
  }

  // Each part's buffer begins with room for an integer.
  void read_members(int fd, std::uint64_t sample_id, PartRange wanted, SampleParts& out) const {
    constexpr std::size_t room = sizeof(std::int64_t);
    const std::span<const MemberPlace> places = index_.places(sample_id);
    std::uint64_t begin = places[wanted.begin].offset;
    std::uint64_t end = 0;
    std::uint64_t wanted_bytes = 0;
    for (const MemberPlace& place : places.subspan(wanted.begin, wanted.size())) {
      begin = std::min(begin, place.offset);
      end = std::max(end, place.offset + place.byte_count);
      wanted_bytes += place.byte_count;
    }
    if (end - begin > wanted_bytes + gap_bytes_max) {
      for (std::size_t part = wanted.begin; part < wanted.end; ++part) {
        const std::span<std::byte> own = out.make(part, room + places[part].byte_count);
        read_at(fd, places[part].offset, own.subspan(room));
        interpret({sample_id, part}, own.subspan(room), own.first(room), out);
      }
      return;
    }
    const std::size_t rooms = wanted.size() * room;
    const std::span<std::byte> all = out.make(wanted.begin, rooms + (end - begin));
    read_at(fd, begin, all.subspan(rooms));
    for (std::size_t part = wanted.begin; part < wanted.end; ++part) {
      const MemberPlace& place = places[part];
      interpret({sample_id, part}, all.subspan(rooms + (place.offset - begin), place.byte_count),
                all.subspan((part - wanted.begin) * room, room), out);
    }
  }

  struct PartOfSample {
    std::uint64_t sample_id;
    std::size_t part;
  };

  void interpret(PartOfSample which, std::span<const std::byte> raw, std::span<std::byte> room,
                 SampleParts& out) const {
    const std::size_t part = which.part;
    const PartSpec& spec = index_.plan.parts[part];
    const auto set_integer = [&](std::int64_t value) {
      std::memcpy(room.data(), &value, sizeof value);
      out.set(part, room);
    };
    switch (index_.plan.meanings[part]) {
      case PartMeaning::integer:
        set_integer(parse_integer(raw, spec.name));
        return;
      case PartMeaning::class_name:
        set_integer(labels_[part][which.sample_id]);
        return;
      case PartMeaning::npy:
        out.set(part, array_of(part, raw));
        return;
      case PartMeaning::image:
      case PartMeaning::other:
        out.set(part, raw);
    }
  }

  void learn_names() {
    refuse_without_names();
    labels_.resize(parts().size());
    FingerprintBuilder builder;
    builder.add("labels are names");
    builder.add(index_.fingerprint.to_hex());
    for (std::size_t part = 0; part < parts().size(); ++part) {
      if (index_.plan.meanings[part] != PartMeaning::class_name) continue;
      for (std::uint64_t sample = 0; sample < size(); ++sample) add_name(sample, part);
      labels_[part].finish();
      builder.add(parts()[part].name);
      builder.add(std::uint64_t{labels_[part].names().size()});
      for (const std::string& name : labels_[part].names()) builder.add(name);
    }
    index_.fingerprint = builder.finish();
  }

  void refuse_without_names() const {
    for (std::size_t part = 0; part < parts().size(); ++part) {
      const bool may_be_json = parts()[part].kind == PartKind::bytes;
      if (may_be_json || index_.plan.meanings[part] == PartMeaning::class_name) return;
    }
    throw InvalidArgument(
        "batchcast: `webdataset:`: the option `labels` is `names`, and no sample has a member "
        ".cls, "
        ".label or .json that could name its class.");
  }

  // There is room for blanks around it: a longer text is no name.
  void add_name(std::uint64_t sample_id, std::size_t part) {
    const MemberPlace& place = index_.places(sample_id)[part];
    std::array<std::byte, 2 * class_name_bytes_max> bytes;
    if (place.byte_count > bytes.size()) return labels_[part].add_none();
    const std::span<std::byte> text = std::span(bytes).first(place.byte_count);
    read_first_time(index_.shard_of(sample_id), place.offset, text);
    labels_[part].add(as_text(text));
  }

  // The arrays of the first sample decide for all samples.
  void learn_arrays() {
    npy_heads_.resize(parts().size());
    for (std::size_t part = 0; part < parts().size(); ++part) {
      if (index_.plan.meanings[part] != PartMeaning::npy) continue;
      PartSpec& spec = index_.plan.parts[part];
      const std::string name = text("{}, `{}`", printable(name_of(0)), spec.name);
      const std::vector<std::byte> file = first_of(part);
      const NpyHeader header = parse_npy_header(file, name);
      if (header.data_bytes == 0 || header.shape.size() > limits::dimensions_max) {
        throw BadDataset(
            text("batchcast: {} is an array without elements, or with more than {} dimensions.",
                 name, limits::dimensions_max));
      }
      spec.dtype = header.dtype;
      spec.shape = header.shape;
      spec.channels_last = has_channels_last(spec.dtype, spec.shape);
      npy_heads_[part].assign(file.begin(),
                              file.begin() + static_cast<std::ptrdiff_t>(header.data_offset));
    }
  }

  [[nodiscard]] std::vector<std::byte> first_of(std::size_t part) const {
    const MemberPlace& place = index_.places(0)[part];
    std::vector<std::byte> file(place.byte_count);
    read_first_time(index_.shard_of(0), place.offset, file);
    return file;
  }

  // For reads while the dataset is opened: a failure then is not one sample's fault.
  void read_first_time(std::size_t shard, std::uint64_t offset, std::span<std::byte> out) const {
    try {
      if (is_unpacked_[shard]) {
        read_at(unpacked_.get(), offset, out);
      } else {
        read_at(files_.acquire(shard).get(), offset, out);
      }
    } catch (const BadSample& bad) {
      throw BadDataset(text("batchcast: shard {}: {}.", files_[shard].path, bad.what()));
    }
  }

  [[nodiscard]] std::span<const std::byte> array_of(std::size_t part,
                                                    std::span<const std::byte> raw) const {
    const PartSpec& spec = index_.plan.parts[part];
    const std::vector<std::byte>& head = npy_heads_[part];
    const auto data_bytes = static_cast<std::size_t>(*byte_count_of(spec.dtype, spec.shape));
    const bool same = raw.size() >= head.size() + data_bytes &&
                      std::memcmp(raw.data(), head.data(), head.size()) == 0;
    if (same) return raw.subspan(head.size(), data_bytes);
    return unlike_first(spec, raw);
  }

  // Another writer may spell the same array differently.
  static std::span<const std::byte> unlike_first(const PartSpec& spec,
                                                 std::span<const std::byte> raw) {
    NpyHeader header;
    try {
      header = parse_npy_header(raw, text("`{}`", spec.name));
    } catch (const BadDataset& bad) {
      throw BadSample(as_reason(bad.what()));
    }
    if (header.dtype != spec.dtype || header.shape != spec.shape) {
      throw BadSample(text("`{}` is{}, where the first sample's is{}", spec.name,
                           to_text({{}, header.dtype, header.shape}),
                           to_text({{}, spec.dtype, spec.shape})));
    }
    return raw.subspan(header.data_offset, header.data_bytes);
  }

  ShardFiles files_;
  UnpackedFile unpacked_;
  bool labels_are_names_;
  WebdatasetIndex index_;
  std::vector<std::string> remarks_;
  std::vector<bool> is_unpacked_;
  std::size_t shards_unpacked_ = 0;
  std::vector<ClassLabels> labels_;                ///< of each part; of those that are names
  std::vector<std::vector<std::byte>> npy_heads_;  ///< of each part: of its first array
};

}  // namespace

std::unique_ptr<Source> open_webdataset(std::string_view rest, const SourceOptions& options) {
  options.allow({"partial", "unpack", "labels"});
  Webdataset::Options chosen;
  chosen.index.labels_are_names = options.one_of("labels", {"numbers", "names"}) == "names";
  chosen.index.skip_partial = options.one_of("partial", {"error", "skip"}) == "skip";
  if (options.one_of("unpack", {"disk", "memory"}) == "memory") {
    chosen.unpack = UnpackedFile::Place::memory;
  }
  return std::make_unique<Webdataset>(find_shards(rest), chosen);
}

}  // namespace batchcast::inline v0_1::detail
