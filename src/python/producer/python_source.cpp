// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/producer/python_source.hpp"

#include "python/producer/gil.hpp"
#include "python/producer/producer_bindings.hpp"

#include "data/codec/format.hpp"
#include "data/frame_list.hpp"
#include "data/tensor_part.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/text.hpp>

#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

namespace nb = nanobind;

namespace batchcast::inline v0_1::python {
namespace {

/// A buffer of Python's, for as long as it is looked at.
class PyBuffer {
 public:
  PyBuffer(nb::handle value, int flags) {
    const int failed = in_python([&] { return PyObject_GetBuffer(value.ptr(), &view_, flags); });
    if (failed != 0) throw nb::python_error();
  }
  ~PyBuffer() {
    in_python([this] { PyBuffer_Release(&view_); });
  }
  PyBuffer(const PyBuffer&) = delete;
  PyBuffer& operator=(const PyBuffer&) = delete;

  [[nodiscard]] const Py_buffer& operator*() const noexcept { return view_; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return {static_cast<const std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

[[nodiscard]] std::string text_of(const PartSpec& part, std::optional<DType> dtype,
                                  const std::vector<std::int64_t>& shape) {
  return dtype ? to_text(FieldSpec(part.name, *dtype, shape)) : text("`{}` of no dtype", part.name);
}

void copy(std::span<const std::byte> from, std::span<std::byte> to) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

constexpr off_t file_bytes_max = (off_t{1} << 32) - 1;  ///< as an image folder has it

[[noreturn]] void refuse_file(const std::string& path, int error_number) {
  if (error_number == EMFILE || error_number == ENFILE || error_number == ENOMEM) {
    throw SystemError(text("batchcast: {} cannot be opened", path), error_number);
  }
  throw BadSample(text("{}: {}", path, std::generic_category().message(error_number)));
}

struct OpenedFile {
  FileDescriptor file;
  std::uint64_t byte_count = 0;
};

OpenedFile open_file(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) refuse_file(path, errno);
  if (!S_ISREG(status.st_mode)) throw BadSample(text("{} is no regular file", path));
  if (status.st_size > file_bytes_max) {
    throw BadSample(text("{} has 4 GiB or more, and is no file of one sample", path));
  }
  return {std::move(file), static_cast<std::uint64_t>(status.st_size)};
}

void read_all(const FileDescriptor& file, const std::string& path, std::span<std::byte> to) {
  for (std::size_t done = 0; done < to.size();) {
    const ssize_t got = ::read(file.get(), to.data() + done, to.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse_file(path, errno);
    if (got == 0) throw BadSample(text("{} became shorter while it was read", path));
    done += static_cast<std::size_t>(got);
  }
}

void read_file(const std::string& path, std::size_t part, SampleParts& parts) {
  const OpenedFile opened = open_file(path);
  read_all(opened.file, path, parts.make(part, static_cast<std::size_t>(opened.byte_count)));
}

/// Of a text that names a file.
[[nodiscard]] std::string path_of(PyObject* text) {
  const Held path(PyUnicode_EncodeFSDefault(text));
  return PyBytes_AsString(path.get());
}

[[nodiscard]] bool is_bytes(nb::handle value) {
  return PyBytes_Check(value.ptr()) || PyByteArray_Check(value.ptr()) ||
         PyMemoryView_Check(value.ptr());
}

[[nodiscard]] PartKind kind_of(const std::string& name) {
  if (name == "image" || name == "frames") return PartKind::image;
  return name == "bytes" ? PartKind::bytes : PartKind::tensor;
}

}  // namespace

/// Notes what this thread reads for as long as it does.
class PythonSource::Reading {
 public:
  Reading(const PythonSource& source, std::uint64_t sample_id) : source_(source) {
    const std::lock_guard lock(source_.mutex_);
    source_.reads_[std::this_thread::get_id()] = {sample_id, now_ns()};
  }
  ~Reading() {
    const std::lock_guard lock(source_.mutex_);
    source_.reads_.erase(std::this_thread::get_id());
  }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

 private:
  const PythonSource& source_;
};

PythonSource::PythonSource(nb::object items, std::uint64_t size, Parts parts, std::string name,
                           std::string fingerprint, std::vector<std::string> class_names,
                           nb::module_ helpers)
    : items_(std::move(items)),
      size_(size),
      parts_(std::move(parts)),
      name_(std::move(name)),
      fingerprint_(std::move(fingerprint)),
      class_names_(std::move(class_names)),
      helpers_(std::move(helpers)),
      name_of_(nb::getattr(items_, "name_of", nb::none())) {}

void PythonSource::read(std::uint64_t sample_id, SampleParts& parts) const {
  parts.resize(parts_.specs.size());
  InFiles files;
  {
    const Reading reading(*this, sample_id);
    const GilHeld gil;
    try {
      read_item(sample_id, parts, files);
    } catch (nb::python_error& raised) {
      throw BadSample(reason_of(raised));
    } catch (const nb::cast_error&) {
      throw BadSample("its dtype or text cannot be taken from Python");
    }
  }
  for (const InFile& file : files.files) read_file(file.path, file.part, parts);
  for (const Clip& clip : files.clips) read_clip(clip, parts);
}

// A clip may have more frames than this process may have files open, so each is opened twice.
void PythonSource::read_clip(const Clip& clip, SampleParts& parts) {
  std::vector<std::uint64_t> lengths;
  for (const Frame& frame : clip.frames) {
    lengths.push_back(frame.path.empty() ? frame.bytes.size() : open_file(frame.path).byte_count);
  }
  std::span<std::byte> to = detail::make_frame_list(clip.part, lengths, parts);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const Frame& frame = clip.frames[i];
    const std::span<std::byte> place = to.first(static_cast<std::size_t>(lengths[i]));
    to = to.subspan(place.size());
    if (frame.path.empty()) {
      copy(frame.bytes, place);
      continue;
    }
    const OpenedFile opened = open_file(frame.path);
    if (opened.byte_count != lengths[i]) {
      throw BadSample(text("{} changed while it was read", frame.path));
    }
    read_all(opened.file, frame.path, place);
  }
}

void PythonSource::leave_child(std::uint64_t sample_id) const {
  std::fprintf(stderr,
               "batchcast: sample %llu of %s forked as it was read, and the child came back from "
               "it. It ends here: only the first process serves.\n",
               static_cast<unsigned long long>(sample_id), name_.c_str());
  constexpr int exit_environment = 3;
  ::_exit(exit_environment);  // the threads, the ring and what ends with them are the parent's
}

void PythonSource::read_item(std::uint64_t sample_id, SampleParts& parts, InFiles& files) const {
  const nb::int_ index(sample_id);
  const pid_t self = ::getpid();
  PyObject* const made = in_python([&] { return PyObject_GetItem(items_.ptr(), index.ptr()); });
  if (::getpid() != self) leave_child(sample_id);
  const Held item(made);
  for (std::size_t i = 0; i < parts_.specs.size(); ++i) {
    const nb::object& key = parts_.keys[i];
    if (key.is_none()) {
      take_part(i, item.get(), parts, files);
    } else {
      const Held value = field_of(item.get(), key, parts_.specs[i].name);
      take_part(i, value.get(), parts, files);
    }
  }
}

Held PythonSource::field_of(nb::handle item, const nb::object& key, const std::string& name) const {
  PyObject* const value = in_python([&] { return PyObject_GetItem(item.ptr(), key.ptr()); });
  if (value != nullptr) return Held(value);
  const nb::python_error raised;
  const nb::object error = nb::borrow(raised.value());
  const nb::str field(name.c_str());
  note_failure(error);
  throw BadSample(shown(
      call(helpers_.attr("why_no_field"), item.ptr(), key.ptr(), field.ptr(), error.ptr()).get()));
}

void PythonSource::take_part(std::size_t part, nb::handle value, SampleParts& parts,
                             InFiles& files) const {
  if (parts_.specs[part].kind == PartKind::tensor) return take_tensor(part, value, parts);
  if (parts_.specs[part].frames != 0) return take_frames(part, value, files);
  if (is_bytes(value)) return take_bytes(part, value, parts);
  const nb::str name(parts_.specs[part].name.c_str());
  const Held encoded = call(helpers_.attr("encoded"), value.ptr(), name.ptr());
  if (PyUnicode_Check(encoded.get()) == 0) return take_bytes(part, encoded.get(), parts);
  // Of a file.
  files.files.push_back({part, path_of(encoded.get())});
}

void PythonSource::take_frames(std::size_t part, nb::handle value, InFiles& files) const {
  const PartSpec& spec = parts_.specs[part];
  const nb::str name(spec.name.c_str());
  const nb::int_ count(spec.frames);
  const Held encoded =
      call(helpers_.attr("encoded_frames"), value.ptr(), name.ptr(), count.ptr());  // a list
  Clip& clip = files.clips.emplace_back(Clip{part, {}});
  for (Py_ssize_t i = 0; i < PyList_Size(encoded.get()); ++i) {
    PyObject* const one = PyList_GetItem(encoded.get(), i);
    Frame& frame = clip.frames.emplace_back();
    if (PyUnicode_Check(one) != 0) {
      frame.path = path_of(one);
      continue;
    }
    const PyBuffer buffer(one, PyBUF_SIMPLE);
    frame.bytes.assign(buffer.bytes().begin(), buffer.bytes().end());
  }
}

void PythonSource::take_bytes(std::size_t part, nb::handle value, SampleParts& parts) const {
  const PyBuffer buffer(value, PyBUF_SIMPLE);
  copy(buffer.bytes(), parts.make(part, buffer.bytes().size()));
}

void PythonSource::take_tensor(std::size_t part, nb::handle value, SampleParts& parts) const {
  const PartSpec& spec = parts_.specs[part];
  if (PyLong_CheckExact(value.ptr()) && spec.dtype == DType::i64 && spec.shape.empty()) {
    int overflow = 0;
    const std::int64_t number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow == 0) {
      return copy(std::as_bytes(std::span(&number, 1)), parts.make(part, sizeof number));
    }  // `plain` says it
  }
  // A dtype's name and an array.
  const nb::str name(spec.name.c_str());
  const Held plain = call(helpers_.attr("plain"), value.ptr(), name.ptr());
  const PyBuffer buffer(PyTuple_GetItem(plain.get(), 1), PyBUF_C_CONTIGUOUS | PyBUF_FORMAT);
  const std::vector<std::int64_t> shape((*buffer).shape, (*buffer).shape + (*buffer).ndim);
  const std::optional<DType> dtype = parse_dtype(shown(PyTuple_GetItem(plain.get(), 0)));
  check_tensor(spec, dtype, shape);
  copy(buffer.bytes(), parts.make(part, buffer.bytes().size()));
}

void PythonSource::check_tensor(const PartSpec& spec, std::optional<DType> dtype,
                                const std::vector<std::int64_t>& shape) {
  const bool has_rows = !shape.empty();
  if (!spec.on_axis()) {
    if (dtype == spec.dtype && shape == spec.shape) return;
    const bool differs_in_length =
        dtype == spec.dtype && has_rows && !spec.shape.empty() &&
        std::equal(shape.begin() + 1, shape.end(), spec.shape.begin() + 1, spec.shape.end());
    throw BadSample(
        text("it has {}, and the first sample has {}. All samples have the same shape and dtype: "
             "crop, resize, pad or convert in the dataset{}",
             text_of(spec, dtype, shape), text_of(spec, spec.dtype, spec.shape),
             differs_in_length ? text(". Where samples are to differ in length, serve them with "
                                      "axes={\"{}\": \"{}\"}",
                                      spec.name, spec.name)
                               : ""));
  }
  if (has_rows && shape.front() == 0) return;  // an empty list has no dtype, and needs none
  if (dtype == spec.dtype && has_rows &&
      std::equal(shape.begin() + 1, shape.end(), spec.shape.begin(), spec.shape.end())) {
    return;
  }
  const std::vector<std::int64_t> row(has_rows ? shape.begin() + 1 : shape.end(), shape.end());
  throw BadSample(
      text("a row of it is {}, and one of the samples before is {}. The rows of an axis have one "
           "shape and dtype; only their number differs",
           has_rows ? text_of(spec, dtype, row) : text("`{}`, a single number", spec.name),
           text_of(spec, spec.dtype, spec.shape)));
}

std::shared_ptr<const RowLengths> PythonSource::lengths(std::string_view axis) const {
  const auto found = parts_.lengths.find(axis);
  return found == parts_.lengths.end() ? nullptr : found->second;
}

void PythonSource::note_failure(const nb::object& error) const {
  if (first_failure_.is_none()) first_failure_ = error;
}

std::string PythonSource::reason_of(nb::python_error& raised) const {
  const nb::object error = nb::borrow(raised.value());
  note_failure(error);
  try {
    return shown(call(helpers_.attr("reason"), error.ptr()).get());
  } catch (const std::exception& other) {
    return text("an exception that cannot be shown: {}", other.what());
  }
}

std::string PythonSource::plain_name_of(std::uint64_t sample_id) const {
  return text("{}[{}]", name_, sample_id);
}

std::string PythonSource::name_of(std::uint64_t sample_id) const {
  const std::string plain = plain_name_of(sample_id);
  if (interpreter_ends()) return plain;
  const GilHeld gil;
  if (name_of_.is_none()) return plain;
  try {
    const nb::int_ index(sample_id);
    return shown(call(name_of_, index.ptr()).get());
  } catch (const std::exception&) {
    return plain;
  }
}

Fingerprint PythonSource::fingerprint() const { return fingerprint_of(fingerprint_); }

std::string PythonSource::longest_read() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t sample_id = 0;
  std::uint64_t since_ns = 0;
  for (const auto& [thread, read] : reads_) {
    if (since_ns != 0 && read.second >= since_ns) continue;
    std::tie(sample_id, since_ns) = read;
  }
  if (since_ns == 0) return {};
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f", seconds_from_ns(now_ns() - since_ns));
  return text("sample {} of {} (for {} s)", sample_id, name_, seconds);
}

void add_python_source(nb::module_& module) {
  using Spec = std::tuple<std::string, std::string, std::string, std::vector<std::int64_t>>;
  using Lengths =
      std::map<std::string, nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig>>;
  nb::class_<PythonSource>(module, "PythonSource", "A dataset in Python, read by C++ threads.")
      .def(
          "__init__",
          [](PythonSource* self, nb::object items, std::uint64_t size,
             const std::vector<Spec>& specs, const nb::list& keys, std::string name,
             std::string fingerprint, std::vector<std::string> class_names,
             const std::vector<std::string>& axes, const Lengths& lengths) {
            PythonSource::Parts parts;
            for (const auto& [axis, rows] : lengths) {
              parts.lengths[axis] = std::make_shared<StoredLengths>(
                  std::vector<std::uint32_t>(rows.data(), rows.data() + rows.size()));
            }
            for (const auto& [part, kind, dtype, shape] : specs) {
              PartSpec spec{part, kind_of(kind), parse_dtype(dtype).value_or(DType::u8), shape};
              if (kind == "frames") {
                spec.frames = static_cast<std::int32_t>(shape.at(0));
                spec.shape.clear();
              }
              spec.axis = axes.at(parts.specs.size());
              spec.channels_last =
                  !spec.on_axis() && detail::has_channels_last(spec.dtype, spec.shape);
              parts.specs.push_back(std::move(spec));
            }
            for (const nb::handle key : keys) parts.keys.push_back(nb::borrow(key));
            new (self) PythonSource(std::move(items), size, std::move(parts), std::move(name),
                                    std::move(fingerprint), std::move(class_names),
                                    nb::module_::import_("batchcast._items"));
          },
          nb::arg("items"), nb::arg("size"), nb::arg("specs"), nb::arg("keys"), nb::arg("name"),
          nb::arg("fingerprint"), nb::arg("class_names"), nb::arg("axes"), nb::arg("lengths"),
          nb::sig("def __init__(self, items: object, size: int, specs: "
                  "list[tuple[str, str, str, list[int]]], keys: list[object], name: str, "
                  "fingerprint: str, class_names: list[str], axes: list[str], lengths: dict[str, "
                  "numpy.typing.NDArray[numpy.uint32]]) -> None"))
      .def_prop_ro("first_failure", &PythonSource::first_failure,
                   nb::sig("def first_failure(self) -> BaseException | None"),
                   "What the first sample raised that could not be read.")
      .def("longest_read", &PythonSource::longest_read,
           "The sample that has been read for the longest time; empty if none is.");
  module.def(
      "is_image",
      [](const nb::bytes& encoded) {
        return detail::image_format_of(
                   {static_cast<const std::byte*>(encoded.data()), encoded.size()})
            .has_value();
      },
      nb::arg("encoded"), "Whether these bytes begin as a JPEG, PNG or WebP file.");
}

}  // namespace batchcast::inline v0_1::python
