# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What a Loader makes of tokens for language models: the batches that collators make of lists.

Needs torch. Names, shapes and dtypes are those of transformers' DataCollatorWithFlattening and of
TRL's padding-free collator.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.dlpack import from_dlpack

from ._names import did_you_mean
from .errors import InvalidArgument

_IGNORED = -100  # the label of a token that is not trained, for torch's cross entropy
_SAMPLE_ID = "sample_id"
_OFFSETS = "offsets"  # of a window
_WHOLE = ("u8", "i8", "i16", "u16", "i32", "u32", "i64", "u64")

_FLAT = (
    "input_ids", "labels", "position_ids", "cu_seq_lens_q", "cu_seq_lens_k", "max_length_q",
    "max_length_k", "seq_idx",
)  # fmt: skip
_PADDED = ("input_ids", "attention_mask", "labels")
_WINDOW = ("input_ids", "labels", "position_ids")
_WINDOW_AND_ONE = ("input_ids", "targets", "position_ids")
TEXT_NAMES = frozenset((*_FLAT, *_PADDED, "targets"))

Ints = npt.NDArray[np.int64]


class TextForm:
    """Which batches of tokens a loader gives, and of which fields. Can be pickled."""

    def __init__(
        self,
        padded: bool,
        tokens: str = "tokens",
        loss_mask: str | bool | None = None,
        pad_token_id: int | None = None,
        multiple_of: int = 1,
        extra: int = 0,
    ) -> None:
        if not isinstance(tokens, str):
            raise InvalidArgument(f"batchcast: tokens={tokens!r}: it is the name of a field")
        if not (loss_mask is None or loss_mask is False or isinstance(loss_mask, str)):
            raise InvalidArgument(
                f"batchcast: loss_mask={loss_mask!r}: it is the name of a field, or False where all"
                " tokens are trained"
            )
        is_id = isinstance(pad_token_id, int) and not isinstance(pad_token_id, bool)
        if padded and not (is_id and pad_token_id is not None and pad_token_id >= 0):
            raise InvalidArgument(
                f"batchcast: pad_token_id={pad_token_id!r}: it is a whole number from 0 on, the id of"
                " the tokenizer's pad token, or of its EOS where it has none"
            )
        self.counts = Seen()
        self._pads = padded
        self._tokens = tokens
        self._loss_mask = loss_mask
        self._pad = pad_token_id or 0
        self._multiple = multiple_of
        self._extra = extra

    @staticmethod
    def of(
        ragged: str,
        tokens: str | None,
        loss_mask: str | bool | None,
        pad_token_id: int | None,
        multiple_of: int,
        extra: int,
    ) -> TextForm | None:
        """The form that these options of a Loader ask for; None where they ask for none."""
        if ragged == "varlen" and pad_token_id is not None:
            raise InvalidArgument(
                'batchcast: pad_token_id is for ragged="padded": batches of ragged="varlen" have no'
                " padding"
            )
        if ragged == "varlen" or (ragged == "padded" and pad_token_id is not None):
            name = "tokens" if tokens is None else tokens
            return TextForm(ragged == "padded", name, loss_mask, pad_token_id, multiple_of, extra)
        given = {"tokens": tokens, "loss_mask": loss_mask, "pad_token_id": pad_token_id}
        for option, value in given.items():
            if value is not None:
                raise InvalidArgument(
                    f"batchcast: {option}={value!r} is for batches of language models: say"
                    ' ragged="varlen", or ragged="padded" with a pad_token_id'
                )
        return None

    @contextlib.contextmanager
    def unseen(self) -> Iterator[None]:
        """For a batch that is looked at and comes again: its tokens do not count."""
        masked, padding = self.counts.masked, self.counts.padding
        try:
            yield
        finally:
            self.counts.masked, self.counts.padding = masked, padding

    def check_cut(self, budget: Any, window: Any) -> None:
        """Throws InvalidArgument for a way of cutting batches that the form does not have."""
        if not self._pads and budget is None and window is None:
            raise InvalidArgument(
                'batchcast: ragged="varlen" needs a budget, such as budget=("tokens", 16384), or a'
                ' window, such as window=("tokens", 2048, 8): a batch of a fixed number of texts has'
                ' no bound on its tokens. Beside a budget, batch_size is the most texts of one.'
                ' For a fixed number say ragged="padded" with a pad_token_id.'
            )
        if self._pads and window is not None:
            raise InvalidArgument(
                "batchcast: pad_token_id is for batches of whole texts, and the runs of a window have"
                ' no padding: say ragged="varlen"'
            )
        if self._extra > 1:
            raise InvalidArgument(
                f'batchcast: extra={self._extra}: with ragged="varlen" it is 0, or 1 for `targets`'
            )

    def default_names(self, consumer: Any) -> tuple[str, ...]:
        """What a batch has where `fields` says nothing."""
        if self._pads:
            return _PADDED
        if consumer.window is None:
            return _FLAT
        return _WINDOW_AND_ONE if self._extra else _WINDOW

    def _known_names(self, consumer: Any) -> frozenset[str]:
        if self._pads:
            return frozenset((*_PADDED, "position_ids"))
        if consumer.window is None:
            return frozenset((*_FLAT, "targets"))
        return frozenset((*_WINDOW, *_WINDOW_AND_ONE) if self._extra else _WINDOW)

    def batches(
        self, consumer: Any, names: Sequence[str], others: Callable[[Sequence[str]], Any]
    ) -> Callable[[Any], list[Any]]:
        """How a batch becomes the values of these names. `others` makes that of the names of fields.

        Throws InvalidArgument where the stream has no such tokens."""
        specs = {field.name: field for field in consumer.schema}
        axis = self._check_tokens(consumer, specs)
        cut = consumer.window or consumer.budget
        if cut is not None and cut[0] != axis:
            raise InvalidArgument(
                f"batchcast: the tokens of stream `{consumer.stream}` lie on the axis `{axis}`, and"
                f" its batches are cut by `{cut[0]}`: say the budget or the window on `{axis}`."
            )
        mask = self._mask_of(consumer, specs, axis)
        known = self._known_names(consumer)
        for name in names:
            if name in known or name in specs or name == _SAMPLE_ID:
                continue
            if name in TEXT_NAMES:
                raise InvalidArgument(_why_not(name, self._pads, consumer))
            if name != _OFFSETS or consumer.window is None:
                raise InvalidArgument(_no_such(name, known, specs, consumer))
        made = [name for name in names if name in known]
        rest = [name for name in names if name not in known]
        maker = _Batches(
            consumer, self._tokens, mask, specs[self._tokens].dtype == "i64", self.counts
        )
        if self._pads:
            make = maker.padded(self._pad, self._multiple)
        else:
            make = maker.flat if consumer.window is None else maker.window
        if not rest:
            return lambda batch: make(batch, names)
        others_of = others(rest)

        def both(batch: Any) -> list[Any]:
            values = dict(zip(made, make(batch, made)))
            values.update(zip(rest, others_of(batch)))
            return [values[name] for name in names]

        return both

    def _check_tokens(self, consumer: Any, specs: dict[str, Any]) -> str:
        """The axis of its tokens."""
        stream, name = consumer.stream, self._tokens
        if name not in specs:
            on_axes = [one for one, spec in specs.items() if _axis_of(spec) is not None]
            there = f"Fields on an axis: {', '.join(on_axes)}" if on_axes else "No field is on an axis"
            raise InvalidArgument(
                f"batchcast: stream `{stream}` has no field `{name}`, of which a batch of tokens is"
                f" made. {there}. The option `tokens` names another.{did_you_mean(name, list(specs))}"
            )
        spec = specs[name]
        axis = _axis_of(spec)
        if axis is None or len(spec.shape) != 1:
            raise InvalidArgument(
                f"batchcast: field `{name}` of stream `{stream}` has the shape {list(spec.shape)}, and"
                ' tokens are one number for each row of an axis, such as [tokens]: serve them with'
                f' axes={{"tokens": "{name}"}}'
            )
        if spec.dtype not in _WHOLE:
            raise InvalidArgument(
                f"batchcast: field `{name}` of stream `{stream}` is {spec.dtype}, and tokens are whole"
                " numbers. The option `tokens` names another field."
            )
        return axis

    def _mask_of(self, consumer: Any, specs: dict[str, Any], axis: str) -> str | None:
        if self._loss_mask is False:
            return None
        asked = isinstance(self._loss_mask, str)
        name = str(self._loss_mask) if asked else "loss_mask"
        if name not in specs:
            if not asked:
                return None
            raise InvalidArgument(
                f"batchcast: stream `{consumer.stream}` has no field `{name}`, which the option"
                " `loss_mask` names. loss_mask=False trains all tokens."
                f"{did_you_mean(name, list(specs))}"
            )
        spec = specs[name]
        if _axis_of(spec) != axis or len(spec.shape) != 1:
            raise InvalidArgument(
                f"batchcast: the loss mask `{name}` of stream `{consumer.stream}` has the shape"
                f" {list(spec.shape)}, and the tokens `{self._tokens}` have [{axis}]: a mask has one"
                " number for each token. loss_mask=False trains all tokens."
            )
        if spec.dtype not in (*_WHOLE, "bool"):
            raise InvalidArgument(
                f"batchcast: the loss mask `{name}` of stream `{consumer.stream}` is {spec.dtype}, and"
                " a mask is u8: 0 where a token is not trained. loss_mask=False trains all tokens."
            )
        return name


