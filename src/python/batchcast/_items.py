# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What datasets and loaders of Python give, as fields of a stream: names, dtypes, arrays.

Nothing here imports torch. A tensor of torch's is known by its methods.
"""

from __future__ import annotations

import os
import re
import stat
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._names import did_you_mean
from ._producer import is_image
from .errors import Error, InvalidArgument

Array = npt.NDArray[Any]

_DTYPES = {
    ("b", 1): "bool",
    **{("u", size): f"u{8 * size}" for size in (1, 2, 4, 8)},
    **{("i", size): f"i{8 * size}" for size in (1, 2, 4, 8)},
    **{("f", size): f"f{8 * size}" for size in (2, 4, 8)},
}
_KINDS_WITHOUT_DTYPE = {
    "c": "complex numbers: serve real and imaginary parts as two fields",
    "U": "text: serve numbers, such as the places of the texts in a list",
    "S": "text: serve numbers, such as the places of the texts in a list",
    "M": "dates: convert them, with astype('datetime64[s]').astype('int64')",
    "m": "durations: convert them, with astype('timedelta64[s]').astype('int64')",
    "O": "objects: every sample is to have the same number of elements, all of them numbers (pad, "
    "crop or leave the field out)",
}


class Unservable(InvalidArgument):
    """A value that has no place in a stream."""


def shortly(value: object) -> str:
    if value is None or isinstance(value, bool | int | float | str):
        return shown(repr(value))[:80]
    return f"a {type(value).__qualname__}"


def a_kind_of(value: object) -> str:
    """What a value is, for messages: None, an int, a list."""
    if value is None:
        return "None"
    name = type(value).__qualname__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def _refuse(name: str, why: str) -> Unservable:
    return Unservable(f"field `{name}` cannot be served: it is {why}")


def _is_tensor(value: object) -> bool:
    return hasattr(value, "detach") and hasattr(value, "numpy")


def _tensor(value: Any, name: str) -> Any:
    """A numpy array, or a tensor's bfloat16 as a pair of name and array."""
    tensor = value.detach()
    if getattr(tensor, "is_nested", False):
        raise _refuse(name, "a nested tensor. Pad it: all samples of a stream have one shape.")
    if getattr(tensor, "is_sparse", False):
        raise _refuse(name, "a sparse tensor. Call to_dense() on it first.")
    if getattr(tensor, "is_quantized", False):
        raise _refuse(name, "a quantised tensor. Call dequantize() on it first.")
    if tensor.device.type == "meta":
        raise _refuse(name, "a tensor on the meta device, which holds no values.")
    tensor = tensor.cpu()
    for resolve in ("resolve_neg", "resolve_conj"):
        tensor = getattr(tensor, resolve, lambda tensor=tensor: tensor)()
    if str(tensor.dtype) != "torch.bfloat16":
        return tensor.numpy()
    import torch  # it is there: the tensor is torch's

    return "bf16", tensor.contiguous().view(torch.int16).numpy().view(np.uint16)


def _as_array(value: Any, name: str) -> Any:
    parts = value if isinstance(value, list | tuple) else (value,)
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        why = "a masked array, whose mask would be lost. Give filled() of it, or the mask"
        raise _refuse(name, f"{why} (np.ma.getmaskarray) as another field.")
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value)
    if _is_tensor(value):
        return _tensor(value, name)
    if isinstance(value, bool | int | float):
        try:  # as torch's default_collate has them
            kind = (
                np.bool_
                if isinstance(value, bool)
                else np.int64
                if isinstance(value, int)
                else np.float64
            )
            return np.asarray(value, dtype=kind)
        except OverflowError:
            raise _refuse(name, f"{value}, which is no 64-bit integer.") from None
    if value is None:
        raise _refuse(name, "None. Every sample is to have a value.")
    if isinstance(value, list | tuple) and any(_is_tensor(one) for one in value):
        return np.stack([plain(one, name)[1] for one in value])
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        return np.from_dlpack(value)
    try:
        return np.asarray(value)
    except ValueError as error:  # ragged
        raise _refuse(name, f"no array: {error}") from None


