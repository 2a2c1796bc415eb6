# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: numpy torch-1.13
"""bc.serve of datasets in Python: C++ threads read them, decode, augment and order."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import batchcast as bc
import made_data
import numpy as np
import pytest
import support
from batchcast import _serving
from batchcast._processes import Readers


def served(source: Any, **options: Any) -> dict[str, np.ndarray[Any, Any]]:
    """The one epoch that a stream of it has."""
    options = {"stream": "s", "epochs": 1, "memory": "1MiB", "background": True} | options
    with bc.serve(source, **options) as serving:
        consumer = bc.Consumer(options["stream"], 7)
        if isinstance(source, made_data.Late):
            source.attached.set()
        epoch = made_data.epoch_of(consumer)
        del consumer
        assert serving.wait(10), serving
        assert serving.stats["state"] == "finished"
    return epoch


class Paths:
    """Files of images by their paths."""

    def __init__(self, samples: list[tuple[Path, int]]) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Path, int]:
        return self.samples[index]


class Undecoded(made_data.Images):
    """As Hugging Face has images that are not decoded."""

    def __getitem__(self, index: int) -> dict[str, Any]:
        item = super().__getitem__(index)
        return {"image": {"bytes": item["image"], "path": None}, "label": np.int64(item["label"])}


@pytest.mark.parametrize("kind", [made_data.Images, Paths, Undecoded])
@pytest.mark.parametrize("workers", [1, 3])
def test_a_source_makes_what_the_image_folder_makes(
    directory: Path, tmp_path: Path, kind: Any, workers: int
) -> None:
    samples = made_data.image_folder(tmp_path / "images")
    recipe = made_data.recipe_file(tmp_path)
    epoch = served(kind(samples), recipe=recipe, seed=3, workers=workers)
    folder = served(f"imagefolder:{tmp_path / 'images'}", recipe=recipe, seed=3)
    assert list(epoch) == ["image", "label"] and epoch["image"].shape == (10, 3, 16, 16)
    for name, values in folder.items():
        np.testing.assert_array_equal(epoch[name], values)


@pytest.mark.parametrize(
    ("source", "names", "dtypes"),
    [
        ([(np.full(3, i, np.float32), i) for i in range(20)], ["image", "label"], "fl"),
        ([np.full(3, i, np.float32) for i in range(20)], ["data"], "f"),
        (np.repeat(np.arange(20.0), 3).reshape(20, 3), ["data"], "d"),
        ([{"x": i, "y": float(i), "z": i > 3} for i in range(20)], ["x", "y", "z"], "ld?"),
        ([[i, i + 1] for i in range(20)], ["data"], "l"),
    ],
)
def test_what_has_length_and_items_is_a_dataset(
    directory: Path, source: Any, names: list[str], dtypes: str
) -> None:
    epoch = served(source)
    assert [(name, values.dtype.char) for name, values in epoch.items()] == list(zip(names, dtypes))
    first = epoch[names[0]].reshape(20, -1)[:, 0]
    assert sorted(first.tolist()) == list(range(20)) and first.tolist() != sorted(first.tolist())
    assert served(source, order="sequential")[names[0]].reshape(20, -1)[:, 0].tolist() == list(
        range(20)
    )


def test_fields_names_and_chooses(directory: Path) -> None:
    pairs = [(np.zeros(2), i) for i in range(5)]
    assert list(served(pairs, fields=("a", "b"))) == ["a", "b"]
    assert list(served(made_data.Numbers(5), fields=["label"])) == ["label"]
    with pytest.raises(bc.InvalidArgument, match="2 values, and `fields` names 1: a"):
        bc.serve(pairs, stream="s", fields=("a",), background=True)
    with pytest.raises(bc.InvalidArgument, match="has no `y`. It has `x`, `label`"):
        bc.serve(made_data.Numbers(), stream="s", fields=("y",), background=True)
    with pytest.raises(bc.InvalidArgument, match="has no `lable`. Did you mean `label`. It has `x`"):
        bc.serve(made_data.Numbers(), stream="s", fields=("lable",), background=True)


def test_a_fingerprint_makes_it_pure(directory: Path, tmp_path: Path) -> None:
    samples = made_data.image_folder(tmp_path / "images")
    recipe = made_data.recipe_file(tmp_path)
    identities = []
    for source in (
        made_data.Images(samples),
        made_data.Images(samples),
        made_data.Images(samples[:9]),
        Paths(samples),
    ):
        with bc.serve(source, stream="s", recipe=recipe, memory="1MiB", background=True):
            consumer = bc.Consumer("s", 4)
            identities.append(consumer.identity)
            assert consumer.pure == hasattr(source, "fingerprint")
            del consumer
    assert identities[0] == identities[1] != identities[2]


def test_an_exception_is_a_bad_sample(directory: Path) -> None:
    serving = bc.serve(
        made_data.Numbers(50, bad=7), stream="s", epochs=1, memory="1MiB", background=True
    )
    with pytest.raises(
        bc.BadSample,
        match=r"Numbers\[7\].*KeyError: 'number 7' \(at .*made_data.py:\d+ in __getitem__",
    ) as raised:
        serving.wait(10)
    cause = raised.value.__cause__
    assert isinstance(cause, KeyError) and cause.__traceback__ is not None
    with pytest.raises(bc.BadSample, match="sample 0 of the Numbers: KeyError"):
        bc.serve(made_data.Numbers(50, bad=0), stream="s", background=True)


def test_a_failure_that_comes_as_soon_as_the_stream_is_raised_by_wait(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SeenLate(_serving.DatasetStream):
        def wait_opened(self, timeout_ms: int) -> bool:
            return self.wait_ended(timeout_ms)

    monkeypatch.setattr(_serving, "DatasetStream", SeenLate)
    numbers = made_data.Numbers(50, bad=7)
    serving = bc.serve(numbers, stream="s", epochs=1, memory="1MiB", background=True)
    with pytest.raises(bc.BadSample, match=r"Numbers\[7\]"):
        serving.wait(10)


@pytest.mark.parametrize("bad", [0, 7])
def test_a_bad_sample_can_be_substituted(directory: Path, tmp_path: Path, bad: int) -> None:
    options: dict[str, Any] = {"stream": "s", "epochs": 1, "memory": "1MiB", "background": True}
    listed = tmp_path / "bad.txt"
    with bc.serve(
        made_data.Numbers(50, bad), on_bad_sample="substitute", bad_list=listed, **options
    ) as serving:
        consumer = bc.Consumer("s", 10)
        labels = made_data.epoch_of(consumer)["label"].tolist()
        del consumer
        assert serving.wait(10) and serving.stats["bad_samples"] == 1
        assert serving.stats["stand_ins"] == 1 and serving.stats["stand_in_times"] >= 1
    assert sorted(labels) == sorted([*range(bad), bad + 1, *range(bad + 1, 50)])
    assert listed.read_text().startswith(f"{bad}\tNumbers[{bad}]\tKeyError: 'number {bad}'")


class Changing:
    """The seventh sample is not as the others."""

    def __init__(self, other: Any) -> None:
        self.other = other

    def __len__(self) -> int:
        return 20

    def __getitem__(self, index: int) -> Any:
        return self.other if index == 7 else {"x": np.zeros((2, 3)), "y": 1}

    def name_of(self, index: int) -> str:
        return f"number {index}"


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ({"x": np.zeros((2, 4)), "y": 1}, r"number 7.*it has x f64 \[2,4\], and the first sample has x f64 \[2,3\]"),
        ({"x": np.zeros((2, 3), np.float32), "y": 1}, r"it has x f32"),
        ({"x": [[1, 2], [3]], "y": 1}, "field `x` cannot be served: it is no array"),
        ({"x": np.array([None]), "y": 1}, "field `x` cannot be served: it is objects"),
        ({"x": np.ma.zeros((2, 3)), "y": 1}, "field `x` cannot be served: it is a masked array"),
        ({"x": np.zeros((2, 3)), "y": 1.5}, r"it has y f64 \[\], and the first sample has y i64"),
        ({"x": np.zeros((2, 3)), "y": None}, "field `y` cannot be served: it is None"),
        ({"x": np.zeros((2, 3))}, "it has no `y`, which the first sample has. It has `x`"),
        (3, "it is an int, and the first sample has fields"),
    ],
)  # fmt: skip
def test_a_sample_that_is_not_as_the_first_is_bad(directory: Path, other: Any, text: str) -> None:
    serving = bc.serve(Changing(other), stream="s", epochs=1, memory="1MiB", background=True)
    with pytest.raises(bc.BadSample, match=text):
        serving.wait(10)


def test_files_that_are_gone_are_bad_samples(directory: Path, tmp_path: Path) -> None:
    samples = made_data.image_folder(tmp_path / "images")
    samples[3][0].unlink()
    serving = bc.serve(
        Paths(samples),
        stream="s",
        recipe=made_data.recipe_file(tmp_path),
        epochs=1,
        background=True,
    )
    with pytest.raises(bc.BadSample, match="3.png: No such file"):
        serving.wait(10)


def test_bytes_without_a_stage_that_decodes_them_are_refused(
    directory: Path, tmp_path: Path
) -> None:
    samples = made_data.image_folder(tmp_path / "images")
    with pytest.raises(bc.InvalidArgument, match="image"):
        bc.serve(made_data.Images(samples), stream="s", background=True)


@pytest.mark.parametrize(
    ("sample", "text"),
    [
        (("a caption", 3), "`image` cannot be served: it is text.*out of the samples"),
        ({"text": "a", "label": 3}, r'`text`.*it is text.*its tokens.*fields=\("label",\)'),
        ({"a": "x", "b": "y", "c": 1, "d": 2}, r'`a`.*fields=\("c", "d"\)'),
        ("a caption", "`data` cannot be served: it is text.*recipe.*pathlib"),
        ({"sound": b"RIFF", "label": 3}, "`sound` cannot be served: it is bytes of any length"),
    ],
)
def test_text_without_a_recipe_is_refused(directory: Path, sample: Any, text: str) -> None:
    with pytest.raises(bc.InvalidArgument, match=f"batchcast: sample 0 of the list: .*{text}"):
        bc.serve([sample] * 4, stream="s", memory="1MiB", background=True)
    if isinstance(sample, dict) and "label" in sample:
        names = ("label",)
        assert list(served([sample] * 4, fields=names)) == list(names)


class Hanging(made_data.Numbers):
    """One sample takes until it is told to go on."""

    def __init__(self) -> None:
        super().__init__(200)
        self.inside = threading.Event()
        self.goes_on = threading.Event()

    def __getitem__(self, index: int) -> dict[str, Any]:
        if index == 7:
            self.inside.set()
            self.goes_on.wait()
        return super().__getitem__(index)


def test_a_source_that_hangs_does_not_hold_stop_up(directory: Path) -> None:
    source = Hanging()
    serving = bc.serve(source, stream="s", workers=1, memory="1MiB", background=True)
    consumer = bc.Consumer("s", 10)
    assert source.inside.wait(10)
    watch = support.Stopwatch()
    with pytest.warns(
        RuntimeWarning,
        match=r"did not wait for a worker that still reads sample 7 of Hanging \(for \d",
    ):
        serving.stop("enough")
    assert watch.seconds() < 1.5
    with pytest.raises(bc.Error, match="enough"):
        while True:
            consumer.next()
    del consumer, serving
    gc.collect()
    # Its name is free, and nobody is left to make the door again. (The kernel lists a thread for a
    # moment after it was joined.)
    support.until(lambda: not {"bc-door", "bc-control", "bc-messages"}.intersection(_threads()))
    assert len(served(made_data.Numbers(20))["label"]) == 20
    source.goes_on.set()
    support.until(lambda: "bc-serve" not in _threads())


def _threads() -> list[str]:
    names = []
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended meanwhile
            names.append((task / "comm").read_text().strip())
    return names


def test_an_int_of_more_than_64_bits_is_a_bad_sample(directory: Path) -> None:
    with pytest.raises(
        bc.StreamFailed, match="sample 7, .* it is 9223372036854775808, which is no"
    ) as told:
        served(made_data.Late([2**63 if i == 7 else i for i in range(10)]))
    assert str(told.value).count("batchcast:") == 1


def test_a_path_that_is_not_utf_8(directory: Path, tmp_path: Path) -> None:
    samples = made_data.image_folder(tmp_path / "images")
    recipe = made_data.recipe_file(tmp_path)
    epoch = served([{"image": path, "label": label} for path, label in samples], recipe=recipe)
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/odd-\xff"))
    (tmp_path / "images").rename(odd)
    moved = [(odd / path.relative_to(tmp_path / "images"), label) for path, label in samples]
    there = served([{"image": path, "label": label} for path, label in moved], recipe=recipe)
    for name, values in epoch.items():
        np.testing.assert_array_equal(there[name], values)


@pytest.mark.parametrize("at", [0, 7])
def test_what_is_no_regular_file_is_not_waited_for(
    directory: Path, tmp_path: Path, at: int
) -> None:
    samples = made_data.image_folder(tmp_path / "images")
    os.mkfifo(tmp_path / "fifo")
    parts = [{"image": path, "label": label} for path, label in samples]
    parts[at] = {"image": tmp_path / "fifo", "label": 1}
    with pytest.raises(bc.Error, match="fifo is no regular file"):
        served(made_data.Late(parts), recipe=made_data.recipe_file(tmp_path))


def test_a_path_with_a_nul_is_refused(directory: Path, tmp_path: Path) -> None:
    samples = made_data.image_folder(tmp_path / "images")
    parts = [{"image": path, "label": label} for path, label in samples]
    parts[7] = {"image": Path(f"{samples[7][0]}\0x"), "label": 1}
    with pytest.raises(bc.Error, match="of which there is no file"):
        served(made_data.Late(parts), recipe=made_data.recipe_file(tmp_path))


class Raising:
    """Whose exception has no UTF-8."""

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> int:
        if index == 7:
            raise ValueError("in " + os.fsdecode(b"\xff.jpg") + "\0")
        return index


def test_an_exception_without_utf_8_is_shown(directory: Path) -> None:
    with pytest.raises(bc.StreamFailed, match=r"ValueError: in \\udcff.jpg\\x00"):
        served(made_data.Late(Raising()))


@pytest.mark.parametrize("told", [True, 1.5, b"text", "", np.arange(3), object()])
def test_a_fingerprint_is_a_text_or_whole_number(directory: Path, told: object) -> None:
    source = made_data.Numbers(20)
    source.fingerprint = lambda: told  # type: ignore[attr-defined]
    with pytest.raises(bc.InvalidArgument, match=r"fingerprint\(\) of the Numbers gives"):
        bc.serve(source, stream="s", memory="1MiB", background=True)


EXITING = """
import os, sys, time, numpy as np, batchcast as bc
class Source:
    def __len__(self): return 1000
    def __getitem__(self, index):
        if index == 7 and sys.argv[1] == "hangs":
            os.write(1, b"inside\\n")  # at once: the other worker may be at it in the next epoch
            time.sleep(60)
        return {"x": np.zeros(100), "label": index}
