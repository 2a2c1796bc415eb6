# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What calls say about arguments that they do not have."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

# Options that bc.serve does not have, and what has them.
_ELSEWHERE = {
    "batch_size": "Each trainer chooses its own batch size, as in bc.Loader(stream, batch_size=64).",
}

Call = TypeVar("Call", bound=Callable[..., Any])


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence that begins with a space; "" where nothing is near."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean `{near[0]}`?" if near else ""


def refuse_unknown(call: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raises TypeError for the first name that is not known, with the one that was meant."""
    known = list(known)
    for name in given:
        if name in known:
            continue
        meant = f" {_ELSEWHERE[name]}" if name in _ELSEWHERE else did_you_mean(name, known)
        raise TypeError(f"batchcast: {call}(): there is no argument `{name}`.{meant}")


def checks_names(call: Call) -> Call:
    """A function, or a class's __init__, that says what was meant where it is called with a name that
    it does not have."""
    known = [
        name
        for name, parameter in inspect.signature(call).parameters.items()
        if parameter.kind is not inspect.Parameter.POSITIONAL_ONLY and name != "self"
    ]
    called = call.__qualname__.removesuffix(".__init__")

    @functools.wraps(call)
    def checked(*arguments: Any, **options: Any) -> Any:
        refuse_unknown(called, options, known)
        return call(*arguments, **options)

    return cast(Call, checked)