def plain(value: Any, name: str) -> tuple[str, Array]:
    """The dtype's name and the elements, row-major and as this machine has them.

    Without a copy where they lie so. Raises Unservable.
    """
    array = _as_array(value, name)
    if isinstance(array, tuple):
        return array[0], np.ascontiguousarray(array[1]).reshape(array[1].shape)
    if array.dtype.name == "bfloat16":
        return "bf16", np.ascontiguousarray(array).reshape(array.shape).view(np.uint16)
    dtype = _DTYPES.get((array.dtype.kind, array.dtype.itemsize))
    if dtype is None:
        why = _KINDS_WITHOUT_DTYPE.get(
            array.dtype.kind, f"{array.dtype}, for which streams have no dtype"
        )
        if type(value).__module__ != "numpy" and array.dtype.kind == "O" and array.ndim == 0:
            why = f"{a_kind_of(value)}: give arrays, tensors or numbers"
        raise _refuse(name, why + ".")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return dtype, array if array.flags.c_contiguous else np.array(array, order="C")


def _path(value: Any, name: str) -> str:
    """Of a file, in any bytes but NUL."""
    path = os.fsdecode(value)
    if not path or "\0" in path:
        raise _refuse(name, f"the path {path!r}, of which there is no file.")
    return path


def _begin_of(path: str) -> bytes:
    """Of a regular file: others may never give a byte."""
    with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise Unservable(f"{path} is no regular file")
        return file.read(64)


def encoded(value: Any, name: str) -> bytes | str | Array:
    """The bytes of an encoded part, or as str the path of the file that has them."""
    if isinstance(value, Mapping) and "bytes" in value:  # as Hugging Face has images
        if value["bytes"] is None:
            return _path(value["path"], name)
        return encoded(value["bytes"], name)
    if isinstance(value, os.PathLike):
        return _path(value, name)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, str):
        return value.encode()
    if value is None:
        raise _refuse(name, "None. Every sample is to have a value.")
    dtype, array = plain(value, name)
    if dtype != "u8" or array.ndim != 1:
        raise _refuse(name, f"{dtype} {list(array.shape)}, and the first sample has encoded bytes.")
    return array


FRAMES_MAX = 1024


def _is_encoded(value: object) -> bool:
    return isinstance(value, os.PathLike | bytes | bytearray | memoryview) or (
        isinstance(value, Mapping) and "bytes" in value
    )


def encoded_frames(value: Any, name: str, count: int) -> list[bytes | str | Array]:
    """Of each frame what `encoded` says. Raises Unservable where there are not `count` of them."""
    if not isinstance(value, list | tuple) or not all(_is_encoded(one) for one in value):
        raise _refuse(
            name, f"{a_kind_of(value)}, and the first sample has a list of paths or encoded images."
        )
    if len(value) != count:
        raise _refuse(
            name,
            f"{len(value)} frames, and the first sample has {count}. All clips of a stream have "
            "equally many: choose them in the dataset.",
        )
    return [encoded(one, name) for one in value]


def _holds_frames(value: Any, name: str) -> bool:
    if not isinstance(value, list | tuple) or not value:
        return False
    if not all(_is_encoded(one) for one in value) or _kind_of(value[0], name) != "image":
        return False
    if len(value) > FRAMES_MAX:
        raise _refuse(name, f"{len(value)} frames, and a clip has at most {FRAMES_MAX}.")
    return True


def _kind_of(value: Any, name: str) -> str:
    """image, frames, bytes or tensor."""
    if _holds_frames(value, name):
        return "frames"
    is_array = _is_tensor(value) or isinstance(value, np.ndarray)
    if is_array and (value.ndim != 1 or plain(value, name)[0] != "u8"):
        return "tensor"
    holds_bytes = isinstance(value, Mapping) and "bytes" in value
    if not (
        is_array
        or holds_bytes
        or isinstance(value, bytes | bytearray | memoryview | str | os.PathLike)
    ):
        return "tensor"
    begin = encoded(value, name)
    if isinstance(begin, str):
        begin = _begin_of(begin)
    if is_image(bytes(begin[:64])):
        return "image"
    return "tensor" if is_array else "bytes"


class Part(NamedTuple):
    """A part of a source's samples: how to get it out of an item, and what it is."""

    key: Any
    name: str
    kind: str
    dtype: str
    shape: list[int]
    axis: str = ""  # of a row is `shape` then

    @property
    def spec(self) -> tuple[str, str, str, list[int]]:
        return self.name, self.kind, self.dtype, self.shape


def _default_names(count: int) -> list[str]:
    if count == 1:
        return ["data"]
    return ["image", "label"] if count == 2 else [f"field{i}" for i in range(count)]


def _is_mapping(item: Any) -> bool:
    return isinstance(item, Mapping) or (hasattr(item, "keys") and hasattr(item, "__getitem__"))


