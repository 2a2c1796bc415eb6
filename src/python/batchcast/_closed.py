# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What a `with` block closes."""

from __future__ import annotations

from types import TracebackType
from typing import TypeVar

Self = TypeVar("Self", bound="ClosedByBlock")


class ClosedByBlock:
    """A context manager whose block closes it, in any case."""

    def _leave_block(self) -> None:
        raise NotImplementedError

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave_block()
