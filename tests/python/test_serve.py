# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: numpy torch-1.13
"""bc.serve of the sources that C++ reads: what `batchcast serve` does, in this process."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import batchcast as bc
import made_data
import numpy as np
import pytest
import support
from batchcast import _producer, _serving


def test_a_stream_served_here_is_what_the_command_serves(directory: Path, tmp_path: Path) -> None:
    made_data.image_folder(tmp_path / "images")
    source, recipe = f"imagefolder:{tmp_path / 'images'}", made_data.recipe_file(tmp_path)
    with bc.serve(
        source, stream="s", recipe=recipe, seed=5, epochs=1, memory="1MiB", background=True
    ) as serving:
        assert serving.running and serving.stream == "s" and serving.directory == str(directory)
        consumer = bc.Consumer("s", 4)
        assert consumer.samples_per_epoch == 10
        epoch = made_data.epoch_of(consumer)
        del consumer
        assert serving.wait(10) and serving.stats["state"] == "finished" and not serving.running
    dumped = support.dump(source, 0, 10, tmp_path, recipe=recipe, seed=5)
    assert epoch.keys() == {"image", "label"}
    for name, values in epoch.items():
        np.testing.assert_array_equal(values, dumped[name])


def jpegs(tmp_path: Path) -> list[bytes]:
    script = Path(__file__).parent.parent / "cli" / "make_images.py"
    folder = tmp_path / "jpegs"
    subprocess.run(["/usr/bin/python3", script, folder, "30"], check=True, stdout=subprocess.DEVNULL)
    return [path.read_bytes() for path in sorted(folder.rglob("*.jp*g"))]


def test_a_cache_changes_no_byte_of_a_dataset_in_python(directory: Path, tmp_path: Path) -> None:
    files = jpegs(tmp_path)
    assert len(files) > 10
    dataset = [{"image": file, "label": i} for i, file in enumerate(files)]
    recipe = made_data.recipe_file(tmp_path)
    made = []
    for cache in (None, "64MiB"):
        with bc.serve(
            dataset, stream="s", recipe=recipe, epochs=3, memory="1MiB", cache=cache, background=True
        ) as serving:
            consumer = bc.Consumer("s", 4)
            made.append([made_data.epoch_of(consumer) for _ in range(3)])
            del consumer
            assert serving.wait(10)
            stats = serving.stats["cache"]
    for plain, cached in zip(*made):
        for name in ("image", "label"):
            np.testing.assert_array_equal(plain[name], cached[name])
    assert stats["entries"] == stats["kept"] == len(files)
    assert stats["hits"] == 2 * len(files) and stats["stopped"] == ""


def test_options_have_the_names_of_the_command(directory: Path) -> None:
    for options, text in (
        ({"wait_for": -3}, "wait_for: -3 is not from 0 to"),
        ({"memory": "lots"}, "memory"),
        ({"cache": "1GiB"}, "made as they are"),
        ({"max_bad": 3}, "max_bad does not go with"),
        ({"on_stall": "shrug"}, "on_stall"),
        ({"workers": 0}, "workers: `0` must be auto"),
        ({"epochs": -1}, "epochs: `-1` must be a whole number, 0 or more"),
        ({"device_memory": "1MiB"}, "device_memory: it needs `place`"),
        ({"order": "fxed"}, "order: `fxed` is none of its choices.*Did you mean `fixed`"),
        ({"allow_uid": 1 << 40}, "allow_uid: 1099511627776 is not from 0"),
        ({"fields": ("a",)}, "fields, axes, batched and processes"),
        ({"stream": 5}, "stream has to be a str, not int"),
    ):
        with pytest.raises(bc.InvalidArgument, match=text) as refused:
            bc.serve("synthetic:3x8x8", **{"stream": "s", "background": True} | options)
        assert "--" not in str(refused.value)
    for name, meant in (
        ("epoch", "`epochs`"), ("num_workers", "`workers`"), ("steam", "`stream`"),
        ("batch_size", "Each trainer chooses its own batch size, as in bc.Loader"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=f"there is no argument `{name}`.*{meant}") as unknown:
            bc.serve("synthetic:3x8x8", **{"stream": "s", "background": True, name: 3})
        assert str(unknown.value).startswith("batchcast: serve(): ")
    for source in ("synthetic:3x8x8", made_data.Numbers(4), iter([np.zeros(4)])):
        with pytest.raises(bc.OutOfMemory, match=r"Give the stream less \(memory\)"):
            bc.serve(source, stream="s", memory="200TiB")
    with pytest.raises(bc.Error, match="/nowhere"):
        bc.serve("imagefolder:/nowhere", stream="s", memory="1MiB", background=True)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"order": ""}, "order: it is empty"),
        ({"recipe": ""}, "recipe: it is empty"),
        ({"recipe": os.fsdecode(b"\xff.toml")}, "recipe does not go with"),
        ({"place": ("",)}, "`` is no placement"),
        ({"place": ""}, "`` is no placement"),
        ({"place": "cuda:0,gpu:1"}, "`gpu:1` is no placement"),
        ({"stream": ""}, "cannot name a stream: it is empty"),
    ],
)
def test_an_option_that_says_nothing_is_refused(
    directory: Path, options: dict[str, Any], text: str
) -> None:
    with pytest.raises(bc.InvalidArgument, match=text):
        bc.serve("synthetic:3x8x8", **{"stream": "s", "background": True, **options})


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"wait_for": True}, "wait_for has to be an int, not bool"),
        ({"seed": False}, "seed has to be an int"),
        ({"stall_timeout": False}, "stall_timeout has to be a number, not bool"),
        ({"memory": b"1MiB"}, "memory has to be an int or a str, not bytes"),
        ({"memory": ["1MiB"]}, "memory has to be an int or a str, not list"),
        ({"verbose": "yes"}, "verbose has to be a bool"),
        ({"epochs": "2"}, "epochs has to be an int, not str"),
        ({"processes": "4"}, "processes has to be an int"),
        ({"seed": "12"}, "seed has to be an int, not str"),
        ({"wait_for": "2"}, "wait_for has to be an int"),
        ({"stall_timeout": "5"}, "stall_timeout has to be a number, not str"),
        ({"samples": "100"}, "samples has to be an int"),
        ({"allow_uid": "0"}, "allow_uid has to be a sequence"),
        ({"fields": "image"}, "fields has to be a sequence"),
    ],
)
def test_an_option_of_another_type_is_refused(
    directory: Path, options: dict[str, Any], text: str
) -> None:
    with pytest.raises(bc.InvalidArgument, match=text) as refused:
        bc.serve("synthetic:3x8x8", **{"stream": "s", "background": True, **options})
    assert isinstance(refused.value, TypeError)


def test_python_has_every_option_of_the_command() -> None:
    told = subprocess.run(
        [support.COMMAND, "serve", "--help"], capture_output=True, text=True, check=True
    ).stdout
    named = re.findall(r"^  (?:-\w, )?--([a-z-]+)", told, re.MULTILINE)
    names = {name.replace("-", "_") for name in named}
    names -= {"help", "json", "log_format", "keep_alive", "give_up_after", "replace"}  # a command's
    assert {"ahead", "place", "max_bad", "idle_exit", "verbose"} < names
    assert names <= set(_producer._option_names())
    assert all(f"\n{name}: " in bc.serve.__doc__ for name in names)


def test_none_is_what_an_option_is_without(directory: Path) -> None:
    options: dict[str, Any] = dict.fromkeys(
        ["epochs", "seed", "idle_exit", "linger", "workers", "place", "allow_uid", "wait_for"]
        + ["on_stall", "huge_pages", "stall_timeout", "free_running", "device_memory", "verbose"]
    )
    with bc.serve("synthetic:3x8x8", stream="s", memory="1MiB", background=True, **options):
        assert bc.Consumer("s", 4).next().size == 4


def test_lists_may_be_any_iterables(directory: Path) -> None:
    options: dict[str, Any] = {"stream": "s", "memory": "1MiB", "background": True}
    users = (uid for uid in {0, 1})
    bc.serve("synthetic:3x8x8", allow_uid=users, **options).stop()
    with pytest.raises(bc.InvalidArgument, match="host_field.*place"):
        bc.serve("synthetic:3x8x8", host_field=np.array(["a", "b"]), **options)


def test_a_very_long_word_is_refused_as_a_short_one(directory: Path) -> None:
    with pytest.raises(bc.InvalidArgument, match="shard"):
        bc.serve("synthetic:8", stream="s", shard=300_000 * "a", background=True)


def test_words_of_the_command_say_what_they_say_there() -> None:
    asked = _producer.ServeOptions.of_words(["--stream=s", "--epochs=0", "--seed=0"])
    assert asked.epochs is None  # no limit: a generator is gone through once
    assert asked.given_for_samples() == []  # a start says the default seed, of a loader too
    other = _producer.ServeOptions.of_words(["--stream=s", "--seed=1", "--workers=2"])
    assert other.given_for_samples() == ["seed", "workers"]


@pytest.mark.parametrize("text", ["12", np.array("12"), ["1", "2"], [1, "2"], b"12"])
def test_digits_in_a_text_are_no_number(directory: Path, text: Any) -> None:
    with pytest.raises(bc.InvalidArgument, match="field `x` cannot be served: it is .*(text|bytes)"):
        bc.serve([{"x": text, "y": 1}], stream="s", memory="1MiB", background=True)
    number = np.zeros(2, np.int64) if isinstance(text, list) else 0
    samples = [{"x": number}, {"x": text}]
    serving = bc.serve(samples, stream="s", order="sequential", memory="1MiB", background=True)
    with pytest.raises(bc.BadSample, match=r"list\[1\].*field `x` cannot be served: it is text"):
        serving.wait(10)


def test_a_name_is_taken_until_its_stream_is_over(directory: Path) -> None:
    with bc.serve("synthetic:3x8x8", stream="s", memory="1MiB", background=True):
        with pytest.raises(bc.Error, match="already"):
            bc.serve("synthetic:3x8x8", stream="s", memory="1MiB", background=True)
    with bc.serve("synthetic:3x8x8", stream="s", memory="1MiB", background=True) as serving:
        assert serving.running


class Batches:
    """A loader."""

    def __iter__(self) -> Any:
        while True:
            yield {"x": np.zeros((4, 2), np.float32)}


SOURCES: dict[str, Callable[[], Any]] = {
    "text": lambda: "synthetic:3x8x8",
    "dataset": lambda: made_data.Numbers(40),
    "loader": Batches,
}


@pytest.mark.parametrize("one", SOURCES)
@pytest.mark.parametrize("other", SOURCES)
def test_a_stream_of_this_process_is_replaced(directory: Path, one: str, other: str) -> None:
    first, second = SOURCES[one], SOURCES[other]
    options: dict[str, Any] = {"stream": "s", "memory": "1MiB", "background": True}
    serving = bc.serve(first(), **options)
    with bc.Consumer("s", 4) as trainer:
        assert trainer.next() is not None
        with pytest.raises(bc.StreamTaken, match=r"already served by this process.*`s\.stop\(\)`"):
            bc.serve(second(), **options)
        assert serving.running  # and goes on
        serving = bc.serve(second(), replace=True, **options)  # as a cell that is run again
        with pytest.raises(bc.Stopped, match="replaced by another of the same process"):
            while True:
                trainer.next()
    with bc.Consumer("s", 4) as trainer:
        assert trainer.next() is not None
    serving.stop()
    with bc.serve(second(), replace=True, **options):  # nothing is in its way
        pass


def test_replace_leaves_others_alone(
    directory: Path, serve: Callable[..., support.Served]
) -> None:
    options: dict[str, Any] = {"memory": "1MiB", "background": True, "replace": True}
    elsewhere = directory / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    with (
        bc.serve("synthetic:8", stream="s", **options) as one,
        bc.serve("synthetic:8", stream="t", **options) as two,
        bc.serve("synthetic:8", stream="s", directory=elsewhere, **options) as three,
    ):
        assert one.running and two.running and three.running
        with bc.serve("synthetic:8", stream="s", directory=str(directory), **options) as four:
            assert not one.running and two.running and three.running and four.running
    serve("synthetic:8", stream="u")
    with bc.Consumer("u", 4):
        with pytest.raises(bc.StreamTaken, match="served by process .*batchcast stop u"):
            bc.serve("synthetic:8", stream="u", **options)


def test_two_streams_in_one_process(directory: Path) -> None:
    with (
        bc.serve(
            "synthetic:3x8x8", stream="a", samples=100, epochs=1, memory="1MiB", background=True
        ) as a,
        bc.serve(
            "synthetic:3x8x8", stream="b", samples=200, epochs=1, memory="1MiB", background=True
        ) as b,
    ):
        one, two = bc.Consumer("a", 10), bc.Consumer("b", 10)
        assert len(made_data.epoch_of(one)["label"]) == 100
        assert len(made_data.epoch_of(two)["label"]) == 200
        del one, two
        assert a.wait(10) and b.wait(10)


def test_stop_tells_trainers_why(directory: Path) -> None:
    serving = bc.serve("synthetic:3x8x8", stream="s", samples=100, memory="1MiB", background=True)
    consumer = bc.Consumer("s", 10)
    watch = support.Stopwatch()
    serving.stop("enough of it")
    assert watch.seconds() < 1
    with pytest.raises(bc.Error, match="enough of it"):
        while True:
            consumer.next()
    assert serving.wait(0) and serving.stats["state"] == "stopped" and serving.error is None
    serving.stop()  # once more is nothing


def test_it_is_stopped_as_soon_as_that_is_asked(directory: Path) -> None:
    for _ in range(3):
        with bc.serve("synthetic:3x8x8", stream="s", memory="1MiB", background=True) as serving:
            serving._run.ask_to_end("enough")  # from here on no worker fails it
            assert serving.stats["state"] == "stopped"


def test_wait_waits_no_longer_than_asked(directory: Path) -> None:
    with bc.serve("synthetic:3x8x8", stream="s", memory="1MiB", background=True) as serving:
        watch, began = support.Stopwatch(), time.monotonic()
        assert not serving.wait(0.05)
        assert time.monotonic() - began > 0.04 and watch.seconds() < 1


def test_idle_exit_ends_it(directory: Path) -> None:
    serving = bc.serve(
        "synthetic:3x8x8", stream="s", idle_exit=0.05, memory="1MiB", background=True
    )
    assert serving.wait(10) and serving.stats["state"] == "stopped"


def test_a_dropped_handle_stops_its_stream(directory: Path) -> None:
    serving = bc.serve("synthetic:3x8x8", stream="s", samples=100, memory="1MiB", background=True)
    consumer = bc.Consumer("s", 10)
    del serving
    gc.collect()
    with pytest.raises(bc.Error, match="its producer was dropped"):
        while True:
            consumer.next()


def test_stats_say_how_it_stands(directory: Path) -> None:
    with bc.serve(
        "synthetic:3x8x8", stream="s", samples=100, wait_for=2, memory="1MiB", background=True
    ) as serving:
        consumer = bc.Consumer("s", 10)
        stats = serving.stats
        assert stats["state"] == "starting" and stats["consumers_to_come"] == 1
        assert [one["batch_size"] for one in stats["consumers"]] == [10]
        assert "`s`" in repr(serving)
        del consumer


def test_stats_show_heads(directory: Path) -> None:
    with bc.serve(
        "synthetic:8", stream="s", samples=4000, memory="64KiB", head_memory="128KiB", background=True
    ) as serving:
        first = bc.Consumer("s", 10)
        while first.cursor < 3000:
            first.next()
        assert "work_share" not in serving.stats["rings"][0]
        late = bc.Consumer("s", 10, join="at", cursor=20, name="late")
        stats = serving.stats
        assert [ring["placement"] for ring in stats["rings"]] == ["host", "head-1"]
        assert [ring["trainers"] for ring in stats["rings"]] == [1, 1]
        assert all(0 <= ring["work_share"] <= 1 for ring in stats["rings"])
        assert stats["rings"][1]["memory"] > stats["rings"][0]["memory"]
        assert [one["placement"] for one in stats["consumers"] if one["name"] == "late"] == ["head-1"]
        del first, late


BLOCKING = """
import sys, time, batchcast as bc
try:
    bc.serve("synthetic:3x8x8", stream="s", samples=100, memory="1MiB")
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
    raise
