// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/consumer/call_arguments.hpp"

#include <batchcast/core/bytes_in.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/nearest_name.hpp>
#include <batchcast/core/text.hpp>

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace nb = nanobind;

namespace batchcast::inline v0_1::python {

namespace {

/// A path may have bytes that are no text.
[[nodiscard]] nb::object path_of(const std::string& path) {
  const auto size = static_cast<Py_ssize_t>(path.size());
  return nb::steal(PyUnicode_DecodeFSDefaultAndSize(path.data(), size));
}

/// Whether it asks for anything.
[[nodiscard]] bool is_asked_for(nb::handle value) {
  if (!value.is_valid() || value.is_none()) return false;
  const int is_true = PyObject_IsTrue(value.ptr());
  if (is_true < 0) PyErr_Clear();  // an array of several values has no truth
  return is_true != 0;
}

// ---- the parts of a tuple, each with its place in errors

[[nodiscard]] nb::tuple parts_of(const Argument& it, std::size_t count, const char* wanted) {
  if (PySequence_Check(it.value.ptr()) == 0) it.refuse_type(wanted);
  nb::tuple parts = it.items();
  if (parts.size() == count) return parts;
  raise("WrongType",
        text("batchcast: {} has to be {}, not one of {} items", it.name, wanted, parts.size()));
}

[[nodiscard]] std::string axis_in(const Argument& it, const nb::tuple& parts) {
  const std::string place = text("{}[0]", it.name);
  return Argument{place.c_str(), parts[0]}.text();
}

[[nodiscard]] std::uint64_t count_in(const Argument& it, const nb::tuple& parts, std::size_t i) {
  constexpr std::uint64_t most = 9'000'000'000'000'000;  // of what AXIS=ROWS reads
  const std::string place = text("{}[{}]", it.name, i);
  const std::uint64_t count = Argument{place.c_str(), parts[i]}.number(most, 1);
  if (count == 0) Argument{place.c_str(), parts[i]}.refuse(text("0 is not from 1 to {}.", most));
  return count;
}

}  // namespace

// ---- one argument

void Argument::refuse_type(const char* wanted) const {
  const char* const kind = is_none() ? "None" : Py_TYPE(value.ptr())->tp_name;
  raise("WrongType", batchcast::text("batchcast: {} has to be {}, not {}", name, wanted, kind));
}

void Argument::refuse(const std::string& why) const {
  throw InvalidArgument(batchcast::text("batchcast: {}: {}", name, why));
}

std::string Argument::text() const {
  if (!PyUnicode_Check(value.ptr())) refuse_type("a str");
  Py_ssize_t bytes = 0;
  const char* const utf8 = PyUnicode_AsUTF8AndSize(value.ptr(), &bytes);
  if (utf8 == nullptr) {
    PyErr_Clear();
    refuse("this text has a lone surrogate, which is no character and has no bytes.");
  }
  return {utf8, static_cast<std::size_t>(bytes)};
}

std::string Argument::path() const {
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(value.ptr(), &bytes) == 0) {
    const bool is_encoding = PyErr_ExceptionMatches(PyExc_UnicodeError) != 0;
    if (!is_encoding) throw nb::python_error();
    PyErr_Clear();
    refuse("this path has a lone surrogate, which is no character and has no bytes.");
  }
  const nb::bytes held = nb::steal<nb::bytes>(bytes);
  return {held.c_str(), held.size()};
}

std::uint64_t Argument::number(std::uint64_t most, std::uint64_t least) const {
  if (PyIndex_Check(value.ptr()) == 0 || PyBool_Check(value.ptr())) refuse_type("an int");
  const nb::object whole = nb::steal(PyNumber_Index(value.ptr()));
  if (!whole.is_valid()) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw nb::python_error();
    PyErr_Clear();  // of an array of several values
    refuse_type("an int");
  }
  const unsigned long long number = PyLong_AsUnsignedLongLong(whole.ptr());
  const bool fits = PyErr_Occurred() == nullptr;
  PyErr_Clear();
  if (!fits || number > most) {
    const nb::str shown(whole);
    const bool has_limit = most != std::numeric_limits<std::uint64_t>::max();
    const bool is_negative = shown.c_str()[0] == '-';
    refuse(has_limit || !is_negative
               ? batchcast::text("{} is not from {} to {}.", shown.c_str(), least, most)
               : batchcast::text("`{}` must be a whole number, {} or more.", shown.c_str(), least));
  }
  return number;
}

