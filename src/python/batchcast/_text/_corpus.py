# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""A corpus on disk: its key, its files while they grow, and what is left of a run that was ended."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadDataset, Error, InvalidArgument
from ._documents import Documents
from ._indexed import write_index
from ._rows import BadRow, OtherColumns, Source, columns_of, open_rows
from ._tokenizer import digest_of, is_small, load_tokenizer, versions
from ._workers import Maker, Result, Workers

_FORMAT = 1  # of what is written: another one is another key
_JOURNAL_S = 0.5
_LOOK_S = 0.1
_TOLD_MAX = 20
_CURES = {code: "Make room. " for code in (errno.ENOSPC, errno.EDQUOT)}
Report = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What is asked for."""

    source: str
    tokenizer: str
    out: str = ""
    chat_template: str | None = None
    train_on: str = "assistant"
    eos: bool = True
    test: float = 0.0
    on_bad_sample: str = "error"
    workers: int = 0
    under_key: bool = False  # `out` is a folder in which the key names the corpus


@dataclass
class Counts:
    rows: int = 0
    documents: int = 0
    tokens: int = 0
    trained: int = 0
    test_documents: int = 0
    test_tokens: int = 0
    test_trained: int = 0
    empty: int = 0
    bad: int = 0


@dataclass
class _State:
    """A line of the journal: all before piece `pieces` is in the files, which have these sizes."""

    pieces: int = 0
    sizes: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    bad: list[str] = field(default_factory=list)


class Corpus:
    """Makes one corpus. `report` gets lines for people, `progress` what changes all the time."""

    def __init__(self, plan: Plan, report: Report, progress: Any) -> None:
        self._plan = plan
        self._report = report
        self._progress = progress
        self._tokenizer = load_tokenizer(plan.tokenizer)
        self._source = open_rows(plan.source)
        self._documents = Documents(
            self._tokenizer,
            self._source.options.get("column"),
            plan.train_on,
            plan.eos,
            plan.chat_template,
        )
        self._settle_form()
        self._dtype = np.uint16 if is_small(self._tokenizer) else np.int32
        self._identity = self._source.identity()
        self.key = self._key()
        out = os.path.abspath(os.path.expanduser(plan.out))
        self.prefix = os.path.join(out, self.key, "corpus") if plan.under_key else out
        self._make_folder()

    def _make_folder(self) -> None:
        folder = Path(self.prefix).parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Error(
                f"batchcast: {folder}: the corpus cannot be written there: {error.strerror}. "
                "Choose another --out."
            ) from error
        if not os.access(folder, os.W_OK | os.X_OK):
            raise Error(f"batchcast: {folder} cannot be written. Choose another --out.")

    def _settle_form(self) -> None:
        first: BadRow | None = None
        where = ""
        for piece in self._source.pieces:
            for row in self._source.read(piece):
                try:
                    self._documents.settle(columns_of(row))
                    return
                except BadRow as bad:
                    if first is None:
                        first, where = bad, self._source.name_of(piece, row.place)
                    if self._plan.on_bad_sample == "error":
                        raise BadDataset(_first_text(where, bad)) from None
        if first is not None:
            raise BadDataset(_first_text(where, first))
        raise BadDataset(f"batchcast: `{self._plan.source}` has no rows: its lines are empty.")

    def _key(self) -> str:
        options = dict(sorted(self._source.options.items()))
        options.pop("split", None)  # which of both is served
        told = {
            "format": _FORMAT,
            "tokenizer": digest_of(self._tokenizer),
            "template": self._documents.template,
            "form": self._documents.form,
            "kind": self._source.kind,
            "options": options,
            "train_on": self._plan.train_on,
            "eos": self._plan.eos,
            "test": self._plan.test,
            "on_bad_sample": self._plan.on_bad_sample,
            **versions(),
            "sources": self._identity,
        }
        words = json.dumps(told, sort_keys=True).encode()
        return hashlib.sha256(words).hexdigest()[:32]

    # ---- what is there

    def _path(self, ending: str) -> Path:
        return Path(self.prefix + ending)

    def manifest(self) -> dict[str, Any] | None:
        """That of the finished corpus; None where there is none with this key."""
        try:
            told: dict[str, Any] = json.loads(self._path(".json").read_bytes())
        except (OSError, ValueError):
            return None
        return told if isinstance(told, dict) and told.get("key") == self.key else None

    def make(self) -> dict[str, Any]:
        """Makes what is missing, and returns the manifest. One process at a time does so."""
        lock = os.open(self._path(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o666)
        try:
            self._take(lock)
            told = self.manifest()
            if told is not None:
                self._remove_unfinished()  # of a run that was ended as it finished
                self._report(f"{self.prefix} is there already: {_counted(told)}")
                return told
            if self._is_ours():
                self._take_back()
            else:
                self._refuse_other()
            return self._run()
        finally:
            os.close(lock)

    def _take(self, lock: int) -> None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            self._report(f"another process tokenises into {self.prefix}: waiting for it")
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                self._progress.wait(self._share_of_other())
                time.sleep(_LOOK_S)

    def _share_of_other(self) -> float:
        """How far the process that holds the lock has got, as its journal says."""
        try:
            last = self._path(".journal").read_text().splitlines()[-1]
            return int(json.loads(last).get("pieces", 0)) / max(1, len(self._source.pieces))
        except (OSError, ValueError, IndexError):
            return 0.0

    def _is_ours(self) -> bool:
        """Whether a run with this key was ended."""
        try:
            with open(self._path(".journal")) as journal:
                return bool(json.loads(journal.readline()) == {"key": self.key})
        except (OSError, ValueError):
            return False

    def _take_back(self) -> None:
        """Gives the files of a run that was ended as it finished their unfinished names."""
        for name in _NAMES:
            path, part = self._path(name), self._path(name + ".part")
            if path.exists() and not part.exists():
                os.replace(path, part)

    def _refuse_other(self) -> None:
        for ending in (".bin", ".idx", ".json"):
            if self._path(ending).exists():
                raise InvalidArgument(
                    f"batchcast: {self.prefix}{ending} is there, of other rows, another tokenizer or "
                    "other options. Choose another --out, or remove that corpus: "
                    f"rm {self.prefix}.*"
                )

    # ---- a run

    def _run(self) -> dict[str, Any]:
        state = self._state_left()
        self._check_space(state)
        if not self._is_ours():
            self._path(".journal").write_text(json.dumps({"key": self.key}) + "\n")
        files = _Files(self.prefix, self._documents.has_mask, self._plan.test > 0, state.sizes)
        try:
            done = self._fill(files, state)
        except OSError as error:
            raise Error(
                f"batchcast: {error.filename or self.prefix}: {error.strerror or error}. "
                f"{_CURES.get(error.errno or 0, '')}The same command goes on from here."
            ) from error
        finally:
            files.close()
        if self._source.identity() != self._identity:
            self._remove_unfinished()
            raise BadDataset(
                f"batchcast: the files of `{self._plan.source}` were changed while they were read. "
                "Run it again once they stay as they are."
            )
        return self._finish(done)

    def _state_left(self) -> _State:
        """Where a run that was ended has got to."""
        if self._is_ours():
            lines = self._path(".journal").read_text().splitlines()
        else:
            if self._path(".journal").exists():
                self._report("what is left of a run with other rows or options is removed")
            self._remove_unfinished()
            return _State()
        for line in reversed(lines[1:]):
            try:
                state = _State(**json.loads(line))
            except (ValueError, TypeError):  # the last one, half written
                continue
            if all(_size_of(self._path(name + ".part")) >= size
                   for name, size in state.sizes.items()):  # fmt: skip
                share = state.pieces / max(1, len(self._source.pieces))
                self._report(f"going on at {share:.0%}, where an earlier run was ended")
                return state
        return _State()

    def _remove_unfinished(self) -> None:
        for ending in [name + ".part" for name in _NAMES] + [".journal"]:
            self._path(ending).unlink(missing_ok=True)

    def _check_space(self, state: _State) -> None:
        left = sum(piece.weight for piece in self._source.pieces[state.pieces :])
        read = sum(piece.weight for piece in self._source.pieces[: state.pieces])
        if read:  # what was made of that says it best
            needed = left * sum(state.sizes.values()) // read
        else:
            width = np.dtype(self._dtype).itemsize + (1 if self._documents.has_mask else 0)
            needed = left // 4 * width + left // 100
        free = shutil.disk_usage(Path(self.prefix).parent).free
        if free < needed:
            raise Error(
                f"batchcast: {Path(self.prefix).parent} has {_size_text(free)} free, and "
                f"{'what is left of ' if read else ''}the corpus takes about {_size_text(needed)}. "
                "Make room, or choose another place."
            )

    def _fill(self, files: _Files, state: _State) -> _State:
        pieces = self._source.pieces
        maker = Maker(
            self._source, self._documents, self._tokenizer, self._dtype, self._plan.test
        )
        count = min(self._plan.workers or len(os.sched_getaffinity(0)), max(1, len(pieces)))
        counts = Counts(**state.counts)
        before = sum(piece.weight for piece in pieces[: state.pieces])
        self._progress.begin(before, self._source.weight)
        workers = Workers(maker, pieces, count)
        written = time.monotonic()
        # An interrupt may come between any two lines: this is one that all files agree with.
        whole = state
        try:
            for result in workers.results(state.pieces):
                self._progress.show(before, counts.tokens + counts.test_tokens)
                if result is None:
                    continue
                bad = self._with_bad(result, whole)
                files.add(result)
                _count(counts, result, np.dtype(self._dtype).itemsize)
                before += pieces[whole.pieces].weight
                whole = _State(whole.pieces + 1, files.sizes(), asdict(counts), bad)
                if time.monotonic() - written >= _JOURNAL_S:
                    self._note(files, whole)
                    written = time.monotonic()
        finally:
            workers.close()
            self._note(files, whole)
            self._progress.end(before, counts.tokens + counts.test_tokens)
        return whole

    def _with_bad(self, result: Result, state: _State) -> list[str]:
        """The bad rows so far, with those of the piece that follows."""
        all_bad = list(state.bad)
        for place, why in result.bad:
            where = self._source.name_of(self._source.pieces[state.pieces], place)
            if self._plan.on_bad_sample == "error":
                raise BadDataset(_bad_text(where, why))
            if len(all_bad) == _TOLD_MAX:
                break
            all_bad.append(f"{where}: {why}")
            self._report(f"left out: {where}: {why}")
        return all_bad

    def _note(self, files: _Files, state: _State) -> None:
        """Writes to the journal what is safely in the files."""
        files.sync()
        with open(self._path(".journal"), "a") as journal:
            journal.write(json.dumps(asdict(state)) + "\n")

    def _finish(self, done: _State) -> dict[str, Any]:
        counts = Counts(**done.counts)
        if counts.documents == 0:
            self._remove_unfinished()
            raise BadDataset(
                f"batchcast: `{self._plan.source}` has no document to train on: {counts.rows} rows were "
                f"read, {counts.bad} are bad, {counts.empty} have no token and {counts.test_documents} "
                "are test rows."
            )
        for split in ("", ".test") if self._plan.test > 0 else ("",):
            lengths = np.fromfile(self._path(split + ".lengths.part"), dtype=np.int32)
            if split and len(lengths) == 0:
                continue
            write_index(self._path(split + ".idx.part"), self._dtype, lengths)
            manifest = self._manifest(done, len(lengths), int(lengths.sum(dtype=np.int64)), split)
            for ending in (".bin", ".loss_mask", ".idx"):
                part = self._path(split + ending + ".part")
                if part.exists():
                    os.replace(part, self._path(split + ending))
            partial = self._path(split + ".json.part")
            partial.write_text(json.dumps(manifest, indent=1) + "\n")
            if split:
                os.replace(partial, self._path(split + ".json"))
        os.replace(self._path(".json.part"), self._path(".json"))  # last: all is there
        self._remove_unfinished()
        told = self.manifest()
        assert told is not None
        return told

    def _manifest(
        self, done: _State, documents: int, tokens: int, split: str
    ) -> dict[str, Any]:
        return {
            "batchcast_corpus": _FORMAT,
            "key": self.key,
            "split": split.lstrip(".") or "train",
            "documents": documents,
            "tokens": tokens,
            "source": self._plan.source,
            "tokenizer": self._plan.tokenizer,
            "eos_token_id": self._tokenizer.eos_token_id,
            "pad_token_id": self._tokenizer.pad_token_id,
            "vocabulary": len(self._tokenizer),
            "dtype": np.dtype(self._dtype).name,
            "form": self._documents.form,
            "train_on": self._plan.train_on,
            "eos": self._plan.eos,
            "test": self._plan.test,
            "counts": done.counts,
            "left_out": done.bad,
            "versions": versions(),
        }


_NAMES = tuple(
    split + name
    for split in ("", ".test")
    for name in (".bin", ".loss_mask", ".lengths", ".idx", ".json")
)


class _Files:
    """The files that grow, opened at the sizes that a journal says."""

    def __init__(self, prefix: str, has_mask: bool, has_test: bool, sizes: dict[str, int]) -> None:
        self._files: dict[str, Any] = {}
        for split in ("", ".test") if has_test else ("",):
            for name in (".bin", ".lengths", *([".loss_mask"] if has_mask else [])):
                path = f"{prefix}{split}{name}.part"
                file = open(path, "r+b" if os.path.exists(path) else "w+b")  # noqa: SIM115
                file.truncate(sizes.get(split + name, 0))
                file.seek(0, os.SEEK_END)
                self._files[split + name] = file

    def add(self, result: Result) -> None:
        for split, part in result.parts.items():
            head = "" if split == "train" else ".test"
            self._files[head + ".bin"].write(part.tokens)
            self._files[head + ".lengths"].write(part.lengths)
            if head + ".loss_mask" in self._files:
                self._files[head + ".loss_mask"].write(part.mask)

    def sizes(self) -> dict[str, int]:
        return {name: file.tell() for name, file in self._files.items()}

    def sync(self) -> None:
        for file in self._files.values():
            file.flush()
            os.fdatasync(file.fileno())

    def close(self) -> None:
        for file in self._files.values():
            file.close()


def _count(counts: Counts, result: Result, width: int) -> None:
    counts.rows += result.rows
    counts.empty += result.empty
    counts.bad += result.bad_count
    for split, part in result.parts.items():
        documents, tokens = len(part.lengths) // 4, len(part.tokens) // width
        if split == "train":
            counts.documents += documents
            counts.tokens += tokens
            counts.trained += part.trained
        else:
            counts.test_documents += documents
            counts.test_tokens += tokens
            counts.test_trained += part.trained


def _size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else -1


def _size_text(count: int) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"


def _bad_text(where: str, why: str) -> str:
    return (
        f"batchcast: {where}: {why}. Repair it, or leave such rows out: --on-bad-sample skip."
    )


def _first_text(where: str, bad: BadRow) -> str:
    """Of the first row, which says what all are. To leave it out is no cure of columns."""
    return f"batchcast: {where}: {bad}." if isinstance(bad, OtherColumns) else _bad_text(where, str(bad))


def counted(number: int, what: str) -> str:
    """`1 document`, `1,234 documents`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _counted(told: dict[str, Any]) -> str:
    return f"{counted(told['documents'], 'document')}, {counted(told['tokens'], 'token')}"