"""


@pytest.mark.parametrize("reads", [False, True])
def test_ctrl_c_stops_a_blocking_serve(child: Callable[..., support.Child], reads: bool) -> None:
    process = child(BLOCKING)
    consumer = bc.Consumer("s", 10)
    if reads:
        consumer.next()
    else:
        support.until(lambda: support.sleeps(process.pid))
    watch = support.Stopwatch(process.pid)
    process.interrupt()
    assert watch.seconds(float(process.line())) < 0.2
    code, _, err = process.finish()
    assert code != 0 and "KeyboardInterrupt" in err and "serving stream `s`" in err
    with pytest.raises(bc.Error, match="its producer was interrupted"):
        while True:
            consumer.next()


@pytest.mark.parametrize(
    "end", ["pass", "raise ValueError('over')", "sys.exit(3)", "import threading; handles = [h]"]
)
def test_the_interpreters_end_stops_what_is_served_in_the_background(
    child: Callable[..., support.Child], end: str
) -> None:
    process = child(
        "import sys, batchcast as bc\n"
        "h = bc.serve('synthetic:3x8x8', stream='s', samples=100, memory='1MiB', background=True)\n"
        f"input()\n{end}"
    )
    consumer = bc.Consumer("s", 10)
    process.tell()
    code, _, err = process.finish()
    assert code >= 0, err
    with pytest.raises(bc.Error, match="its producer's process ended"):
        while True:
            consumer.next()


# Threads that are in the producer, or want to be, as the interpreter ends.
EXITING = """
import sys, threading, time, numpy as np, batchcast as bc
how = sys.argv[1]
class Busy:
    inside = threading.Event()
    def __len__(self): return 1000
    def __getitem__(self, index):
        if index > 5 and how == "busy":
            self.inside.set()
            while True: pass
        return {"x": index}