def _checked(name: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise Unservable(
            f"the name of its field {ascii(cut(name))} has a lone surrogate, which is no character"
        ) from None
    return name


def named(item: Any, fields: Sequence[str] | None) -> Iterator[tuple[Any, str, Any]]:
    """Key, name and value of each field of an item: a mapping, a tuple or list, or one array.

    `fields` says which keys of a mapping are served, and how the others are called.
    """
    if _is_mapping(item):
        for key in item if fields is None else fields:
            if key not in item:
                meant = did_you_mean(str(key), map(str, item))
                there = ", ".join(f"`{one}`" for one in item)
                raise Unservable(f"it has no `{key}`.{meant} It has {there}")
            yield key, _checked(str(key)), item[key]
        return
    numbers = isinstance(item, list) and all(isinstance(one, bool | int | float) for one in item)
    values = list(item) if isinstance(item, tuple | list) and not numbers else [item]
    names = fields or getattr(item, "_fields", None) or _default_names(len(values))
    if len(names) != len(values):
        raise Unservable(
            f"it has {len(values)} values, and `fields` names {len(names)}: {', '.join(names)}"
        )
    for i, value in enumerate(values):
        yield (None if values[0] is item else i), _checked(names[i]), value


def why_no_field(item: Any, key: Any, name: str, error: BaseException) -> str:
    """What is wrong with a sample that does not give its field as the first one did."""
    if item is None:
        return "it is None. Every sample is to have its fields"
    kind = type(item)
    if not hasattr(kind, "__getitem__"):
        return f"it is {a_kind_of(item)}, and the first sample has fields, such as `{name}`"
    if isinstance(error, KeyError) and isinstance(item, dict) and key not in item:
        there = ", ".join(f"`{one}`" for one in item) or "none"
        return f"it has no `{name}`, which the first sample has. It has {shown(cut(there))}"
    if isinstance(error, IndexError) and isinstance(item, tuple | list):
        return f"it has {len(item)} values, and the first sample has more"
    return reason(error)


def size_of(source: Any, name: str) -> int:
    """How many samples a dataset has. Raises InvalidArgument where it does not say."""
    try:
        return len(source)
    except Exception as error:  # negative, above 2^63, or its own
        raise InvalidArgument(f"batchcast: len() of the {name}: {reason(error)}.") from error


def class_names_of(source: Any, name: str) -> list[str]:
    """What a dataset calls its classes. Raises InvalidArgument where these are no list of names."""
    told = getattr(source, "class_names", None)
    if told is None:
        return []
    try:
        names = list(told)
    except Exception as error:
        raise InvalidArgument(
            f"batchcast: class_names of the {name} is {a_kind_of(told)}, and is to be a list of names, "
            f"the first for label 0: {reason(error)}."
        ) from error
    for label, one in enumerate(names):
        if not isinstance(one, str):
            raise InvalidArgument(
                f"batchcast: class_names of the {name}: that of label {label} is {a_kind_of(one)}, "
                "and is to be a text."
            )
    return [shown(one) for one in names]


def fingerprint_of(source: Any, name: str) -> Any:
    """What fingerprint() returns; None where there is none. Raises InvalidArgument."""
    fingerprint = getattr(source, "fingerprint", None)
    try:
        return fingerprint() if callable(fingerprint) else None
    except Error:
        raise
    except Exception as error:
        raise InvalidArgument(
            f"batchcast: fingerprint() of the {name}: {reason(error)}. Return None where the stream is "
            "not to be pure."
        ) from error


def parts_of(
    item: Any, fields: Sequence[str] | None, axes: Mapping[str, str] | None = None
) -> list[Part]:
    """What the samples of a source have, by the first of them. `axes` has the axis of each field
    that lies on one."""
    axes = axes or {}
    parts = []
    for key, name, value in named(item, fields):
        if name in axes:
            dtype, rows = plain(value, name)
            if rows.ndim == 0:
                raise _refuse(name, "one number, and a field on an axis has rows.")
            parts.append(Part(key, name, "tensor", dtype, list(rows.shape[1:]), axes[name]))
            continue
        kind = _kind_of(value, name)
        dtype, shape = "u8", []
        if kind == "tensor":
            dtype, array = plain(value, name)
            shape = list(array.shape)
        elif kind == "frames":
            shape = [len(value)]
        parts.append(Part(key, name, kind, dtype, shape))
    if not parts:
        raise Unservable("it has no field")
    for name in axes:
        if all(part.name != name for part in parts):
            raise _lacks(name, [part.name for part in parts])
    return parts


def says_rows(item: Any, part: Part) -> bool:
    """Whether it shows what a row of the part is: an empty list has neither dtype nor shape."""
    if not part.axis:
        return True
    value = item if part.key is None else item[part.key]
    dtype, rows = plain(value, part.name)
    return len(rows) > 0 or (rows.ndim > 1 and 0 not in rows.shape[1:])


def lengths_of(source: Any, axes: Sequence[str], size: int, name: str) -> dict[str, Array]:
    """What `lengths(axis)` returns, as u32, of each axis of which it says something. Raises
    InvalidArgument."""
    lengths = getattr(source, "lengths", None)
    found: dict[str, Array] = {}
    if not callable(lengths):
        return found
    for axis in axes:
        where = f"batchcast: lengths({axis!r}) of the {name}"
        try:
            told = lengths(axis)
            rows = None if told is None else plain(told, "lengths")[1]
        except Error as error:
            raise InvalidArgument(f"{where}: {reason(error)}.") from error
        except Exception as error:
            raise InvalidArgument(
                f"{where}: {reason(error)}. Return None where they are not known."
            ) from error
        if rows is None:
            continue
        cure = f"It is to give {size} whole numbers, the rows of each sample, or None."
        if rows.dtype.kind not in "iu" or rows.shape != (size,):
            raise InvalidArgument(f"{where} gives {rows.dtype} {list(rows.shape)}. {cure}")
        least, most = int(rows.min()), int(rows.max())
        if least < 0 or most >= 1 << 32:
            raise InvalidArgument(f"{where} has {least if least < 0 else most} in it. {cure}")
        found[axis] = np.ascontiguousarray(rows, np.uint32)
    return found


def refuse_bytes(item: Any, parts: Sequence[Part], fields: Sequence[str] | None) -> None:
    """Without a recipe nothing makes a tensor of text or bytes. Raises Unservable."""
    values = [value for _, _, value in named(item, fields)]
    lengthy = [i for i, part in enumerate(parts) if part.kind == "bytes"]
    if not lengthy:
        return
    name, value = parts[lengthy[0]].name, values[lengthy[0]]
    what = "text" if isinstance(value, str) else "bytes of any length"
    cures = "Give it as an array of one shape, such as its tokens, or serve it with a recipe that "
    cures += "has a custom stage for it"
    others = [part.name for i, part in enumerate(parts) if i not in lengthy]
    if others and _is_mapping(item):
        named_ones = ", ".join(f'"{one}"' for one in others)
        cures += f", or leave it out with fields=({named_ones}{',' * (len(others) == 1)})"
    elif others:
        cures += ", or leave it out of the samples"
    if isinstance(value, str):
        cures += ". If it is the path of a file, give a pathlib.Path"
    raise _refuse(name, f"{what}, which has no one shape. {cures}.")


class Column(NamedTuple):
    """One field of a batch: its name, its dtype and its array [samples, …].

    Of a field on an axis the array is [rows, …], of all samples, and `lengths` (u64) says how many
    rows each has.
    """

    name: str
    dtype: str
    array: Array
    axis: str = ""
    lengths: Array = np.empty(0, np.uint64)

    @property
    def samples(self) -> int:
        return len(self.lengths if self.axis else self.array)


def axes_by_field(axes: Any) -> dict[str, str]:
    """The axis of each field that `axes` names: `{"boxes": ("boxes", "classes")}`."""
    if axes is None:
        return {}
    if not isinstance(axes, Mapping):
        raise InvalidArgument(
            f"batchcast: axes has to be a dict of fields by the names of axes, such as"
            f' axes={{"boxes": ("boxes", "classes")}}, not {a_kind_of(axes)}.'
        )
    found: dict[str, str] = {}
    for axis, fields in axes.items():
        for field in (fields,) if isinstance(fields, str) else fields:
            if found.setdefault(str(field), str(axis)) != str(axis):
                raise InvalidArgument(
                    f"batchcast: field `{field}` lies on two axes, `{found[str(field)]}` and `{axis}`."
                )
    return found


def _rows_of(value: Any, name: str, batched: bool) -> tuple[str, Array, Array]:
    """Dtype, the rows of all samples and how many each has, of a field on an axis."""
    if not batched:
        dtype, rows = plain(value, name)
        if rows.ndim == 0:
            raise _refuse(name, "one number, and a field on an axis has rows.")
        return dtype, rows, np.array([len(rows)], np.uint64)
    if _is_tensor(value) and getattr(value, "is_nested", False):
        dtype, rows = plain(value.values(), name)
        return dtype, rows, np.diff(plain(value.offsets(), name)[1]).astype(np.uint64)
    if hasattr(value, "values") and hasattr(value, "offsets"):  # a Ragged
        dtype, rows = plain(value.values, name)
        offsets = plain(value.offsets, name)[1].astype(np.int64)
        fits = offsets.ndim == 1 and len(offsets) > 0 and offsets[0] >= 0
        if not fits or offsets[-1] > len(rows) or (np.diff(offsets) < 0).any():
            raise _refuse(name, "values and offsets, and the offsets are not where samples begin.")
        return dtype, rows[offsets[0] : offsets[-1]], np.diff(offsets).astype(np.uint64)
    each = [plain(one, name) for one in value]
    filled = [one for one in each if one[1].size != 0] or each[:1]
    if not filled:
        raise _refuse(name, "a batch without samples.")
    dtype, first = filled[0]
    for other_dtype, rows in filled:
        if other_dtype != dtype or rows.ndim == 0 or rows.shape[1:] != first.shape[1:]:
            raise _refuse(
                name,
                f"of {dtype} {list(first.shape[1:])} a row in one sample, and of {other_dtype} "
                f"{list(rows.shape[1:])} in another.",
            )
    lengths = np.array([len(rows) if rows.ndim else 0 for _, rows in each], np.uint64)
    return dtype, np.concatenate([rows for _, rows in filled]), lengths


def columns_of(
    item: Any,
    fields: Sequence[str] | None,
    batched: bool,
    axes: Mapping[str, str] | None = None,
) -> list[Column]:
    """The fields of a batch, or of one sample. `axes` has the axis of each field that lies on one."""
    axes = axes or {}
    columns: list[Column] = []
    for _, name, value in named(item, fields):
        if name in axes:
            dtype, rows, lengths = _rows_of(value, name, batched)
            columns.append(Column(name, dtype, rows, axes[name], lengths))
            continue
        try:
            dtype, array = plain(value, name)
        except Unservable as error:
            raise _with_axes(error, name, value, batched, axes) from error.__cause__
        if not batched:
            array = array[np.newaxis]
        elif array.ndim == 0:
            raise _refuse(name, "one number, and the first dimension counts the samples.")
        if name == "sample_id" and (array.ndim != 1 or dtype not in ("i64", "u64")):
            raise _refuse(
                name, "not one i64 for each sample, and that name is the dataset's index."
            )
        columns.append(Column(name, dtype, array))
    if all(column.name == "sample_id" for column in columns):
        raise Unservable("it has no field")
    for name in axes:
        if all(column.name != name for column in columns):
            raise _lacks(name, [column.name for column in columns])
    for column in columns[1:]:
        if column.samples != columns[0].samples:
            raise Unservable(
                f"it has {columns[0].samples} samples of field `{columns[0].name}` and "
                f"{column.samples} of `{column.name}`. The first dimension of every field counts the "
                "samples."
            )
    _check_axes(columns)
    return columns


def _check_axes(columns: Sequence[Column]) -> None:
    """Fields on one axis have equally many rows in each sample. Raises Unservable."""
    first: dict[str, Column] = {}
    for column in columns:
        other = first.setdefault(column.axis, column)
        if column.axis and not np.array_equal(column.lengths, other.lengths):
            i = int(np.flatnonzero(column.lengths != other.lengths)[0])
            raise Unservable(
                f"its sample {i} has {other.lengths[i]} rows of `{other.name}` and "
                f"{column.lengths[i]} of `{column.name}`, and both lie on the axis `{column.axis}`."
            )


def _lacks(name: str, known: Sequence[str]) -> Unservable:
    return Unservable(f"it has no `{name}`, which `axes` names.{did_you_mean(name, known)}")


def _axes_and(axes: Mapping[str, str], name: str) -> str:
    """The argument that serves that field, too, with rows."""
    by_axis: dict[str, list[str]] = {}
    for field, axis in {**axes, name: name}.items():
        by_axis.setdefault(axis, []).append(f'"{field}"')
    texts = [
        f'"{axis}": ' + (fields[0] if len(fields) == 1 else f"({', '.join(fields)})")
        for axis, fields in by_axis.items()
    ]
    return f"axes={{{', '.join(texts)}}}"


def _with_axes(
    error: Unservable, name: str, value: Any, batched: bool, axes: Mapping[str, str]
) -> Unservable:
    """Says how a field is served whose samples have different lengths."""
    is_list = batched and isinstance(value, list | tuple) and len(value) > 1
    if not is_list and not getattr(value, "is_nested", False):
        return error
    return Unservable(f"{error} Where its samples differ in length, say {_axes_and(axes, name)}.")


def _axes_in(texts: Sequence[str]) -> dict[str, str]:
    """The axis of each field that has one, of what `text_of` says."""
    found = (re.match(r"`(.*) \S+ \[([^\d,\]][^,\]]*)", text) for text in texts)
    return {match[1]: match[2] for match in found if match}


def text_of(column: Column) -> str:
    name, dtype, array, axis, _ = column
    shape = ([axis] if axis else []) + [str(extent) for extent in array.shape[1:]]
    return f"`{name} {dtype} [{','.join(shape)}]`"


def check_same(first: Sequence[str], columns: Sequence[Column]) -> None:
    """Raises Unservable that says what is not as in the first batch, whose texts are `first`."""
    cure = (
        "All samples of a stream have the same fields, shapes and dtypes: crop, resize, pad or "
        "convert in the dataset."
    )
    found = [text_of(column) for column in columns]
    for expected, text in zip(first, found):
        if expected != text:
            name = expected[1:].split(" ")[0]
            axes = _axes_and(_axes_in(first), name)
            raise Unservable(
                f"it has {text}, and the first one had {expected}. {cure} Where samples differ in"
                f" length, serve them with {axes}."
            )
    if len(found) != len(first):
        less, more = sorted((list(first), found), key=len)
        had = "lacks" if more is not found else "also has"
        raise Unservable(f"it {had} {more[len(less)]}, other than the first one. {cure}")


def _own_frames(error: BaseException) -> list[traceback.FrameSummary]:
    here = os.path.dirname(os.path.abspath(__file__)) + os.sep
    frames = traceback.extract_tb(error.__traceback__)
    return [frame for frame in frames if not os.path.abspath(frame.filename).startswith(here)]


def shown(text: str) -> str:
    """For messages: without what has no UTF-8, and without NUL."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


_SHOWN_MAX = 2000  # letters of what an exception says


def cut(text: str, at_most: int = _SHOWN_MAX) -> str:
    """Its beginning, and a note that says so, where it is longer than that."""
    if len(text) <= at_most:
        return text
    return f"{text[:at_most]}… (cut: it has {len(text):,} letters)"


_IN_WORKER = re.compile(r"Caught \w+ (in .*)\.\nOriginal Traceback .*:\n")
_CALL = re.compile(r'  File "(.+)", line (\d+), in (.+)\n(?:    .*\n)*')


def _with_calls(text: str, calls: Sequence[str], where: str = "") -> str:
    return f"{text} (at {shown(', called at '.join(reversed(calls[-6:])))}{where})"


def _of_worker(said: str) -> str | None:
    """The same of what happened in a process of torch's, which has the traceback as its text."""
    found = _IN_WORKER.match(said)
    if found is None:
        return None
    trace = said.rpartition("Traceback (most recent call last):\n")[2]
    calls = list(_CALL.finditer(trace))
    text = trace[calls[-1].end() :].strip() if calls else ""
    if not text:
        return None
    names = [f"{file}:{line} in {name}" for file, line, name in (call.groups() for call in calls)]
    return _with_calls(shown(cut(text)), names, f", {found[1]}")


_REASON = "_batchcast_reason"  # of an exception that was raised in another process


def tell_reason(error: BaseException, text: str) -> None:
    """Says what `reason` is to tell of an exception whose calls are not known here."""
    error.__dict__[_REASON] = text


def reason(error: BaseException) -> str:
    """An exception as one line, with the calls that led to it, the last one first. A long text is
    cut."""
    if (told := error.__dict__.get(_REASON)) is not None:
        return str(told)
    whole = ""
    try:
        whole = str(error)
        said = shown(cut(whole))
    except Exception as other:
        said = f"a text that cannot be shown ({type(other).__name__})"
    if isinstance(error, Unservable):
        return said.removesuffix(".")
    if isinstance(error, Error):
        said = said.removeprefix("batchcast: ")
    text = f"{type(error).__name__}: {said}" if said else type(error).__name__
    calls = [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in _own_frames(error)]
    if isinstance(error, Error) or not calls:
        return text
    return _of_worker(whole) or _with_calls(text, calls)
