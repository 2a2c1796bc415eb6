# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: numpy torch-1.13
"""`batchcast serve` and `ensure` of what Python reads: the command becomes this Python."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import batchcast as bc
import numpy as np
import pytest

import made_data
import support

MODULE = """
import atexit
import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
import numpy as np
from batchcast import _serve, _serving

class Squares:
    def __init__(self, size="30"):
        self.size = int(size)

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        return {"x": np.full(3, i, np.float32), "label": i * i}

    def fingerprint(self):
        return "squares"

made = Squares()

def loader():
    class Batches:
        def __iter__(self):
            return iter([(np.zeros((4, 2)), np.arange(4))] * 3)
    return Batches()

def breaks():
    yield np.zeros(4)
    raise OSError("disk gone")

def broken():
    raise OSError("no disk")

def misuses():
    return Squares(sise=3)

def slow():
    print("asleep", flush=True)
    time.sleep(60)

def slow_in_c():  # with the GIL
    print("asleep", flush=True)
    mutex = ctypes.create_string_buffer(64)
    for _ in range(2):
        ctypes.PyDLL(None).pthread_mutex_lock(mutex)

def stubborn():
    print("asleep", flush=True)
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass

def turns():  # a signal into an exception of its own
    print("asleep", flush=True)
    try:
        time.sleep(60)
    except BaseException:
        raise OSError("interrupted")

def leaves():
    sys.exit(0)

def interrupts():
    raise KeyboardInterrupt

def forks():
    os.fork()
    return made

def talks():
    print("and says so")
    os.close(1)
    return made

def generator_leaves():
    yield np.zeros(4)
    sys.exit()

class Hangs:
    hangs = threading.Event()
    def __len__(self): return 50
    def __getitem__(self, index):
        if index == 49:
            print("asleep", flush=True)
            self.hangs.set()
            time.sleep(60)
        return {"x": np.zeros(4)}

def says_goodbye():
    stop = _serving.DatasetServing._stop
    def stop_slowly(self, reason):
        stop(self, reason)
        time.sleep(0.6)
    _serving.DatasetServing._stop = stop_slowly
    def say():
        time.sleep(0.1)
        print("goodbye", flush=True)
    atexit.register(say)
    return Hangs()

def signals():  # between the stream's opening and the wait for its end
    def start(thread, really=threading.Thread.start):
        if thread.name.startswith("bc-watch"):
            os.kill(os.getpid(), signal.SIGTERM)
        really(thread)
    threading.Thread.start = start
    return made

def comes_up_late():  # for the thread that looks whether it has
    class Late(_serving.DatasetStream):
        def wait_opened(self, timeout_ms):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.7)
            return super().wait_opened(timeout_ms)
    _serving.DatasetStream = Late
    return made

def hangs_as_it_comes_up():
    class Late(_serving.DatasetStream):
        was_asked = False
        def wait_opened(self, timeout_ms):
            if self.was_asked:
                return self.wait_ended(timeout_ms)
            self.was_asked = True
            Hangs.hangs.wait()
            os.kill(os.getpid(), signal.SIGTERM)
            return False
    _serving.DatasetStream = Late
    return Hangs()

class SignalsLoader:
    def __iter__(self):
        if threading.current_thread() is not threading.main_thread():
            os.kill(os.getpid(), signal.SIGTERM)
        while True:
            yield np.zeros((4, 2))

class Terminates:  # a child of its own, as multiprocessing.Pool does
    def __iter__(self):
        fork = multiprocessing.get_context("fork")
        ready = fork.Event()
        child = fork.Process(target=lambda: (ready.set(), time.sleep(60)), daemon=True)
        child.start()
        ready.wait()
        child.terminate()
        child.join(10)
        print(f"child {child.exitcode}", flush=True)
        yield np.zeros((4, 2))

def ends_late():  # what C runs after Python's own end, the last one registered first
    libc = ctypes.CDLL(None)
    libc.strdup.restype = ctypes.c_void_p
    text = ctypes.c_void_p(libc.strdup(b"Python is gone"))
    libc.__cxa_atexit(libc.pause, None, None)
    libc.__cxa_atexit(libc.perror, text, None)
    return made

