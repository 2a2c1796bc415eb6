// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/consumer/consumer_bindings.hpp"

#include <batchcast/core/error.hpp>

#include <exception>
#include <string>
#include <string_view>

namespace nb = nanobind;

namespace batchcast::inline v0_1::python {
namespace {

/// A path in a text may have bytes that are no text: `\xff`.
[[nodiscard]] nb::object made(const char* name, std::string_view text) {
  const nb::object decoded = nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
  if (!decoded.is_valid()) throw nb::python_error();
  return nb::module_::import_("batchcast.errors").attr(name)(decoded);
}

void set(const nb::object& error) { PyErr_SetObject(error.type().ptr(), error.ptr()); }

[[nodiscard]] std::string as_it_is(const std::string& text) { return text; }

/// Sets the exception that `thrown` is; false where it is none of that type.
template <class Exception>
[[nodiscard]] bool translated(const std::exception_ptr& thrown, const char* name,
                              ChangeText change) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Exception& error) {
    const nb::object made_of_it = made(name, change(error.what()));
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
void set_as_python(const std::exception_ptr& thrown, ChangeText change) {
  const bool done = translated<InvalidArgument>(thrown, "InvalidArgument", change) ||
                    translated<SystemError>(thrown, "SystemError", change) ||
                    translated<OutOfMemory>(thrown, "OutOfMemory", change) ||
                    translated<GpuUnavailable>(thrown, "GpuUnavailable", change) ||
                    translated<GpuError>(thrown, "GpuError", change) ||
                    translated<StreamNotFound>(thrown, "StreamNotFound", change) ||
                    translated<StartFailed>(thrown, "StartFailed", change) ||
                    translated<RecipeMismatch>(thrown, "RecipeMismatch", change) ||
                    translated<StreamTaken>(thrown, "StreamTaken", change) ||
                    translated<Refused>(thrown, "Refused", change) ||
                    translated<RingTooSmall>(thrown, "RingTooSmall", change) ||
                    translated<Revoked>(thrown, "Revoked", change) ||
                    translated<GroupBroken>(thrown, "GroupBroken", change) ||
                    translated<Missed>(thrown, "Missed", change) ||
                    translated<BadSample>(thrown, "BadSample", change) ||
                    translated<BadDataset>(thrown, "BadDataset", change) ||
                    translated<Forked>(thrown, "Forked", change) ||
                    translated<ReceiptMismatch>(thrown, "ReceiptMismatch", change) ||
                    translated<StreamFinished>(thrown, "StreamFinished", change) ||
                    translated<Stopped>(thrown, "Stopped", change) ||
                    translated<StreamFailed>(thrown, "StreamFailed", change) ||
                    translated<ProducerGone>(thrown, "ProducerGone", change) ||
                    translated<StreamOver>(thrown, "StreamOver", change) ||
                    translated<Error>(thrown, "Error", change);
  if (!done) std::rethrow_exception(thrown);  // to the next translator
}

void translate(const std::exception_ptr& thrown, void* /*payload*/) {
  set_as_python(thrown, as_it_is);
}

}  // namespace

void add_errors(nb::module_& /*module*/) { nb::register_exception_translator(translate); }

void raise_changed(const std::exception_ptr& thrown, ChangeText change) {
  set_as_python(thrown, change);
  throw nb::python_error();
}

void raise(const char* name, const std::string& text) {
  set(made(name, text));
  throw nb::python_error();
}

}  // namespace batchcast::inline v0_1::python