double Argument::real() const {
  const double number = PyFloat_AsDouble(value.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    refuse_type("a number");
  }
  if (std::isnan(number)) refuse("nan is no number.");
  return number;
}

bool Argument::flag() const {
  const int is_true = PyUnicode_Check(value.ptr()) ? -1 : PyObject_IsTrue(value.ptr());
  if (is_true >= 0) return is_true == 1;
  PyErr_Clear();
  refuse_type("a bool");
}

nb::tuple Argument::items() const {
  const bool is_text = PyUnicode_Check(value.ptr()) || PyBytes_Check(value.ptr());
  const auto each = nb::steal(is_text ? nullptr : PyObject_GetIter(value.ptr()));
  if (!each.is_valid()) {
    PyErr_Clear();
    refuse_type("a sequence");
  }
  const auto items = nb::steal<nb::tuple>(PySequence_Tuple(each.ptr()));
  if (!items.is_valid()) throw nb::python_error();
  return items;
}

std::uint64_t Argument::memory() const {
  if (!PyUnicode_Check(value.ptr())) {
    if (PyIndex_Check(value.ptr()) == 0) refuse_type("an int or a str");
    return number();
  }
  const std::string written = text();
  const std::optional<std::uint64_t> bytes = bytes_in(written);
  if (!bytes) refuse(no_bytes_in(written));
  return *bytes;
}