def fails_late():
    ends_late()
    raise OSError("no disk")

class Breaks(Squares):
    def __getitem__(self, i):
        if i == 20:
            raise OSError("disk gone")
        return super().__getitem__(i)

class BreakingLoader:
    def __iter__(self):
        yield np.zeros(4)
        raise OSError("disk gone")

def signal_at_failure(source):  # as it is told trainers for a while
    streams = []
    def kept(kind):
        class Kept(kind):
            def __init__(self, *given):
                super().__init__(*given)
                streams.append(self)
        return Kept
    _serving.DatasetStream = kept(_serving.DatasetStream)
    _serve.BatchStream = kept(_serve.BatchStream)
    def signal_it():
        while not any(one.stats()["state"] == "failed" for one in list(streams)):
            time.sleep(1e-3)
        os.kill(os.getpid(), signal.SIGTERM)
    threading.Thread(target=signal_it, daemon=True).start()
    return source

def breaks_and_is_told():
    return signal_at_failure(Breaks())

def loader_breaks_and_is_told():
    return signal_at_failure(BreakingLoader())

def told_slowly():  # of which the exception's text is asked for as the failure is told
    class Slow(OSError):
        def __str__(self):
            print("asleep", flush=True)
            time.sleep(60)
    raise Slow

def stays():
    threading.Thread(target=time.sleep, args=(60,)).start()
    return made
"""


@pytest.fixture
def place(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The working directory, with the module `mine`. The command is to run this Python."""
    (tmp_path / "mine.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BATCHCAST_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", support.environment()["PYTHONPATH"])
    yield tmp_path
    for stream in directory.iterdir():
        subprocess.run([support.COMMAND, "stop", stream.name], capture_output=True, check=False)


def command(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [support.COMMAND, *words], capture_output=True, text=True, timeout=30, **options
    )


def test_a_dataset_of_a_module_here(place: Path, serve: Callable[..., support.Served]) -> None:
    served = serve("python:mine:Squares?size=20", epochs=1, wait_for=1, seed=3, workers=2)
    with bc.Consumer("s", 8) as consumer:
        assert consumer.pure
        epoch = made_data.epoch_of(consumer)
        assert sorted(epoch["label"].tolist()) == [i * i for i in range(20)]
        np.testing.assert_array_equal(epoch["x"][:, 0] ** 2, epoch["label"])
    assert served.wait() == 0
    said = served.output()
    assert f"`python:mine:Squares?size=20` is read by {sys.executable} (by $BATCHCAST_PYTHON)" in said
    assert "stream `s` finished: 20 samples in " in said


