// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/consumer/bindings.hpp"

#include <batchcast/core/error.hpp>

#include <exception>

namespace nb = nanobind;

namespace batchcast::python {
namespace {

/// Raises batchcast.errors.NAME with the text of `error`.
void raise(const char* name, const std::exception& error) {
  const nb::object type = nb::module_::import_("batchcast.errors").attr(name);
  PyErr_SetString(type.ptr(), error.what());
}

/// A type before its bases: the first handler that fits is taken.
void translate(const std::exception_ptr& thrown, void* /*payload*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const StreamNotFound& error) {
    raise("StreamNotFound", error);
  } catch (const InvalidArgument& error) {
    raise("InvalidArgument", error);
  } catch (const StreamFinished& error) {
    raise("StreamFinished", error);
  } catch (const Error& error) {
    raise("Error", error);
  }
}

}  // namespace

void add_errors(nb::module_& /*module*/) { nb::register_exception_translator(translate); }

}  // namespace batchcast::python
