// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/webdataset/tar.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/printable.hpp>

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/source/known_format.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::size_t read_bytes_min = 4096;
constexpr std::size_t read_bytes_max = 256 * 1024;
constexpr std::uint64_t block_bytes = 512;
constexpr std::uint64_t looked_at_after_end = 1 << 20;

// libarchive's view of a shard. After each skip it reads little at first: of large members only the
// headers are wanted.
struct Input {
  int fd;
  std::uint64_t byte_count;
  std::uint64_t position = 0;
  std::size_t next_bytes = read_bytes_max;
  std::vector<std::byte> buffer = std::vector<std::byte>(read_bytes_max);

  static la_ssize_t read(archive* reader, void* self, const void** out) {
    Input& input = *static_cast<Input*>(self);
    ssize_t got = -1;
    do {
      got = ::pread(input.fd, input.buffer.data(), input.next_bytes,
                    static_cast<off_t>(input.position));
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
      archive_set_error(reader, errno, "cannot read it: error %d", errno);
      return ARCHIVE_FATAL;
    }
    input.position += static_cast<std::uint64_t>(got);
    input.next_bytes = std::min(2 * input.next_bytes, read_bytes_max);
    *out = input.buffer.data();
    return got;
  }

  static la_int64_t skip(archive*, void* self, la_int64_t request) {
    Input& input = *static_cast<Input*>(self);
    const std::uint64_t left =
        input.byte_count > input.position ? input.byte_count - input.position : 0;
    const std::uint64_t skipped = std::min(left, static_cast<std::uint64_t>(request));
    input.position += skipped;
    input.next_bytes = read_bytes_min;
    return static_cast<la_int64_t>(skipped);
  }
};

// libarchive converts names to the thread's locale. In this one they stay bytes.
class PlainLocale {
 public:
  PlainLocale() : plain_(::newlocale(LC_ALL_MASK, "C", nullptr)), before_(::uselocale(plain_)) {}
  ~PlainLocale() {
    ::uselocale(before_);
    if (plain_ != nullptr) ::freelocale(plain_);
  }
  PlainLocale(const PlainLocale&) = delete;
  PlainLocale& operator=(const PlainLocale&) = delete;

 private:
  locale_t plain_;
  locale_t before_;
};

struct FreeReader {
  void operator()(archive* reader) const noexcept { archive_read_free(reader); }
};

class Walk {
 public:
  Walk(const TarShard& shard, TarVisitor& visitor, UnpackedFile& unpacked)
      : shard_(shard),
        visitor_(visitor),
        unpacked_(unpacked),
        input_{shard.fd, shard.byte_count},
        reader_(archive_read_new()) {
    if (reader_ == nullptr) throw OutOfMemory("batchcast: no memory for a tar reader");
  }

  TarFacts run() {
    if (shard_.byte_count == 0) refuse(0, "the file is empty");
    refuse_other_formats();
    open();
    for (;;) {
      archive_entry* entry = nullptr;
      const int status = archive_read_next_header(reader_.get(), &entry);
      if (status == ARCHIVE_EOF) break;
      // A warning is about what does not matter here: an owner, a date, the name's characters.
      if (status != ARCHIVE_OK && status != ARCHIVE_WARN) refuse_as_libarchive_says();
      facts_.compressed = archive_filter_code(reader_.get(), 0) != ARCHIVE_FILTER_NONE;
      take(entry);
    }
    check_end();
    return facts_;
  }

 private:
  [[noreturn]] void refuse(std::uint64_t position, const std::string& why) const {
    throw BadDataset(text("batchcast: shard {}, at byte {}{}{}", shard_.name, position,
                          facts_.compressed ? " of what is unpacked: " : ": ", printable(why)));
  }

  [[noreturn]] void refuse_as_libarchive_says() const {
    const char* const text = archive_error_string(reader_.get());
    refuse(header_position(), text != nullptr ? text : "it is not a readable tar");
  }

  void refuse_other_formats() const {
    std::array<std::byte, 64> head{};
    const ssize_t got = ::pread(shard_.fd, head.data(), head.size(), 0);
    const auto format = known_format(std::span(head).first(got > 0 ? std::size_t(got) : 0));
    if (!format || *format == KnownFormat::gzip || *format == KnownFormat::zstandard) return;
    const std::string unpack = unpacking_command(*format, shard_.name);
    refuse(0, text("it is {}. Shards are .tar, .tar.gz or .tar.zst: {}", description_of(*format),
                   unpack.empty() ? "unpack it into a folder and pack that with tar --sort=name"
                                  : unpack));
  }

  // Where the last header begins, or where reading ended if that was fatal.
  [[nodiscard]] std::uint64_t header_position() const {
    const la_int64_t header = archive_read_header_position(reader_.get());
    return header >= 0 ? static_cast<std::uint64_t>(header) : position();
  }

  // Bytes of the tar itself that libarchive has gone past.
  [[nodiscard]] std::uint64_t position() const {
    return static_cast<std::uint64_t>(
        std::max<la_int64_t>(0, archive_filter_bytes(reader_.get(), 0)));
  }