h = bc.serve(Source(), stream="s", workers=2, memory="8MiB", background=True)
input()
"""


@pytest.mark.parametrize("how", ["reads", "hangs"])
def test_the_interpreters_end_stops_it(child: Callable[..., support.Child], how: str) -> None:
    process = child(EXITING, how)
    consumer = bc.Consumer("s", 10)
    assert consumer.next() is not None
    if how == "hangs":
        assert process.line() == "inside"
    process.tell()
    code, _, err = process.finish(timeout=10)
    assert code == 0, err
    assert ("did not wait for a worker" in err) == (how == "hangs")
    with pytest.raises(bc.Error, match="its producer's process ended"):
        while True:
            consumer.next()


def test_processes_read_what_threads_read(directory: Path, tmp_path: Path) -> None:
    samples = made_data.image_folder(tmp_path / "images")
    recipe = made_data.recipe_file(tmp_path)
    epoch = served(made_data.Images(samples), recipe=recipe, processes=2)
    for name, values in served(made_data.Images(samples), recipe=recipe).items():
        np.testing.assert_array_equal(epoch[name], values)
    serving = bc.serve(
        made_data.Numbers(50, bad=7),
        stream="s",
        epochs=1,
        memory="1MiB",
        processes=2,
        background=True,
    )
    with pytest.raises(
        bc.BadSample, match=r"Numbers\[7\].*KeyError: 'number 7' \(at .*made_data.py"
    ):
        serving.wait(10)
    support.until(lambda: not multiprocessing.active_children())


class Odd(Exception):
    """One that is made of other arguments than it keeps."""

    def __init__(self, number: int, place: str) -> None:
        super().__init__(f"{number} in {place}")
        self.place = place


class Unlike(ValueError):
    """One that no other process can make of what this one says."""

    def __reduce__(self) -> Any:
        return Unlike, ("no", "such", "arguments"), {"handle": threading.Lock()}


class Raises(made_data.Numbers):
    def __init__(self, error: Callable[[], BaseException], bad: int = 7) -> None:
        super().__init__(50, bad)
        self.error = error

    def __getitem__(self, index: int) -> Any:
        if index == self.bad:
            raise self.error()
        return super().__getitem__(index)


def local() -> BaseException:
    class Local(KeyError):
        pass

    return Local("nowhere")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (lambda: KeyError("k"), KeyError),
        (lambda: FileNotFoundError(2, "gone", "a.jpg"), FileNotFoundError),
        (lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "why"), UnicodeDecodeError),
        (lambda: Odd(3, "here"), Odd),
        (lambda: Unlike("text"), Unlike),
        (local, KeyError),
        (lambda: ValueError(3_000_000 * "x"), ValueError),
        (lambda: bc.BadDataset("batchcast: cut"), bc.BadDataset),
        (lambda: SystemExit(3), bc.BadSample),
    ],
)
@pytest.mark.parametrize("bad", [0, 7])
def test_what_a_process_raised_is_the_cause(
    directory: Path, error: Callable[[], BaseException], kind: type[BaseException], bad: int
) -> None:
    with pytest.raises(bc.BadSample, match=f"{type(error()).__name__}: ") as raised:
        bc.serve(
            Raises(error, bad), stream="s", memory="1MiB", epochs=1, processes=2,
            order="sequential",
        )  # fmt: skip
    assert type(raised.value.__cause__) is kind
    assert "test_sources.py" in str(raised.value) or kind is bc.BadDataset
    assert len(str(raised.value)) < 10_000
    if kind is FileNotFoundError:
        assert raised.value.__cause__.filename == "a.jpg"  # type: ignore[union-attr]


@pytest.mark.parametrize("refused", [{}, {"memory": "much"}, {"stream": "taken"}])
def test_a_refused_dataset_leaves_no_process(directory: Path, refused: dict[str, Any]) -> None:
    options: dict[str, Any] = {"stream": "s", "memory": "1MiB", "order": "sequential"} | refused
    with bc.serve(made_data.Numbers(50), stream="taken", memory="1MiB", background=True):
        with pytest.raises(bc.Error) as raised:  # which keeps the frames, and what they hold
            bc.serve(made_data.Numbers(50, bad=0), processes=2, **options)
    support.until(lambda: not multiprocessing.active_children())
    assert raised.value.__traceback__ is not None


def test_the_cause_is_known_while_another_worker_is_slow(directory: Path) -> None:
    goes_on = threading.Event()

    class OneHangs(made_data.Numbers):
        lock, hangs = threading.Lock(), False

        def __getitem__(self, index: int) -> Any:
            if threading.current_thread() is not threading.main_thread():
                with self.lock:
                    is_first, self.hangs = not self.hangs, True
                if not is_first:
                    raise KeyError(f"number {index}")
                goes_on.wait(30)
            return super().__getitem__(index)

    serving = bc.serve(OneHangs(), stream="s", memory="1MiB", workers=2, background=True)
    try:
        with pytest.raises(bc.BadSample, match=r"OneHangs\[\d+\].*KeyError: 'number ") as raised:
            serving.wait(20)
        assert isinstance(raised.value.__cause__, KeyError)
    finally:
        goes_on.set()


@pytest.mark.parametrize(
    ("samples", "text"),
    [
        ([{"x": 1}, None], "it is None. Every sample is to have its fields"),
        ([(1, 2), None], "it is None. Every sample is to have its fields"),
        ([1, None], "field `data` cannot be served: it is None"),
        ([{"x": 1, "y": 2}, {"y": 2}], "it has no `x`, which the first sample has. It has `y`"),
        ([(1, 2), (1,)], "it has 1 values, and the first sample has more"),
        ([(1, 2), 3], "it is an int, and the first sample has fields, such as `image`"),
        ([None], "field `data` cannot be served: it is None"),
    ],
)
def test_a_sample_without_the_fields_of_the_first(
    directory: Path, samples: list[Any], text: str
) -> None:
    with pytest.raises(bc.Error) as raised:
        bc.serve(samples, stream="s", memory="64KiB", order="sequential", epochs=1)
    assert text in str(raised.value) and "subscriptable" not in str(raised.value)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["a", 5], "class_names of the Numbers: that of label 1 is an int, and is to be a text"),
        (["a", None], "that of label 1 is None"),
        (5, "class_names of the Numbers is an int, and is to be a list of names"),
    ],
)
def test_class_names_are_texts(directory: Path, names: Any, text: str) -> None:
    dataset = made_data.Numbers()
    dataset.class_names = names  # type: ignore[attr-defined]
    with pytest.raises(bc.InvalidArgument, match=text):
        bc.serve(dataset, stream="s", memory="64KiB", epochs=1)


class Pids(made_data.Numbers):
    """Samples that tell who read them; one of them kills its reader."""

    def __init__(self, deadly: int = -1) -> None:
        super().__init__(100)
        self.deadly = deadly

    def __getitem__(self, index: int) -> dict[str, Any]:
        if index == self.deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"pid": os.getpid(), "x": np.zeros(1000)}


def test_a_reader_process_that_is_killed_does_not_end_the_stream(directory: Path) -> None:
    options: dict[str, Any] = {"stream": "s", "memory": "256KiB", "background": True}
    with bc.serve(Pids(), processes=3, workers=1, **options):
        consumer = bc.Consumer("s", 10)
        first = set(made_data.epoch_of(consumer)["pid"])
        assert len(first) == 3 and os.getpid() not in first
        killed = int(first.pop())
        os.kill(killed, signal.SIGKILL)
        for _ in range(50):  # the ring, and what is read ahead of it, has samples of before
            pids = made_data.epoch_of(consumer)["pid"]
            assert len(pids) == 100
            if set(pids) == first:
                break
        assert set(pids) == first
        del consumer
    support.until(lambda: not multiprocessing.active_children())


def test_readers_that_died_idle_cost_no_sample() -> None:
    readers = Readers(Pids(), 3)
    processes = [one.process for one in readers.readers]
    for process in processes[:2]:
        process.kill()
        process.join(10)
    assert readers[0]["pid"] == readers[1]["pid"] == processes[2].pid
    processes[2].kill()
    with pytest.raises(bc.BadSample, match="was killed by SIGKILL"):
        readers[2]
    readers.close()


class Unreadable:
    """What another process can write but nobody can read."""

    def __reduce__(self) -> tuple[Any, ...]:
        return int, ("no number",)


def test_a_signal_to_the_whole_group_leaves_the_readers_to_who_serves() -> None:
    readers = Readers(Pids(), 1)
    reader = readers.readers[0].process.pid or 0
    assert readers[0]["pid"] == reader
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(reader, number)
        assert readers[1]["pid"] == reader
    readers.close()


def test_an_answer_that_cannot_be_read_costs_no_reader(directory: Path) -> None:
    class Some(made_data.Numbers):
        def __getitem__(self, index: int) -> Any:
            return Unreadable() if index in (3, 4, 5) else super().__getitem__(index)

    with bc.serve(
        Some(50), stream="s", memory="1MiB", processes=2, on_bad_sample="substitute",
        epochs=1, background=True,
    ) as serving:  # fmt: skip
        consumer = bc.Consumer("s", 10)
        assert len(made_data.epoch_of(consumer)["label"]) == 50
        del consumer
        assert serving.wait(10) and serving.stats["bad_samples"] == 3


def test_processes_draw_numbers_of_their_own(directory: Path) -> None:
    class Draws(made_data.Numbers):
        def __getitem__(self, index: int) -> dict[str, Any]:
            return {"x": np.random.rand(2)}

    with bc.serve(
        Draws(100), stream="s", memory="1MiB", processes=3, epochs=1, background=True
    ) as serving:
        consumer = bc.Consumer("s", 10)
        assert len(np.unique(made_data.epoch_of(consumer)["x"])) == 200
        del consumer
        assert serving.wait(10)


def test_a_sample_that_kills_its_readers_is_bad(directory: Path) -> None:
    serving = bc.serve(Pids(7), stream="s", epochs=1, memory="1MiB", processes=2, background=True)
    with pytest.raises(
        bc.BadSample, match=r"reader process \d+ was killed by SIGKILL while it read sample 7"
    ):
        serving.wait(10)


def test_a_sample_that_is_bad_once_its_stream_is_stopped_fails_nothing(
    directory: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    inside, has_handle = threading.Event(), threading.Event()

    class Closed(made_data.Numbers):
        def __getitem__(self, index: int) -> Any:
            if index == 7:
                inside.set()
                has_handle.wait(10)  # a worker may be here before `serve` returns
                support.until(lambda: serving.stats["state"] == "stopped")
                raise ValueError("its file is closed")
            return super().__getitem__(index)

    options: dict[str, Any] = {"workers": 1, "order": "sequential", "memory": "1MiB"}
    with bc.serve(Closed(), stream="s", background=True, **options) as serving:
        has_handle.set()
        assert inside.wait(10)
    assert serving.wait(10) and serving.error is None and serving.stats["state"] == "stopped"
    serving._watching.join(10)  # it tells of failures
    assert "closed" not in capfd.readouterr().err


def test_processes_that_hang_end_with_their_stream(directory: Path) -> None:
    inside = multiprocessing.get_context("fork").Event()

    class Sleeping(made_data.Numbers):
        def __getitem__(self, index: int) -> dict[str, Any]:
            if index == 7:
                inside.set()
                time.sleep(60)
            return super().__getitem__(index)

    serving = bc.serve(Sleeping(), stream="s", memory="1MiB", processes=1, background=True)
    assert inside.wait(10)
    watch = support.Stopwatch()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is left behind
        serving.stop("enough")
    assert watch.seconds() < 1
    support.until(lambda: not multiprocessing.active_children())


LET_GO_OF_AT_THE_END = """
import batchcast as bc, threading, time
from batchcast import _serving
began, dropped = threading.Event(), threading.Event()
tell_failure_of = _serving._tell_failure_of
def late(run, name):
    tell_failure_of(run, name)
    dropped.wait(10)