def _axis_of(spec: Any) -> str | None:
    axis = spec.shape[0] if spec.shape else None
    return axis if isinstance(axis, str) else None


def _why_not(name: str, pads: bool, consumer: Any) -> str:
    begin = f"batchcast: batches of stream `{consumer.stream}` have no `{name}` "
    if pads:
        return begin + 'with padding: ragged="varlen" makes it.'
    if name == "attention_mask":
        return begin + 'without padding: ragged="padded" with a pad_token_id makes it.'
    if name == "targets":
        return begin + "without the token after each run: say extra=1."
    return begin + "with a window, whose runs are cut through texts. `offsets` says where these begin."


def _no_such(name: str, known: frozenset[str], specs: dict[str, Any], consumer: Any) -> str:
    made = [one for one in (*_FLAT, "attention_mask", "targets") if one in known]
    fields = [*specs, _SAMPLE_ID]
    if consumer.window is not None:
        axis = consumer.window[0]
        fields = [one for one, spec in specs.items() if _axis_of(spec) == axis]
        fields += [_SAMPLE_ID, _OFFSETS]
    return (
        f"batchcast: batches of stream `{consumer.stream}` have no `{name}`. Of tokens there are"
        f" {', '.join(made)}; of the stream's fields {', '.join(dict.fromkeys(fields))}."
        f"{did_you_mean(name, [*made, *fields])}"
    )


