// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/webdataset/shard_files.hpp"

#include <batchcast/core/error.hpp>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::size_t pending_bytes = 1 << 20;
constexpr std::size_t shards_open_max = 1024;
// With O_NONBLOCK a pipe does not make us wait for its other end.
constexpr int open_flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

std::string message_of(int error_number) { return std::generic_category().message(error_number); }

// A quarter of the files that the process may open: the program needs the rest.
std::size_t files_to_keep_open() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 64;
  const std::size_t quarter = static_cast<std::size_t>(limit.rlim_cur) / 4;
  return std::clamp<std::size_t>(quarter, 16, shards_open_max);
}

}  // namespace

void read_at(int fd, std::uint64_t offset, std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t got = ::pread(fd, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw BadSample(text("cannot read its shard: {}", message_of(errno)));
    if (got == 0) {
      throw BadSample(text("its shard ends at byte {}: it was longer when it was indexed", offset));
    }
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

UnpackedFile::~UnpackedFile() {
  if (!mapped_.empty()) ::munmap(const_cast<std::byte*>(mapped_.data()), mapped_.size());
}

void UnpackedFile::open() {
  if (place_ == Place::memory) {
    folder_ = "memory";
    file_ = FileDescriptor(::memfd_create("batchcast-unpacked", MFD_CLOEXEC));
    if (!file_) throw SystemError("batchcast: memfd_create", errno);
    return;
  }
  const char* const chosen = ::getenv("TMPDIR");
  folder_ = chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
  file_ = FileDescriptor(::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file_) return;
  // Some file systems have no O_TMPFILE.
  std::string name = folder_ + "/batchcast-XXXXXX";
  file_ = FileDescriptor(::mkostemp(name.data(), O_CLOEXEC));
  if (!file_) {
    throw SystemError(text("batchcast: cannot unpack into {} (TMPDIR chooses another)", folder_),
                      errno);
  }
  ::unlink(name.c_str());
}

void UnpackedFile::write_out() {
  std::span<const std::byte> left = pending_;
  while (!left.empty()) {
    const ssize_t put = ::write(file_.get(), left.data(), left.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      throw SystemError(text("batchcast: cannot unpack more than {} bytes into {} (TMPDIR chooses "
                             "another place; uncompressed shards need none)",
                             byte_count_ - left.size(), folder_),
                        errno);
    }
    left = left.subspan(static_cast<std::size_t>(put));
  }
  pending_.clear();
}

void UnpackedFile::append(std::span<const std::byte> bytes) {
  if (!file_) open();
  pending_.insert(pending_.end(), bytes.begin(), bytes.end());
  byte_count_ += bytes.size();
  if (pending_.size() >= pending_bytes) write_out();
}

void UnpackedFile::align() {
  constexpr std::array<std::byte, 8> zeros{};
  append(std::span(zeros).first(static_cast<std::size_t>(-byte_count_ % zeros.size())));
}

void UnpackedFile::finish() {
  write_out();
  pending_.shrink_to_fit();
  if (place_ != Place::memory || byte_count_ == 0) return;
  void* const at = ::mmap(nullptr, byte_count_, PROT_READ, MAP_SHARED, file_.get(), 0);
  if (at == MAP_FAILED) throw SystemError("batchcast: mmap of what was unpacked", errno);
  mapped_ = {static_cast<const std::byte*>(at), byte_count_};
}

ShardFiles::ShardFiles(std::vector<std::string> paths)
    : open_max_(files_to_keep_open()), all_open_(paths.size() <= open_max_), open_(paths.size()) {
  shards_.reserve(paths.size());
  for (std::string& path : paths) {
    std::string name = std::filesystem::path(path).filename().native();
    // Shards may be opened again after the user's program has changed its folder.
    std::error_code folder_is_gone;
    std::string absolute = std::filesystem::absolute(path, folder_is_gone).native();
    if (folder_is_gone) absolute = std::move(path);
    shards_.push_back({std::move(absolute), std::move(name), 0});
  }
}

FileDescriptor ShardFiles::open_first(std::size_t shard) {
  FileDescriptor file(::open(shards_[shard].path.c_str(), open_flags));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    throw BadDataset(
        text("batchcast: cannot open shard {}: {}", shards_[shard].path, message_of(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    throw BadDataset(text("batchcast: shard {} is not a regular file", shards_[shard].path));
  }
  shards_[shard].byte_count = static_cast<std::uint64_t>(status.st_size);
  return file;
}

void ShardFiles::keep(std::size_t shard, FileDescriptor file) {
  if (!all_open_ && opened_.size() >= open_max_) return;
  open_[shard] = std::make_shared<const FileDescriptor>(std::move(file));
  opened_.push_back(shard);
}

ShardFiles::Lease ShardFiles::acquire(std::size_t shard) const {
  if (all_open_) return {open_[shard]->get(), nullptr};
  std::shared_ptr<const FileDescriptor> file;
  {
    const std::scoped_lock lock(mutex_);
    file = open_[shard];
  }
  if (!file) file = reopen(shard);
  return {file->get(), file};
}

// The lock is not held: opening may take milliseconds. Two threads may open the same shard; the
// later descriptor replaces the earlier one.
std::shared_ptr<const FileDescriptor> ShardFiles::reopen(std::size_t shard) const {
  auto file =
      std::make_shared<const FileDescriptor>(::open(shards_[shard].path.c_str(), open_flags));
  struct stat status {};
  if (!*file || ::fstat(file->get(), &status) != 0) {
    // This is not the sample's fault: it would be substituted in one run and not in another.
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
      throw SystemError("batchcast: a shard of the dataset cannot be opened", errno);
    }
    throw BadSample(text("cannot open its shard: {}", message_of(errno)));
  }
  if (static_cast<std::uint64_t>(status.st_size) != shards_[shard].byte_count) {
    throw BadSample("its shard has another size than when it was indexed");
  }
  const std::scoped_lock lock(mutex_);
  if (!open_[shard]) {
    if (opened_.size() >= open_max_) {
      open_[opened_.front()].reset();
      opened_.pop_front();
    }
    opened_.push_back(shard);
  }
  open_[shard] = file;
  return file;
}

}  // namespace batchcast::inline v0_1::detail
