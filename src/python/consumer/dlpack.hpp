// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "python/consumer/tensor_layout.hpp"

#include <batchcast/batch.hpp>

#include <nanobind/nanobind.h>

#include <cstdint>

// Fields as DLPack passes arrays from one framework to another. A capsule holds a C struct, whose
// deleter may run on any thread, without the GIL, and after the interpreter's end.
namespace batchcast::inline v0_1::python {

// The layout is DLPack's (dlpack.h, versions 0.x and 1.x).
struct DlDevice {
  std::int32_t type = 0;
  std::int32_t id = 0;

  friend bool operator==(const DlDevice&, const DlDevice&) = default;
};
inline constexpr std::int32_t dl_cpu = 1;
inline constexpr std::int32_t dl_cuda = 2;

/// Where DLPack has that field. Page-locked host memory is the host's.
[[nodiscard]] DlDevice device_of(const Batch& batch, std::size_t field);

struct CapsuleKind {
  bool versioned = false;  ///< "dltensor_versioned", which can say that it is read-only
  bool copied = false;     ///< separate host memory, writable
  bool as_bytes = false;   ///< legacy ones only: booleans as u8
};

/// A capsule of one field. It keeps the batch's samples until the last array over it is gone.
/// Throws std::bad_alloc.
[[nodiscard]] nanobind::object capsule_of(const Batch& batch, std::size_t field, CapsuleKind kind);

/// A legacy capsule, whose arrays may be written to. A write stays with this process. Booleans are
/// bytes on request, for readers that know none in DLPack.
[[nodiscard]] nanobind::object writable_capsule_of(const Batch& batch, std::size_t field,
                                                   bool bools_as_bytes = false);

}  // namespace batchcast::inline v0_1::python
