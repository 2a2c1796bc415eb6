// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/consumer/bindings.hpp"

#include <batchcast/core/error.hpp>

#include <exception>
#include <string_view>

namespace nb = nanobind;

namespace batchcast::inline v0_1::python {
namespace {

/// Paths in a text may have bytes that are none: `\xff`.
[[nodiscard]] nb::object made(const char* name, std::string_view text) {
  const nb::object decoded = nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
  if (!decoded.is_valid()) throw nb::python_error();
  return nb::module_::import_("batchcast.errors").attr(name)(decoded);
}

void set(const nb::object& error) { PyErr_SetObject(error.type().ptr(), error.ptr()); }

/// Sets the exception that `thrown` is; false where it is none of that type.
template <class Exception>
[[nodiscard]] bool translated(const std::exception_ptr& thrown, const char* name) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Exception& error) {
    const nb::object made_of_it = made(name, error.what());
    if constexpr (std::is_same_v<Exception, SystemError>) {
      made_of_it.attr("errno") = error.code();
    }
    set(made_of_it);
    return true;
  } catch (...) {
    return false;
  }
}

/// A type before its bases: the first that fits is taken.
void translate(const std::exception_ptr& thrown, void* /*payload*/) {
  const bool done =
      translated<InvalidArgument>(thrown, "InvalidArgument") ||
      translated<SystemError>(thrown, "SystemError") ||
      translated<OutOfMemory>(thrown, "OutOfMemory") ||
      translated<GpuUnavailable>(thrown, "GpuUnavailable") ||
      translated<GpuError>(thrown, "GpuError") ||
      translated<StreamNotFound>(thrown, "StreamNotFound") ||
      translated<StartFailed>(thrown, "StartFailed") ||
      translated<RecipeMismatch>(thrown, "RecipeMismatch") ||
      translated<StreamTaken>(thrown, "StreamTaken") || translated<Refused>(thrown, "Refused") ||
      translated<RingTooSmall>(thrown, "RingTooSmall") || translated<Revoked>(thrown, "Revoked") ||
      translated<GroupBroken>(thrown, "GroupBroken") || translated<Missed>(thrown, "Missed") ||
      translated<BadSample>(thrown, "BadSample") || translated<BadDataset>(thrown, "BadDataset") ||
      translated<Forked>(thrown, "Forked") ||
      translated<ReceiptMismatch>(thrown, "ReceiptMismatch") ||
      translated<StreamFinished>(thrown, "StreamFinished") ||
      translated<Stopped>(thrown, "Stopped") || translated<StreamFailed>(thrown, "StreamFailed") ||
      translated<ProducerGone>(thrown, "ProducerGone") ||
      translated<StreamOver>(thrown, "StreamOver") || translated<Error>(thrown, "Error");
  if (!done) std::rethrow_exception(thrown);  // to the next translator
}

}  // namespace

void add_errors(nb::module_& /*module*/) { nb::register_exception_translator(translate); }

void raise(const char* name, const std::string& text) {
  set(made(name, text));
  throw nb::python_error();
}

}  // namespace batchcast::inline v0_1::python