class Seen:
    """What a loader saw of the tokens that it made batches of."""

    def __init__(self) -> None:
        self.masked = 0
        self.padding = 0


class _Batches:
    """Makes the values of some names of a batch. They are new arrays, but for tokens that are i64."""

    def __init__(
        self, consumer: Any, tokens: str, mask: str | None, are_views: bool, seen: Seen
    ) -> None:
        self._stream = consumer.stream
        self._run = 0 if consumer.window is None else consumer.window[1]
        self._tokens = tokens
        self._mask = mask
        self._are_views = are_views
        self._seen = seen

    def _rows(self, batch: Any) -> tuple[Any, Any]:
        """Tokens and mask of all rows."""
        tokens = batch[self._tokens]
        mask = None if self._mask is None else batch[self._mask]
        if self._run:
            if mask is not None:
                self._see(mask[:, : self._run])
            return tokens, mask
        if mask is not None:
            self._see(mask.values)
        return tokens.values, None if mask is None else mask.values

    def _see(self, mask: Any) -> None:
        self._seen.masked += mask.size - int(np.count_nonzero(mask))

    def _ids(self, batch: Any, tokens: Any) -> torch.Tensor:
        if not self._are_views:
            return torch.from_numpy(tokens.astype(np.int64))
        return from_dlpack(batch._writable_capsules((self._tokens,), False)[0])

    @staticmethod
    def _labels(tokens: Any, mask: Any) -> Ints:
        labels: Ints = tokens.astype(np.int64)
        if mask is not None:
            np.copyto(labels, _IGNORED, where=mask == 0)
        return labels

    def flat(self, batch: Any, names: Sequence[str]) -> list[Any]:
        """Of whole texts, one after the other."""
        tokens, mask = self._rows(batch)
        offsets = _without_empty(batch.offsets(self._tokens))
        if len(offsets) == 1:
            raise InvalidArgument(
                f"batchcast: a batch of stream `{self._stream}` has no token: its {batch.size} texts"
                " are empty. Leave empty texts out of the dataset."
            )
        starts, lengths = offsets[:-1], np.diff(offsets)
        values: dict[str, Any] = {}

        def value_of(name: str) -> Any:
            if name == "input_ids":
                return self._ids(batch, tokens)[None]
            if name == "labels":
                labels = self._labels(tokens, mask)
                labels[starts] = _IGNORED
                return torch.from_numpy(labels)[None]
            if name == "targets":
                targets = np.empty(len(tokens), np.int64)
                targets[:-1] = self._labels(tokens[1:], None if mask is None else mask[1:])
                targets[offsets[1:] - 1] = _IGNORED
                return torch.from_numpy(targets)[None]
            if name == "position_ids":
                places = np.arange(len(tokens))
                places -= np.repeat(starts, lengths)
                return torch.from_numpy(places)[None]
            if name == "seq_idx":
                texts = np.arange(len(lengths), dtype=np.int32)
                return torch.from_numpy(np.repeat(texts, lengths))[None]
            if name.startswith("cu_seq_lens"):
                return torch.from_numpy(offsets.astype(np.int32))
            return int(lengths.max())

        for name in names:
            twin = name[:-1] + "q" if name.endswith("_k") else name
            if twin not in values:
                values[twin] = value_of(twin)
            values[name] = values[twin]
        return [values[name] for name in names]

    def window(self, batch: Any, names: Sequence[str]) -> list[Any]:
        """Of runs of one length, which are cut through texts."""
        tokens, mask = self._rows(batch)
        run = self._run
        before = slice(0, run)

        def value_of(name: str) -> torch.Tensor:
            if name == "input_ids":
                if self._are_views:
                    return self._ids(batch, tokens)[:, before]
                return torch.from_numpy(tokens[:, before].astype(np.int64))
            if name == "position_ids":
                return torch.arange(run).repeat(len(tokens), 1)
            part = slice(1, run + 1) if name == "targets" else before
            return torch.from_numpy(
                self._labels(tokens[:, part], None if mask is None else mask[:, part])
            )

        return [value_of(name) for name in names]

    def padded(self, pad: int, multiple: int) -> Callable[[Any, Sequence[str]], list[Any]]:
        """Of whole texts, each a line that is filled up."""

        def make(batch: Any, names: Sequence[str]) -> list[Any]:
            tokens, mask = self._rows(batch)
            lengths = np.diff(batch.offsets(self._tokens))
            most = -(-int(lengths.max(initial=0)) // multiple) * multiple
            is_there = np.arange(most) < lengths[:, None]
            self._seen.padding += is_there.size - len(tokens)

            def lines(fill: int, values: Any) -> torch.Tensor:
                made = np.full(is_there.shape, fill, np.int64)
                made[is_there] = values
                return torch.from_numpy(made)

            def value_of(name: str) -> torch.Tensor:
                if name == "input_ids":
                    return lines(pad, tokens)
                if name == "labels":
                    return lines(_IGNORED, self._labels(tokens, mask))
                if name == "position_ids":
                    places = np.broadcast_to(np.arange(most), is_there.shape)
                    return lines(0, places[is_there])
                return torch.from_numpy(is_there.astype(np.int64))

            return [value_of(name) for name in names]

        return make


def _without_empty(offsets: Ints) -> Ints:
    """Those of the texts that have a token: an attention over texts wants no empty one."""
    is_text = offsets[1:] > offsets[:-1]
    if is_text.all():
        return offsets
    return np.concatenate((offsets[:1], offsets[1:][is_text]))