def test_what_no_consumer_read(place: Path, serve: Callable[..., support.Served]) -> None:
    served = serve("python:mine:Squares?size=20", epochs=1, wait_for=1)
    trainer = (
        "import batchcast as bc, os, signal; consumer = bc.Consumer('s', 8); consumer.next(); "
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    died = subprocess.run([sys.executable, "-c", trainer], timeout=30, check=False)
    assert died.returncode == -signal.SIGKILL and served.wait() == 0
    said = served.output()
    assert "stream `s` finished: 20 samples" in said
    assert " s for space, the last 12 read by no consumer\n" in said


def test_a_loader(place: Path, serve: Callable[..., support.Served]) -> None:
    served = serve("python:mine:loader", epochs=2, wait_for=1)
    with bc.Consumer("s", 5) as consumer:
        for _ in range(2):
            assert made_data.epoch_of(consumer)["label"].tolist() == [0, 1, 2, 3] * 3
    assert served.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(
    place: Path, serve: Callable[..., support.Served], number: signal.Signals
) -> None:
    served = serve("python:mine:made", memory="64KiB")
    with bc.Consumer("s", 8) as consumer:
        consumer.next()
        served.process.send_signal(number)
        with pytest.raises(bc.Stopped, match=f"its producer got {number.name}"):
            while True:
                made_data.epoch_of(consumer)
    assert served.wait() == 0
    assert "stream `s` stopped: " in served.output()


@pytest.mark.parametrize("factory", ["signals", "SignalsLoader", "comes_up_late"])
def test_a_signal_as_the_stream_comes_up(
    place: Path, serve: Callable[..., support.Served], factory: str
) -> None:
    served = serve(f"python:mine:{factory}", memory="64KiB")
    assert served.wait() == 0
    assert "stream `s` stopped: " in served.output()
    assert "was dropped" not in served.output() and "not waiting" not in served.output()


def test_a_child_of_the_source_can_be_terminated(
    place: Path, serve: Callable[..., support.Served]
) -> None:
    served = serve("python:mine:Terminates", memory="64KiB", epochs=1, linger=0)
    assert served.wait() == 0
    assert "child -15\n" in served.output()


@pytest.mark.parametrize("factory", ["breaks_and_is_told", "loader_breaks_and_is_told"])
def test_a_signal_after_a_failure_makes_no_success_of_it(
    place: Path, serve: Callable[..., support.Served], factory: str
) -> None:
    served = serve(f"python:mine:{factory}", memory="64KiB")
    assert served.wait() == 4
    assert "disk gone" in served.output()


def test_a_signal_while_a_failure_is_told(
    place: Path, serve: Callable[..., support.Served]
) -> None:
    served = serve("python:mine:told_slowly")
    support.until(lambda: "asleep" in served.output())
    served.process.terminate()
    assert served.wait(10) == 3


IMPORTS = """
import os, time
print("imports", flush=True)
time.sleep(60)
"""
# Of the interpreter's start: it goes on once the signal is there.
STARTS = """
import signal, sys, time
if "python:mine:made" in sys.orig_argv:
    print("starts", flush=True)
    while not signal.sigpending():
        time.sleep(1e-3)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("module", "code", "said"),
    [("numpy.py", IMPORTS, "imports"), ("sitecustomize.py", STARTS, "starts")],
)
def test_a_signal_while_python_starts(
    place: Path,
    serve: Callable[..., support.Served],
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
    module: str,
    code: str,
    said: str,
) -> None:
    (place / "first").mkdir()
    (place / "first" / module).write_text(code)
    path = os.pathsep.join([str(place / "first"), os.environ["PYTHONPATH"]])
    monkeypatch.setenv("PYTHONPATH", path)
    served = serve("python:mine:made")
    support.until(lambda: said in served.output())
    served.process.send_signal(number)
    assert served.wait(10) == 0
    assert "Traceback" not in served.output() and "KeyboardInterrupt" not in served.output()


EARLY = """
import os, signal
from batchcast import _shell

def end_in_time(*told):
    os.kill(os.getpid(), signal.SIGTERM)

_shell.end_in_time = end_in_time
_shell.serve(["python:mine:made", "--stream=s"])
"""


def test_a_signal_as_soon_as_it_is_heard(place: Path) -> None:
    ended = support.python(EARLY)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("factory", ["slow", "slow_in_c", "stubborn", "turns"])
def test_a_signal_while_it_is_opened(
    place: Path, serve: Callable[..., support.Served], factory: str, number: signal.Signals
) -> None:
    served = serve(f"python:mine:{factory}")
    support.until(lambda: "asleep" in served.output())
    served.process.send_signal(number)
    assert served.wait(5) == 0


def test_a_signal_where_a_thread_of_the_source_stays(
    place: Path, serve: Callable[..., support.Served]
) -> None:
    served = serve("python:mine:stays", memory="64KiB")
    with bc.Consumer("s", 8) as consumer:
        consumer.next()
        served.process.terminate()
        with pytest.raises(bc.Stopped, match="its producer got SIGTERM"):
            while True:
                made_data.epoch_of(consumer)
    assert served.wait(8) == 0
    assert "not waiting for Python" in served.output()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(("factory", "code"), [("ends_late", 0), ("fails_late", 3)])
def test_a_signal_when_python_is_gone_changes_nothing(
    place: Path,
    serve: Callable[..., support.Served],
    factory: str,
    code: int,
    number: signal.Signals,
) -> None:
    served = serve(f"python:mine:{factory}", epochs=1, idle_exit=0.05)
    support.until(lambda: "Python is gone" in served.output())
    served.process.send_signal(number)
    assert served.wait(8) == code


def test_a_process_whose_stream_took_long_to_end_has_time_for_its_own_end(
    place: Path, serve: Callable[..., support.Served]
) -> None:
    served = serve("python:mine:says_goodbye", workers=1, order="sequential", memory="64KiB")
    support.until(lambda: "asleep" in served.output())
    served.process.terminate()
    assert served.wait(8) == 0
    assert "did not wait for a worker" in served.output()
    assert "goodbye" in served.output() and "not waiting for Python" not in served.output()


def test_a_sample_that_hangs_as_the_stream_comes_up_is_named(
    place: Path, serve: Callable[..., support.Served]
) -> None:
    options = {"workers": 1, "order": "sequential", "memory": "64KiB"}
    served = serve("python:mine:hangs_as_it_comes_up", **options)
    assert served.wait() == 0
    assert "did not wait for a worker that still reads" in served.output()


def test_the_end_of_its_terminal_under_nohup(place: Path) -> None:
    with (place / "log").open("wb") as log:
        served = subprocess.Popen(
            [support.COMMAND, "serve", "python:mine:made", "--stream", "s", "--epochs=1"],
            stdout=log,
            stderr=log,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
        )
    with bc.Consumer("s", 8) as consumer:
        served.send_signal(signal.SIGHUP)
        assert len(made_data.epoch_of(consumer)["label"]) == 30
    assert served.wait(10) == 0
    assert "stream `s` finished: 30 samples" in (place / "log").read_text()


def test_a_factory_that_forks(place: Path, serve: Callable[..., support.Served]) -> None:
    served = serve("python:mine:forks", epochs=1, wait_for=1)
    with bc.Consumer("s", 8) as consumer:
        assert len(made_data.epoch_of(consumer)["label"]) == 30
    assert served.wait() == 0
    assert "`python:mine:forks` forked, and the child came back from it." in served.output()


def test_a_factory_that_talks_and_closes_the_output(
    place: Path, serve: Callable[..., support.Served]
) -> None:
    served = serve("python:mine:talks", epochs=1, wait_for=1)
    with bc.Consumer("s", 8) as consumer:
        assert len(made_data.epoch_of(consumer)["label"]) == 30
    assert served.wait() == 0
    assert "Traceback" not in served.output()


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["python:mine:none"], 2, "module `mine` has no `none`."),
        (["python:other:x"], 2, "there is no module `other` in "),
        (["python:mine"], 2, "names no factory. Write `python:MODULE:FACTORY`"),
        (["python:mine:Squares?sise=3"], 2, "keyword argument 'sise'. Did you mean `size`?"),
        (["python:mine:made?size=3"], 2, "is no function, and takes no options"),
        (["python:mine:Squares?size=3&x"], 2, "`x` in `mine:Squares?size=3&x` is no option"),
        (["python:mine:broken"], 3, "cannot be opened: OSError('no disk')"),
        (["python:mine:misuses"], 3, "in misuses"),
        (["python:mine:leaves"], 3, "`python:mine:leaves` called sys.exit(0) while it was opened"),
        (["python:mine:generator_leaves"], 4, "called sys.exit(None) while it was served"),
        (["python:mine:interrupts"], 3, "cannot be opened: KeyboardInterrupt()"),
        (["python:mine:misuses?size=3"], 2, "an unexpected keyword argument 'size'."),
        (["python:mine:breaks"], 4, "failed while it was served: OSError('disk gone')"),
        (["python:mine:made", "--samples", "3"], 2, "samples"),
        (["python:mine:loader", "--recipe", "mnist"], 2, "recipe: not for a loader"),
        (["python:mine:made", "--json"], 2, "--json: the report of what Python serves"),
        (["python:mine:made", "--on-stall", "x"], 2, "--on-stall"),
        (["parquet:none-*.parquet"], 3, "none-*.parquet"),
        (["parquet:"], 2, "does not say what it is to read"),
    ],
)
def test_what_is_wrong(place: Path, words: list[str], code: int, text: str) -> None:
    if "parquet:none" in words[0]:
        pytest.importorskip("pyarrow")
    ended = command("serve", *words, "--stream", "s")
    assert text in ended.stderr
    assert ended.returncode == code


def test_parquet_files(
    place: Path, serve: Callable[..., support.Served], tmp_path: Path
) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    folder = made_data.image_folder(tmp_path / "images")
    recipe = made_data.recipe_file(tmp_path)
    images = pa.array([path.read_bytes() for path, _ in folder])
    for name, part in (("a-0", slice(0, 4)), ("a-1", slice(4, None))):
        labels = [label for _, label in folder[part]]
        pq.write_table(pa.table({"image": images[part], "fine": labels}), f"{name}.parquet")
    serve("parquet:a-*.parquet?label=fine", stream="files", recipe=recipe, epochs=1, wait_for=1)
    serve(f"imagefolder:{tmp_path}/images", stream="folder", recipe=recipe, epochs=1, wait_for=1)
    with bc.Consumer("files", 3) as files, bc.Consumer("folder", 3) as plain:
        one, other = made_data.epoch_of(files), made_data.epoch_of(plain)
    for name, values in one.items():
        np.testing.assert_array_equal(values, other[name])


def test_a_saved_dataset_of_hugging_face(
    place: Path, serve: Callable[..., support.Served], tmp_path: Path
) -> None:
    datasets = pytest.importorskip("datasets")
    folder = made_data.image_folder(tmp_path / "images")
    images = [{"bytes": path.read_bytes(), "path": None} for path, _ in folder]
    labels = [10 * label for _, label in folder]
    dataset = datasets.Dataset.from_dict({"image": images, "label": labels})
    datasets.DatasetDict({"train": dataset, "test": dataset.select([4, 9])}).save_to_disk("saved")
    text = "huggingface:saved?split=test&image=none"
    assert "has no column `none`" in command("serve", text, "--stream", "s").stderr
    recipe = made_data.recipe_file(tmp_path)
    serve("huggingface:saved?split=test", recipe=recipe, epochs=1, wait_for=1)
    with bc.Consumer("s", 2) as consumer:
        assert sorted(made_data.epoch_of(consumer)["label"].tolist()) == [0, 10]


def test_which_python_it_is(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["serve", "python:mine:made", "--stream", "s"]
    own = place / "env/bin/python3"
    own.parent.mkdir(parents=True)
    own.write_text('#!/bin/sh\nif [ "$1" = -c ]; then exit 44; fi\nexit 99\n')
    own.chmod(0o755)
    monkeypatch.setenv("BATCHCAST_PYTHON", str(own))
    ended = command(*words)
    assert f"{own} (by $BATCHCAST_PYTHON) has no module batchcast. Install it" in ended.stderr
    assert ended.returncode == 3
    alone = Path(bc.__file__).parent.parent  # -S: without the packages that are installed
    own.write_text(f'#!/bin/sh\nPYTHONPATH={alone} exec {sys.executable} -S "$@"\n')
    ended = command(*words)
    assert "has the package batchcast, and not numpy, which it needs. Install it" in ended.stderr
    assert "Traceback" not in ended.stderr and ended.returncode == 3
    own.write_text('#!/bin/sh\nif [ "$1" = -c ]; then exit 0; fi\necho "$@"; exit 7\n')
    monkeypatch.delenv("BATCHCAST_PYTHON")
    monkeypatch.setenv("VIRTUAL_ENV", str(place / "env"))
    ended = command(*words, "--workers", "2", "--allow-uid", "1", "--allow-uid", "2", "-v")
    assert f"is read by {own} (by $VIRTUAL_ENV)" in ended.stderr
    assert ended.returncode == 7
    assert ended.stdout == (
        "-m batchcast serve python:mine:made --stream=s --workers=2 --allow-uid=1 --allow-uid=2 "
        "--verbose\n"
    )
    monkeypatch.delenv("VIRTUAL_ENV")
    monkeypatch.setenv("PATH", f"{place}:{own.parent}:/usr/bin")
    assert "(by $PATH)" in command(*words).stderr
    monkeypatch.setenv("PATH", str(place))
    assert "there is no python3 on the PATH" in command(*words).stderr
    monkeypatch.setenv("BATCHCAST_PYTHON", "/nowhere/python")
    assert "$BATCHCAST_PYTHON is `/nowhere/python`, and there is no such" in command(*words).stderr


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("--idle-exist=3", "there is no option `--idle-exist`. Did you mean `--idle-exit`?"),
        ("--idle-exit=soon", "--idle-exit: `soon` must be a number of seconds"),
        ("--place=cuda:0,gpu:1", "`gpu:1` is no placement"),
        ("--huge-pages=giant", "--huge-pages: `giant` is none of its choices"),
    ],
)
def test_words_of_a_command_of_another_version(place: Path, word: str, text: str) -> None:
    words = [sys.executable, "-m", "batchcast", "serve", "python:mine:broken", "--stream=s", word]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    assert text in ended.stderr and ended.returncode == 2
    assert f"the package batchcast {bc.__version__} of {sys.executable}" in ended.stderr
    assert "no disk" not in ended.stderr  # the source is not opened


def test_the_package_runs_the_command_with_itself(place: Path) -> None:
    os.environ.pop("BATCHCAST_PYTHON")
    words = [sys.executable, "-m", "batchcast", "serve", "python:mine:none", "--stream", "s"]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    assert f"is read by {sys.executable} (by $BATCHCAST_PYTHON)" in ended.stderr
    assert "module `mine` has no `none`" in ended.stderr and ended.returncode == 2


@pytest.mark.parametrize("source", ["python:mine:made", "python:mine:loader"])
def test_ensure_starts_it_and_knows_it_again(place: Path, source: str) -> None:
    first = command("ensure", "s", source, "--idle-exit", "100")
    assert first.stdout.startswith("served\n"), first.stdout + first.stderr
    again = command("ensure", "s", source, "--idle-exit", "100")
    assert again.stdout.startswith("served\n")
    other = command("ensure", "s", "python:mine:Squares?size=3")
    assert other.returncode == 1 and f"the stream has `{source}`, asked for" in other.stdout
    elsewhere = command("ensure", "s", source, cwd="/")
    assert elsewhere.returncode == 1
    assert f"the stream has `{source}` of the directory {place}, asked for" in elsewhere.stdout
    assert f"`{source}` of the directory /: only Python can open it" in elsewhere.stdout


def test_ensure_does_not_take_a_loader_for_what_a_recipe_makes(place: Path) -> None:
    words = ["ensure", "s", "python:mine:loader"]
    assert command(*words, "--idle-exit", "100").stdout.startswith("served\n")
    other = command(*words, "--recipe", "mnist", "--seed", "7", "--shard", "0/2")
    assert other.returncode == 1
    for asked in ("recipe: a loader makes its samples itself, asked for `mnist`", "`7`", "`0/2`"):
        assert asked in other.stdout


def test_a_trainer_starts_it(place: Path) -> None:
    start = bc.Start("python:mine:made", epochs=1, idle_exit=20, memory="1MiB")
    with bc.Consumer("s", 8, start=start) as consumer:
        assert len(made_data.epoch_of(consumer)["label"]) == 30


def test_what_a_trainer_starts_is_read_by_its_python(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another environment is active, which has no package."""
    other = place / "env/bin/python3"
    other.parent.mkdir(parents=True)
    other.write_text("#!/bin/sh\nexit 44\n")
    other.chmod(0o755)
    monkeypatch.setenv("VIRTUAL_ENV", str(place / "env"))
    start = bc.Start("python:mine:made", epochs=1, idle_exit=20, memory="1MiB")
    monkeypatch.setenv("BATCHCAST_PYTHON", str(other))
    with pytest.raises(bc.StartFailed, match=r"\(by \$BATCHCAST_PYTHON\) has no module batchcast"):
        bc.Consumer("s", 8, start=start)
    monkeypatch.delenv("BATCHCAST_PYTHON")
    with bc.Consumer("s", 8, start=start) as consumer:
        assert len(made_data.epoch_of(consumer)["label"]) == 30


@pytest.mark.parametrize(
    "words",
    [
        ("dump", "python:mine:made", "--positions", "0:1", "--out", "x"),
        ("inspect", "python:mine:made"),
        ("inspect", "parquet:train.parquet", "--seed", "3"),
    ],
)
def test_nothing_else_opens_it(place: Path, words: list[str]) -> None:
    ended = command(*words)
    assert "is read by Python. `batchcast serve` and `batchcast ensure` take it" in ended.stderr
    assert "Once it is served, `batchcast inspect STREAM` says what" in ended.stderr
    assert ended.returncode == 2
