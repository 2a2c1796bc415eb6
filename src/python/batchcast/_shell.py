# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""`batchcast serve` of what Python reads: `python:`, `huggingface:` and `parquet:` sources."""

from __future__ import annotations

import importlib
import inspect
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NoReturn

from . import _serve, errors

# As the command has them.
_EXIT_USAGE, _EXIT_ENVIRONMENT = 2, 3


class Asked(BaseException):
    """A signal asks this process to end."""


def _on_signal(number: int, frame: FrameType | None) -> None:
    raise Asked(signal.Signals(number).name)


def split_options(text: str) -> tuple[str, dict[str, str]]:
    """`DIR?split=train&label=fine` as `DIR` and its options. A `?` may be part of a path, too."""
    place, mark, tail = text.rpartition("?")
    if not mark or not tail.partition("=")[0].isidentifier() or "=" not in tail:
        return text, {}
    options = {}
    for one in tail.split("&"):
        name, equals, value = one.partition("=")
        if not equals or not name.isidentifier():
            raise errors.InvalidArgument(
                f"batchcast: `{one}` in `{text}` is no option. Write NAME=VALUE."
            )
        options[name] = value
    return place, options


def _is_module_itself(missing: str | None, module: str) -> bool:
    return missing is not None and (module + ".").startswith(missing + ".")


def _made(text: str, factory: Callable[..., Any], *places: Any, **options: Any) -> Any:
    """What the factory returns. Options that it does not take are the user's; what it raises itself
    is its own, also a TypeError."""
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):  # of C, and says nothing
        return factory(*places, **options)
    try:
        signature.bind(*places, **options)
    except TypeError as error:
        raise errors.InvalidArgument(f"batchcast: `{text}`: {error}.") from None
    return factory(*places, **options)


def _of_python(text: str) -> Any:
    place, options = split_options(text)
    name, colon, attribute = place.partition(":")
    if not colon or not name or not attribute:
        raise errors.InvalidArgument(
            f"batchcast: `python:{text}` names no factory. Write `python:MODULE:FACTORY`: FACTORY in "
            "MODULE returns a dataset or a loader."
        )
    try:
        found: Any = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if not _is_module_itself(error.name, name):
            raise
        raise errors.InvalidArgument(
            f"batchcast: there is no module `{name}` in {os.getcwd()}, nor where {sys.executable} "
            "looks for others."
        ) from None
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise errors.InvalidArgument(f"batchcast: module `{name}` has no `{attribute}`.")
        found = getattr(found, part)
    if not callable(found):
        if options:
            raise errors.InvalidArgument(f"batchcast: `{place}` is no function, and takes no options.")
        return found
    return _made(f"python:{text}", found, **options)


def _columns(options: dict[str, str]) -> dict[str, Any]:
    """`label=` is none."""
    return {name: value or None for name, value in options.items()}


def _of_hugging_face(text: str) -> Any:
    from . import sources

    place, options = split_options(text)
    return _made(f"huggingface:{text}", sources.HuggingFace, place, **_columns(options))


def _of_parquet(text: str) -> Any:
    from . import sources

    place, options = split_options(text)
    return _made(f"parquet:{text}", sources.Parquet, place.split(","), **_columns(options))


def open_source(text: str) -> Any:
    """The dataset or loader that a source's text means."""
    kind, _, rest = text.partition(":")
    if not rest:
        raise errors.InvalidArgument(f"batchcast: `{text}` does not say what it is to read.")
    make = {"python": _of_python, "huggingface": _of_hugging_face, "parquet": _of_parquet}[kind]
    return make(rest)


_LISTS = ("place", "host_field", "allow_uid")


def _options_of(words: list[str]) -> dict[str, Any]:
    """What the command hands on: `--name=value` and `--flag`, in which all is checked already."""
    options: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.removeprefix("--").partition("=")
        name = name.replace("-", "_")
        if name in _LISTS:
            options.setdefault(name, []).append(value)
        else:
            options[name] = value if equals else True
    return options


def _report(serving: _serve.Serving, seconds: float) -> Iterator[str]:
    stats = serving.stats
    yield f"stream `{serving.stream}` {stats['state']}: {stats['published']:,} samples"
    yield f" in {seconds:.1f} s, waited {stats['space_wait_seconds']:.1f} s for space"
    if stats["bad_samples"]:
        yield f", {stats['bad_samples']:,} bad samples"


def _serve_source(text: str, options: dict[str, Any]) -> None:
    source = open_source(text)
    epochs = int(options.pop("epochs", "0"))
    begin = time.monotonic()
    serving = _serve.serve_as(
        text, source, options.pop("stream"), options, epochs=epochs or None, background=True,
        progress=True,
    )  # fmt: skip
    try:
        serving.wait()
    except Asked as asked:
        serving.stop(f"its producer got {asked}")
    except errors.Error:
        raise
    except Exception as error:  # a loader's own
        traceback.print_exc()
        _leave(_EXIT_ENVIRONMENT, f"batchcast: `{text}` failed while it was served: {error!r}")
    print("".join(_report(serving, time.monotonic() - begin)), flush=True)


def _leave(code: int, text: str) -> NoReturn:
    print(text, file=sys.stderr, flush=True)
    sys.exit(code)


def serve(words: list[str]) -> NoReturn:
    """`batchcast serve` with these words, the source first; ends the process as the command would."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _on_signal)
    try:
        _serve_source(words[0], _options_of(words[1:]))
    except Asked:
        pass  # while it was opened
    except errors.InvalidArgument as error:
        _leave(_EXIT_USAGE, str(error))
    except (errors.Error, ImportError) as error:
        if not isinstance(error, errors.Error):
            traceback.print_exc()
        _leave(_EXIT_ENVIRONMENT, str(error))
    except Exception as error:
        traceback.print_exc()
        _leave(_EXIT_ENVIRONMENT, f"batchcast: `{words[0]}` cannot be opened: {error!r}")
    sys.exit(0)
