// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/consumer/dlpack.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace nb = nanobind;

namespace batchcast::inline v0_1::python {
namespace {

struct DlType {
  std::uint8_t code = 0;
  std::uint8_t bits = 0;
  std::uint16_t lanes = 1;
};

struct DlTensor {
  void* data = nullptr;
  DlDevice device;
  std::int32_t dimensions = 0;
  DlType type;
  std::int64_t* shape = nullptr;
  std::int64_t* strides = nullptr;  ///< in elements
  std::uint64_t byte_offset = 0;
};

struct Legacy {
  static constexpr const char* name = "dltensor";
  DlTensor tensor;
  void* context = nullptr;
  void (*deleter)(Legacy*) = nullptr;
};

struct Versioned {
  static constexpr const char* name = "dltensor_versioned";
  std::uint32_t major = 1;
  std::uint32_t minor = 1;
  void* context = nullptr;
  void (*deleter)(Versioned*) = nullptr;
  std::uint64_t flags = 0;
  DlTensor tensor;
};
constexpr std::uint64_t flag_read_only = 1;
constexpr std::uint64_t flag_copied = 2;

[[nodiscard]] DlType type_of(DType dtype) noexcept {
  enum Code : std::uint8_t { signed_int = 0, unsigned_int = 1, real = 2, bfloat = 4, boolean = 6 };
  const auto bits = static_cast<std::uint8_t>(8 * size_of(dtype));
  switch (dtype) {
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
      return {signed_int, bits};
    case DType::f16:
    case DType::f32:
    case DType::f64:
      return {real, bits};
    case DType::bf16:
      return {bfloat, bits};
    case DType::boolean:
      return {boolean, bits};
    default:
      return {unsigned_int, bits};
  }
}

/// A capsule's one piece of memory: the struct, what keeps its memory, then shape and strides.
template <class Managed>
struct Export {
  Managed managed;
  Batch batch;             ///< the lease; none of a copy
  void* copied = nullptr;  ///< a copy's memory

  [[nodiscard]] std::int64_t* numbers() noexcept {
    return reinterpret_cast<std::int64_t*>(this + 1);
  }
  static void destroy(Managed* managed) {
    auto* const it = static_cast<Export*>(managed->context);
    std::free(it->copied);
    it->~Export();
    std::free(it);
  }
};

template <class Managed>
void destroy_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, Managed::name) == 0) return;  // its taker deletes it
  auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Managed::name));
  managed->deleter(managed);
}

/// The samples without gaps, in separate memory.
[[nodiscard]] void* copy_of(const Layout& layout) {
  constexpr std::size_t alignment = 64;
  const std::size_t bytes = layout.samples * layout.info.sample_bytes;
  void* const copy = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
  if (copy == nullptr) throw std::bad_alloc();
  if (layout.contiguous()) {
    std::memcpy(copy, layout.data, bytes);
    return copy;
  }
  for (std::size_t i = 0; i < layout.samples; ++i) {
    std::memcpy(static_cast<std::byte*>(copy) + i * layout.info.sample_bytes,
                layout.data + i * layout.stride_bytes, layout.info.sample_bytes);
  }
  return copy;
}

void fill(DlTensor& tensor, const Layout& layout, DlDevice device, bool copied,
          std::int64_t* numbers) {
  const std::size_t dimensions = layout.dimensions();
  tensor.data = layout.data;
  tensor.device = device;
  tensor.dimensions = static_cast<std::int32_t>(dimensions);
  tensor.type = type_of(layout.info.spec.dtype);
  tensor.shape = numbers;
  tensor.strides = numbers + dimensions;
  tensor.shape[0] = static_cast<std::int64_t>(layout.samples);
  for (std::size_t i = 1; i < dimensions; ++i) tensor.shape[i] = layout.info.spec.shape[i - 1];
  std::int64_t stride = 1;
  for (std::size_t i = dimensions - 1; i > 0; --i) {
    tensor.strides[i] = stride;
    stride *= tensor.shape[i];
  }
  if (!copied && !layout.contiguous()) {
    stride = static_cast<std::int64_t>(layout.stride_bytes / size_of(layout.info.spec.dtype));
  }
  tensor.strides[0] = stride;
}

template <class Managed>
[[nodiscard]] Managed* new_export(const Batch& batch, std::size_t field, bool copied) {
  const Layout layout = layout_of(batch, field);
  using It = Export<Managed>;
  void* const memory = std::malloc(sizeof(It) + 2 * layout.dimensions() * sizeof(std::int64_t));
  if (memory == nullptr) throw std::bad_alloc();
  std::unique_ptr<void, void (*)(void*)> held(memory, std::free);
  void* const copy = copied ? copy_of(layout) : nullptr;
  auto* const it = new (memory) It{{}, copied ? Batch() : batch.share(), copy};
  static_cast<void>(held.release());
  fill(it->managed.tensor, layout, device_of(batch, field), copied, it->numbers());
  if (copied) it->managed.tensor.data = copy;
  it->managed.context = it;
  it->managed.deleter = &It::destroy;
  return &it->managed;
}

template <class Managed>
[[nodiscard]] nb::object capsule_around(Managed* managed) {
  PyObject* const capsule = PyCapsule_New(managed, Managed::name, destroy_capsule<Managed>);
  if (capsule != nullptr) return nb::steal(capsule);
  managed->deleter(managed);
  throw nb::python_error();
}

}  // namespace

DlDevice device_of(const Batch& batch, std::size_t field) {
  if (!batch.fields()[field].on_device) return {dl_cpu, 0};
  return {dl_cuda, static_cast<std::int32_t>(batch.placement().device())};
}

nb::object capsule_of(const Batch& batch, std::size_t field, CapsuleKind kind) {
  if (!kind.versioned) {
    Legacy* const managed = new_export<Legacy>(batch, field, kind.copied);
    const bool is_bool = batch.fields()[field].spec.dtype == DType::boolean;
    if (kind.as_bytes && is_bool) managed->tensor.type = type_of(DType::u8);
    return capsule_around(managed);
  }
  Versioned* const managed = new_export<Versioned>(batch, field, kind.copied);
  if (kind.copied) {
    managed->flags = flag_copied;
  } else if (!batch.writable()) {
    managed->flags = flag_read_only;
  }
  return capsule_around(managed);
}

nb::object writable_capsule_of(const Batch& batch, std::size_t field, bool bools_as_bytes) {
  const bool copied = !batch.keeps_writes() && !batch.fields()[field].on_device;
  return capsule_of(batch, field,
                    {.versioned = false, .copied = copied, .as_bytes = bools_as_bytes});
}

}  // namespace batchcast::inline v0_1::python