_serving._tell_failure_of = late
class Numbers:
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return {"x": index}
    def __del__(self):  # on that thread, the last to have the stream
        began.set()
        time.sleep(0.3)
        print("gone", threading.current_thread() is threading.main_thread(), flush=True)
serving = bc.serve(Numbers(), stream="s", memory="1MiB", background=True)
del serving
dropped.set()
assert began.wait(10)
"""


def test_the_interpreter_ends_once_a_dataset_is_let_go_of(directory: Path) -> None:
    run = support.python(LET_GO_OF_AT_THE_END)
    assert (run.returncode, run.stdout, run.stderr) == (0, "gone False\n", "")


def test_a_threads_own_things_are_kept_from_sample_to_sample(directory: Path) -> None:
    local = threading.local()
    opened = []

    class Source(made_data.Numbers):
        def __getitem__(self, index: int) -> dict[str, Any]:
            if not hasattr(local, "file"):
                local.file = object()
                opened.append(threading.get_ident())
            return super().__getitem__(index)

    served(Source(200), workers=2)
    assert len(opened) <= 3  # two workers, and this thread for the first sample


def test_many_epochs_do_not_grow(directory: Path) -> None:
    samples = [(np.zeros(1000, np.uint8), i) for i in range(64)]
    with bc.serve(samples, stream="s", memory="256KiB", background=True):
        consumer = bc.Consumer("s", 64)
        begin = (0, 0)
        for epoch in range(200):
            while consumer.next() is not None:
                pass
            now = int(Path("/proc/self/statm").read_text().split()[1]), len(_threads())
            if epoch == 20:
                begin = now
        assert now[0] - begin[0] < (8 << 20) // 4096 and now[1] <= begin[1] + 1
        del consumer


def test_torch_datasets_are_sources(directory: Path) -> None:
    torch = pytest.importorskip("torch")
    from torch.utils.data import TensorDataset

    dataset = TensorDataset(torch.arange(40.0).reshape(20, 2), torch.arange(20))
    epoch = served(dataset)
    np.testing.assert_array_equal(epoch["image"][:, 0], 2.0 * epoch["label"])
    assert sorted(epoch["label"].tolist()) == list(range(20))
