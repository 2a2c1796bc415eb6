// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/cache/cache_directory.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

namespace fs = std::filesystem;

constexpr const char* suffix = ".segment";
constexpr const char* index_suffix = ".index";
constexpr long tmpfs_magic = 0x01021994;

/// The name of a file system on which locks of one machine may not hold; empty for others.
std::string network_of(int folder) {
  constexpr std::array<std::pair<unsigned long, const char*>, 8> known = {{{0x6969, "NFS"},
                                                                           {0xFF534D42, "CIFS"},
                                                                           {0xFE534D42, "SMB"},
                                                                           {0x517B, "SMB"},
                                                                           {0x0BD00BD0, "Lustre"},
                                                                           {0x47504653, "GPFS"},
                                                                           {0x19830326, "BeeGFS"},
                                                                           {0x00C36400, "Ceph"}}};
  struct statfs status = {};
  if (::fstatfs(folder, &status) != 0) return {};
  for (const auto& [magic, name] : known) {
    if ((static_cast<unsigned long>(status.f_type) & 0xFFFFFFFFUL) == magic) return name;
  }
  return {};
}

std::string random_name() {
  std::array<unsigned char, 8> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw SystemError("batchcast: random numbers for a cache's file", errno);
  }
  std::string name;
  for (const unsigned char byte : bytes) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", byte);
    name += digits.data();
  }
  return name + suffix;
}

}  // namespace

CacheDirectory::Lock::Lock(int file) noexcept : file_(file) {
  while (::flock(file_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

CacheDirectory::Lock::~Lock() { ::flock(file_, LOCK_UN); }

CacheDirectory::CacheDirectory(std::string path, Missing missing) : path_(std::move(path)) {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  if (missing == Missing::make && ::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) {
    throw SystemError(text("batchcast: the cache's directory {} cannot be made", path_), errno);
  }
  folder_ = FileDescriptor(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder_) {
    throw SystemError(text("batchcast: the cache's directory {} cannot be opened", path_), errno);
  }
  check_place();
  const bool makes_lock = missing == Missing::make || !names().empty();
  lock_ = FileDescriptor(::openat(
      folder_.get(), "lock", O_RDWR | (makes_lock ? O_CREAT : 0) | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock_ && !makes_lock && errno == ENOENT) {
    throw InvalidArgument(text(
        "batchcast: no cache lies in {}. Name the directory of a `--cache SIZE:DIR`; the first "
        "stream that is served with it makes one there.",
        path_));
  }
  if (!lock_) {
    throw SystemError(text("batchcast: the lock of the cache {} cannot be opened", path_), errno);
  }
}

void CacheDirectory::check_place() const {
  struct stat status = {};
  if (::fstat(folder_.get(), &status) != 0) {
    throw SystemError(text("batchcast: the cache's directory {}", path_), errno);
  }
  if (status.st_uid != ::geteuid()) {
    throw InvalidArgument(
        text("batchcast: the cache's directory {} belongs to the user {}, and is one user's own. "
             "Name another one.",
             path_, status.st_uid));
  }
  if ((status.st_mode & 077U) != 0) {
    throw InvalidArgument(
        text("batchcast: other users may enter the cache's directory {}. Name one that does not "
             "exist yet, or close it: chmod 700 {}",
             path_, path_));
  }
  if (const std::string network = network_of(folder_.get()); !network.empty()) {
    throw InvalidArgument(
        text("batchcast: the cache's directory {} is on a network ({}). Name one on a disk of this "
             "machine.",
             path_, network));
  }
}

std::vector<std::string> CacheDirectory::names() const {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator it(path_, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    if (name.ends_with(suffix)) found.push_back(std::move(name));
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::unique_ptr<Segment> CacheDirectory::open(const std::string& name) const {
  FileDescriptor file(
      ::openat(folder_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status = {};
  if (!file || ::fstat(file.get(), &status) != 0) return nullptr;
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) return nullptr;
  return std::make_unique<Segment>(path_of(name), std::move(file));
}

std::unique_ptr<Segment> CacheDirectory::create() const {
  const std::string name = random_name();
  FileDescriptor file(::openat(folder_.get(), name.c_str(),
                               O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    throw SystemError(text("batchcast: a file of the cache {} cannot be made", path_), errno);
  }
  auto segment = std::make_unique<Segment>(path_of(name), std::move(file));
  if (!segment->write_head()) {
    const int failure = errno;
    remove(name);
    throw SystemError(text("batchcast: a file of the cache {} cannot be written", path_), failure);
  }
  return segment;
}

std::uint64_t CacheDirectory::bytes() const {
  std::uint64_t sum = 0;
  for (const std::string& name : names()) {
    struct stat status = {};
    if (::fstatat(folder_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    sum += static_cast<std::uint64_t>(status.st_size);
  }
  return sum;
}

bool CacheDirectory::is_in_use(const std::string& name) const {
  const std::unique_ptr<Segment> segment = open(name);
  return segment != nullptr && ::flock(segment->get(), LOCK_SH | LOCK_NB) != 0 &&
         errno == EWOULDBLOCK;
}

void CacheDirectory::trim(const std::string& name) const {
  const std::unique_ptr<Segment> segment = open(name);
  if (segment == nullptr || ::flock(segment->get(), LOCK_SH | LOCK_NB) != 0) return;
  SegmentIndex index;
  if (segment->is_segment()) {
    const auto known = index_of(name, *segment);
    if (known && known->end == segment->file_bytes()) return;
    segment->scan(true, [&index](const Fingerprint& key, const RecordPlace& place) {
      index.records.push_back({key, place.offset, place.byte_count});
    });
    index.end = segment->scanned();
  } else if (segment->file_bytes() > segment_head_bytes) {
    return;  // of another version, or not ours
  }
  if (index.records.empty()) return remove(name);
  write_index(folder_.get(), name + index_suffix, index);
  if (segment->scanned() >= segment->file_bytes()) return;
  const FileDescriptor file(
      ::openat(folder_.get(), name.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file) static_cast<void>(::ftruncate(file.get(), static_cast<off_t>(segment->scanned())) == 0);
}

std::optional<SegmentIndex> CacheDirectory::index_of(const std::string& name,
                                                     const Segment& segment) const {
  return read_index(folder_.get(), name + index_suffix, segment.file_bytes());
}

void CacheDirectory::remove(const std::string& name) const noexcept {
  ::unlinkat(folder_.get(), name.c_str(), 0);
  try {
    ::unlinkat(folder_.get(), (name + index_suffix).c_str(), 0);
  } catch (const std::bad_alloc&) {
    return;  // an index without its segment is not read
  }
}

std::uint64_t memory_to_come(const CacheOptions& cache) {
  std::string path = cache.directory;
  struct statfs status = {};
  while (::statfs(path.c_str(), &status) != 0) {
    // It is still to be made.
    const std::size_t slash = path.find_last_of('/');
    if (errno != ENOENT || slash == std::string::npos || slash == 0) return 0;
    path.resize(slash);
  }
  if (static_cast<long>(status.f_type) != tmpfs_magic) return 0;
  std::uint64_t taken = 0;
  std::error_code error;
  for (fs::directory_iterator it(cache.directory, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() != suffix) continue;
    std::error_code ignored;
    const std::uint64_t bytes = it->file_size(ignored);
    if (!ignored) taken += bytes;
  }
  return cache.bytes > taken ? cache.bytes - taken : 0;
}

}  // namespace batchcast::inline v0_1::detail