int Argument::timeout_ms() const {
  if (is_none()) return -1;
  const double ms = std::ceil(real() * 1'000);
  if (ms < 0 || std::isinf(ms)) return -1;
  return static_cast<int>(std::min<double>(ms, std::numeric_limits<int>::max()));
}

options::Value Argument::value_of(const options::Option& option) const {
  using options::Kind;
  if (is_none() && option.may_be_none()) {
    if (option.kind == Kind::seconds && !option.has_end) return -1.0;
    return {};
  }
  const bool is_text = PyUnicode_Check(value.ptr()) != 0;
  switch (option.kind) {
    case Kind::flag:
      return flag();
    case Kind::count:
      if (option.word.empty()) return number(option.most, option.least);
      return options::value_in(option, is_text ? text() : std::to_string(number()));
    case Kind::seconds: {
      if (PyBool_Check(value.ptr())) refuse_type("a number");
      const double seconds = real();
      const bool is_forever = seconds < 0 || seconds > limits::waiting_seconds_max;
      return is_forever && !option.has_end ? -1.0 : seconds;
    }
    case Kind::share:
      return real();
    case Kind::bytes:
      return memory();
    case Kind::path:
      return path();
    case Kind::texts:
      if (is_text && option.takes_one) return options::value_in(option, text());
      return texts();
    case Kind::counts:
      if (PyIndex_Check(value.ptr()) != 0 && option.takes_one) {
        return std::vector<std::uint64_t>{number(option.most)};
      }
      return counts();
    case Kind::group:
      return is_text ? text() : group_text();
    case Kind::budget:
      return is_text ? text() : budget_text();
    case Kind::window:
      return is_text ? text() : window_text();
    case Kind::rows:
      return row_texts();
    default:
      return text();
  }
}

std::vector<std::string> Argument::texts() const {
  std::vector<std::string> all;
  const nb::tuple given = items();
  for (const nb::handle item : given) all.push_back(Argument{name, item}.text());
  return all;
}

std::vector<std::uint64_t> Argument::counts() const {
  std::vector<std::uint64_t> all;
  const nb::tuple given = items();
  for (const nb::handle item : given) {
    all.push_back(Argument{name, item}.number(~std::uint32_t{0}));
  }
  return all;
}

std::string Argument::group_text() const {
  const char* const wanted = "\"auto\", \"NAME:RANK/WORLD\" or a tuple (name, rank, world)";
  if (PySequence_Check(value.ptr()) == 0) refuse_type(wanted);
  const nb::tuple parts = items();
  if (parts.size() != 3) refuse_type(wanted);
  const auto number = [&](std::size_t i) {
    return std::to_string(Argument{name, parts[i]}.number(~std::uint32_t{0}));
  };
  return batchcast::text("{}:{}/{}", Argument{name, parts[0]}.text(), number(1), number(2));
}

std::string Argument::budget_text() const {
  const char* const wanted = "a tuple (axis, rows) or \"AXIS=ROWS\"";
  const nb::tuple parts = parts_of(*this, 2, wanted);
  const std::string axis = axis_in(*this, parts);
  return batchcast::text("{}={}", axis, count_in(*this, parts, 1));
}

std::string Argument::window_text() const {
  const char* const wanted = "a tuple (axis, rows, runs) or \"AXIS=ROWSxRUNS\"";
  const nb::tuple parts = parts_of(*this, 3, wanted);
  const std::string axis = axis_in(*this, parts);
  const std::uint64_t rows = count_in(*this, parts, 1);
  return batchcast::text("{}={}x{}", axis, rows, count_in(*this, parts, 2));
}

std::vector<std::string> Argument::row_texts() const {
  if (PyUnicode_Check(value.ptr()) != 0) return {text()};
  if (PyMapping_Check(value.ptr()) == 0 || PySequence_Check(value.ptr()) != 0) {
    refuse_type("a dict of numbers of rows by the names of axes");
  }
  std::vector<std::string> all;
  for (const nb::handle pair : nb::borrow(value).attr("items")()) {
    const nb::object axis = pair[0];
    const nb::object rows = pair[1];
    all.push_back(batchcast::text("{}={}", Argument{name, axis}.text(), nb::str(rows).c_str()));
  }
  return all;
}

nb::object object_of(const options::Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return nb::bool_(*flag);
  if (const auto* count = std::get_if<std::uint64_t>(&value)) return nb::int_(*count);
  if (const auto* seconds = std::get_if<double>(&value)) return nb::float_(*seconds);
  if (const auto* text = std::get_if<std::string>(&value)) return path_of(*text);
  const auto* texts = std::get_if<std::vector<std::string>>(&value);
  if (texts == nullptr) return nb::none();
  nb::list words;
  for (const std::string& word : *texts) words.append(word);
  return nb::tuple(words);
}

std::string object_type(const options::Option& option) {
  const std::string none = option.initial.index() == 0 ? " | None" : "";
  switch (option.kind) {
    case options::Kind::flag:
      return "bool" + none;
    case options::Kind::count:
    case options::Kind::bytes:
      return "int" + none;
    case options::Kind::seconds:
    case options::Kind::share:
      return "float" + none;
    case options::Kind::texts:
      return text("tuple[str, ...]{}", none);
    default:
      return "str" + none;
  }
}

// ---- all of a call

Arguments::Arguments(const char* call, const options::Options& known, std::size_t by_place,
                     const nb::args& args, const nb::kwargs& kwargs)
    : call_(call), known_(known) {
  const std::string says = text("batchcast: {}(): ", call);
  if (args.size() > by_place) {
    throw nb::type_error(
        text("{}only the first {} arguments may come without their names.", says, by_place)
            .c_str());
  }
  for (std::size_t i = 0; i < args.size(); ++i) given_.push_back({known[i].name, args[i]});
  for (const auto& [key, value] : kwargs) {
    const std::string_view name = nb::borrow<nb::str>(key).c_str();
    const options::Option* const option = options::find(known, name);
    if (option == nullptr) {
      std::string meant = detail::did_you_mean(name, options::names_of(known));
      if (meant.empty() && options::find(known, "arguments") != nullptr) {
        meant =
            " Other options of `batchcast serve` are words of `arguments`, such as "
            "arguments=(\"--workers\", \"2\").";
      }
      throw nb::type_error(text("{}there is no argument `{}`.{}", says, name, meant).c_str());
    }
    if (find(name).is_valid()) {
      throw nb::type_error(text("{}`{}` is given twice.", says, name).c_str());
    }
    given_.push_back({option->name, value});
  }
}

void Arguments::take(void* options) const {
  for (const options::Option& option : known_) {
    const Argument argument{option.name.c_str(), find(option.name)};
    if (!argument.value.is_valid() && option.is_needed) {
      throw nb::type_error(text("batchcast: {}(): `{}` is missing.", call_, option.name).c_str());
    }
    if (!argument.value.is_valid() || option.kind == options::Kind::object) continue;
    try {
      const options::Value value = argument.value_of(option);
      if (value.index() != 0) options::assign(option, options, value);
      if (!option.needs.empty() && is_asked_for(argument.value) &&
          !is_asked_for(find(option.needs))) {
        argument.refuse(text("it needs `{}`, which is not given.", option.needs));
      }
    } catch (const options::Refused& refused) {
      const std::string why = refused.what();
      argument.refuse(why + (why.ends_with('?') || why.ends_with('.') ? "" : "."));
    }
  }
}

nb::handle Arguments::find(std::string_view name) const noexcept {
  for (const Given& given : given_) {
    if (given.name == name) return given.value;
  }
  return {};
}

}  // namespace batchcast::inline v0_1::python
