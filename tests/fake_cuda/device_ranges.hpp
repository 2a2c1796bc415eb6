// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace batchcast::fake_cuda {

struct World;

/// Memory of a device: a memfd whose name says of which and of what session, so that whoever looks
/// through /proc sees what is still there, whatever became of its processes.
struct Memory {
  int descriptor = -1;
  std::uint64_t bytes = 0;
  int physical = 0;  ///< device of the machine
  bool exportable = false;
  std::uint64_t inode = 0;

  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  /// nullptr if there is not that much left, or the settings say so.
  [[nodiscard]] static std::shared_ptr<Memory> make(World& world, int physical, std::uint64_t bytes,
                                                    bool exportable);
  /// A descriptor of such memory that another process made, which stays the caller's; nullptr if it
  /// is none.
  [[nodiscard]] static std::shared_ptr<Memory> take(int descriptor);
};

/// Of all processes of this session, on one device of the machine.
[[nodiscard]] std::uint64_t used_bytes(int physical);

enum class Access { none, read, read_write };

/// The addresses of devices in this process. The host cannot read at such an address, as with a
/// real one: what streams do goes to a second mapping, the alias.
class DeviceRanges {
 public:
  struct Mapping {
    std::shared_ptr<Memory> memory;
    std::uint64_t bytes = 0;
    Access access = Access::none;
  };
  struct Range {
    std::uint64_t bytes = 0;
    std::byte* alias = nullptr;
    unsigned users = 0;                       ///< operations that run on it
    std::map<std::uint64_t, Mapping> mapped;  ///< by offset
    bool is_virtual = false;                  ///< cuMemAddressReserve's
    std::uint64_t opened = 0;                 ///< by cuIpcOpenMemHandle, so often
  };
  using Map = std::map<std::uintptr_t, Range>;

  /// 0 if the host has no addresses left.
  [[nodiscard]] std::uintptr_t reserve(std::uint64_t bytes, std::uint64_t alignment);
  void free(std::uintptr_t base);
  bool map(Range& range, std::uint64_t offset, Mapping mapping);
  void unmap(Range& range, std::uint64_t offset);
  bool set_access(Range& range, std::uint64_t offset, Access access);

  /// In which `address` lies; end() if in none.
  [[nodiscard]] Map::iterator find(std::uintptr_t address);
  /// Whether all of it is mapped, with at least this access.
  enum class Found { no, unmapped, not_allowed, yes };
  struct Place {
    Found found = Found::no;
    std::byte* alias = nullptr;
    Range* range = nullptr;
    int physical = -1;
  };
  [[nodiscard]] Place look(std::uintptr_t address, std::uint64_t bytes, Access access);
  [[nodiscard]] bool overlaps(std::uintptr_t address, std::uint64_t bytes);
  [[nodiscard]] Map& all() { return ranges_; }

 private:
  Map ranges_;
};

}  // namespace batchcast::fake_cuda