class Loader:
    def __iter__(self):
        while True: yield {"x": np.zeros((64, 1000))}
options = {"memory": "1MiB", "order": None if how == "loader" else "sequential"}
source = Loader() if how == "loader" else Busy()
h = bc.serve(source, stream="s", background=True, free_running=how == "busy", **options)
def look():
    while True: h.stats
def wait():
    h.wait()
for work in {"busy": [], "loader": [look], "stats": [look, look], "wait": [wait] * 4}[how]:
    threading.Thread(target=work, daemon=True).start()
if how == "busy": Busy.inside.wait(10)
"""


@pytest.mark.parametrize("how", ["busy", "loader", "stats", "wait"])
def test_no_thread_aborts_as_the_interpreter_ends(
    child: Callable[..., support.Child], how: str
) -> None:
    for _ in range(3 if how == "busy" else 4):
        code, _, err = child(EXITING, how).finish(timeout=20)
        assert code == 0, err


class Opening:
    """A DatasetStream whose dataset is never opened."""

    hangs = ""
    ended = False

    def __init__(self, *given: object) -> None:
        self.asked: list[str] = []

    def wait_opened(self, timeout_ms: int) -> bool:
        if not self.asked:
            raise KeyboardInterrupt
        return False

    def wait_ended(self, timeout_ms: int) -> bool:
        time.sleep(timeout_ms / 1000)
        return self.ended

    def ask_to_end(self, why: str) -> None:
        self.asked.append(why)


def test_nobody_waits_for_a_dataset_to_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_serving, "DatasetStream", Opening)
    with pytest.raises(KeyboardInterrupt) as pressed:
        bc.serve("synthetic:3x8x8", stream="s", background=True)
    watch = support.Stopwatch()
    with pytest.warns(RuntimeWarning, match="did not wait for its dataset to be opened"):
        _serving.end_all()  # as the end of the process does
    assert watch.seconds() < 1
    assert pressed.value.__traceback__ is not None  # it has the handle
    monkeypatch.setattr(Opening, "ended", True)
    del pressed


def test_a_forked_child_leaves_the_stream_alone(directory: Path) -> None:
    with bc.serve(
        "synthetic:3x8x8", stream="s", samples=100, memory="1MiB", background=True
    ) as serving:
        child = os.fork()
        if child == 0:
            try:
                serving.stop()
                for read in ("stats", "directory"):  # the parent's threads may hold their locks
                    with pytest.raises(bc.Forked, match="stream `s`, which alone knows"):
                        getattr(serving, read)
                assert "of the process that forked this one" in repr(serving)
                del serving
                gc.collect()
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        consumer = bc.Consumer("s", 10)
        assert len(made_data.epoch_of(consumer)["label"]) == 100
        del consumer


def test_other_threads_run_while_it_blocks(directory: Path) -> None:
    ended: list[Any] = []
    thread = threading.Thread(
        target=lambda: ended.append(bc.serve("synthetic:3x8x8", stream="s", samples=100, epochs=1))
    )
    thread.start()
    consumer = bc.Consumer("s", 10)
    assert len(made_data.epoch_of(consumer)["label"]) == 100
    del consumer
    thread.join(10)
    assert ended[0].stats["published"] == 100


def test_a_stream_is_changed_while_it_runs(directory: Path) -> None:
    with bc.serve(
        "synthetic:8", stream="s", samples=1000, memory="1MiB", workers=1, background=True
    ) as serving:
        consumer = bc.Consumer("s", 10)
        serving.set(workers=3, stall_timeout=0.5, free_running=True, on_stall="own_place")
        end = time.monotonic() + 10
        while serving.stats["workers"] != 3 and time.monotonic() < end:
            time.sleep(0.01)
        stats = serving.stats
        assert stats["workers"] == 3
        assert stats["uptime_seconds"] > 0 and stats["samples"] > 0
        assert all(len(one) == 4 for one in stats["worker_seconds"])
        assert stats["consumers"][0]["waited_for_seconds"] >= 0
        serving.set(workers="auto", ahead="default")
        for values, text in (
            ({"memory": "1GiB"}, "`memory` cannot be set while this stream runs.*ahead.*workers"),
            ({"workers": 0}, "`workers` is a whole number from 1 to 256, not `0`"),
            ({"on_stall": "shout"}, "`report`, `evict` or `own_place`"),
            ({"free_running": 1}, "true or false"),
        ):
            with pytest.raises(bc.InvalidArgument, match=text):
                serving.set(**values)
        del consumer
    with pytest.raises(bc.InvalidArgument, match="not served at present"):
        serving.set(workers=2)


def test_a_stream_of_batches_is_changed_but_for_workers(directory: Path) -> None:
    batches = [{"x": np.zeros((4, 2), np.float32)} for _ in range(4)]
    with bc.serve(iter(batches), stream="s", memory="64KiB", background=True) as serving:
        consumer = bc.Consumer("s", 4)
        serving.set(stall_timeout=30, on_stall="evict")
        with pytest.raises(bc.InvalidArgument, match="where the stream may have heads"):
            serving.set(on_stall="own_place")
        with pytest.raises(bc.InvalidArgument, match="`workers` cannot be set"):
            serving.set(workers=2)
        del consumer