  void open() {
    archive* const reader = reader_.get();
    archive_read_support_format_tar(reader);
    archive_read_support_filter_gzip(reader);
    archive_read_support_filter_zstd(reader);
    archive_read_set_read_callback(reader, &Input::read);
    archive_read_set_skip_callback(reader, &Input::skip);
    archive_read_set_callback_data(reader, &input_);
    if (archive_read_open1(reader) != ARCHIVE_OK) refuse_as_libarchive_says();
  }

  void take(archive_entry* entry) {
    const std::uint64_t header = header_position();
    // Where a member's length on disk is not what its header says, libarchive and this index would
    // take different bytes for the next one.
    if (header != expected_header_)
      refuse(header, "a header that is not where the last member ends");
    if (archive_entry_sparse_count(entry) > 0) refuse(header, "a sparse member; pack it whole");
    const std::uint64_t offset = position();
    const la_int64_t signed_size = archive_entry_size(entry);
    if (signed_size < 0) refuse(header, "a member of negative size");
    const auto size = static_cast<std::uint64_t>(signed_size);
    if (!facts_.compressed && (offset > shard_.byte_count || size > shard_.byte_count - offset)) {
      refuse(offset, text("cut off: a member of {} bytes begins here, but the file ends at byte {}",
                          size, shard_.byte_count));
    }
    // Sizes that do not fit in memory cannot be members of a compressed tar either.
    if (size > UINT64_MAX / 4) refuse(header, "a member of impossible size");
    expected_header_ = offset + (size + block_bytes - 1) / block_bytes * block_bytes;

    const char* const path = archive_entry_pathname(entry);
    if (path == nullptr) return;
    const std::string_view name = without_dot(path);
    // libarchive takes a hard link for a file where its header states a size. In pax its bytes
    // follow. In older tars they do not, and libarchive makes the size 0.
    const auto type = archive_entry_filetype(entry);
    const char* const target = archive_entry_hardlink(entry);
    if (type == AE_IFREG && (target == nullptr || size > 0)) {
      if (!visitor_.wants(name)) return;
      visitor_.visit({name, facts_.compressed ? unpack(size) : offset, size});
    } else if (target != nullptr) {
      if (visitor_.wants(name)) visitor_.link(name, without_dot(target));
    } else if (type == AE_IFLNK) {
      visitor_.pass_symbolic_link(name);
    }
  }

  static std::string_view without_dot(std::string_view name) {
    while (name.starts_with("./")) name.remove_prefix(2);
    return name;
  }

  std::uint64_t unpack(std::uint64_t size) {
    unpacked_.align();
    const std::uint64_t begin = unpacked_.byte_count();
    for (;;) {
      const void* bytes = nullptr;
      std::size_t byte_count = 0;
      la_int64_t offset = 0;
      const int status = archive_read_data_block(reader_.get(), &bytes, &byte_count, &offset);
      if (status == ARCHIVE_EOF) break;
      if (status != ARCHIVE_OK) refuse_as_libarchive_says();
      if (static_cast<std::uint64_t>(offset) != unpacked_.byte_count() - begin) {
        refuse(header_position(), "a sparse member; pack it whole");
      }
      unpacked_.append({static_cast<const std::byte*>(bytes), byte_count});
    }
    if (unpacked_.byte_count() - begin != size) refuse(header_position(), "a member is cut off");
    return begin;
  }

  // libarchive takes the end of the file for the end of the tar: a shard that lost its last members
  // would look whole.
  void check_end() {
    const std::uint64_t end = position();
    if (end < expected_header_ + block_bytes) {
      refuse(end, text("it ends without an end mark: cut off, or its writer was not closed. If it "
                       "is known to be whole: truncate -s +1024 {}",
                       shard_.name));
    }
    facts_.end = end;
    if (!facts_.compressed) facts_.more_after_end = any_after(end);
  }

  [[nodiscard]] bool any_after(std::uint64_t at) const {
    std::array<std::byte, 4096> bytes;
    const std::uint64_t stop = std::min(shard_.byte_count, at + looked_at_after_end);
    while (at < stop) {
      const auto wanted = std::min<std::uint64_t>(bytes.size(), stop - at);
      const ssize_t got = ::pread(shard_.fd, bytes.data(), wanted, static_cast<off_t>(at));
      if (got <= 0) return false;
      if (std::any_of(bytes.cbegin(), bytes.cbegin() + got,
                      [](std::byte b) { return b != std::byte{0}; }))
        return true;
      at += static_cast<std::uint64_t>(got);
    }
    return false;
  }

  const TarShard& shard_;
  TarVisitor& visitor_;
  UnpackedFile& unpacked_;
  Input input_;
  std::unique_ptr<archive, FreeReader> reader_;
  TarFacts facts_;
  std::uint64_t expected_header_ = 0;
};

}  // namespace

TarFacts walk_tar(const TarShard& shard, TarVisitor& visitor, UnpackedFile& unpacked) {
  const PlainLocale plain;
  return Walk(shard, visitor, unpacked).run();
}

}  // namespace batchcast::inline v0_1::detail
