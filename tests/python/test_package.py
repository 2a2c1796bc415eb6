# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: numpy torch-1.13
"""The package: what importing it costs and brings, its command, its types."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import batchcast as bc
import examples
import support
from batchcast import _command

SOURCES = support.ROOT / "src/python/batchcast"


def command(*words: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "batchcast", *words],
        capture_output=True,
        text=True,
        env=support.environment(),
        timeout=30,
        **options,
    )


def test_the_import_is_quick():
    code = """
import time, numpy
begun = time.process_time()
import batchcast
print(time.process_time() - begun)"""
    # Of processor time, the least of a few: what other processes do counts for nothing.
    seconds = min(float(support.python(code).stdout) for _ in range(5))
    assert seconds <= 0.06


def test_the_import_brings_neither_torch_nor_a_producer():
    code = """
import sys, batchcast
print(*sorted(name for name in sys.modules if name.split(".")[0] == "torch"
              or name in ("batchcast._producer", "batchcast.loader")))
print(callable(batchcast.serve), "torch" in sys.modules)"""
    run = support.python(code)
    assert run.stdout == "\nTrue False\n", run.stderr


def test_names_are_there_on_first_use():
    assert {"serve", "tensorsocket", "Consumer", "Timeout"} <= set(dir(bc))
    assert ("Loader" in dir(bc)) == (importlib.util.find_spec("torch") is not None)
    assert not {"annotations", "importlib", "TYPE_CHECKING"} & set(bc.__all__)
    assert bc.serve is bc.serve and callable(bc.serve)
    with pytest.raises(AttributeError, match="'batchcast' has no attribute 'Lo4der'"):
        bc.Lo4der  # noqa: B018
    with pytest.raises(ImportError, match="Lo4der"):
        exec("from batchcast import Lo4der")


def test_every_public_name_has_a_text():
    for name in bc.__all__:
        value = getattr(bc, name)
        assert name == "__version__" or value.__doc__, name


def test_the_command_is_the_one_inside():
    path = _command.path()
    assert path is not None and os.path.samefile(path, support.COMMAND)
    run = command("--version")
    assert run.stdout == f"batchcast {bc.__version__}\n" and run.returncode == 0
    assert "Usage: batchcast serve" in command("serve", "--help").stdout


def test_its_exit_status_is_the_commands():
    plain = subprocess.run([support.COMMAND, "serv"], capture_output=True, text=True)
    run = command("serv")
    assert (run.returncode, run.stderr) == (plain.returncode, plain.stderr) and plain.returncode != 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_it_becomes_the_command_and_takes_its_signals(directory, number):
    def ends(program: list[str]) -> int:
        words = ["serve", "synthetic:8", "--samples", "64", "--stream", "s"]
        process = subprocess.Popen(
            program + words, env=support.environment(), stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        assert process.stderr.readline().startswith("serving stream `s`")
        assert os.path.samefile(f"/proc/{process.pid}/exe", support.COMMAND)
        process.send_signal(number)
        process.communicate(timeout=20)
        return process.returncode

    assert ends([sys.executable, "-m", "batchcast"]) == ends([support.COMMAND])


def test_it_inherits_nothing_that_python_ignores():
    code = """
import sys
from batchcast import _command
_command.path = lambda: "/bin/grep"
sys.argv = ["batchcast", "SigIgn", "/proc/self/status"]
_command.main()"""
    assert int(support.python(code).stdout.split()[1], 16) == 0


def test_without_a_command_it_says_so():
    code = "from batchcast import _command; _command.path = lambda: None; _command.main()"
    run = support.python(code)
    assert run.returncode == 1 and "there is no command in" in run.stderr


def test_start_runs_the_one_inside(directory, tmp_path, monkeypatch):
    other = tmp_path / "batchcast"
    other.write_text("#!/bin/sh\necho the other one was run >&2\nexit 9\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv("BATCHCAST_COMMAND")
    start = bc.Start("synthetic:8", epochs=1, arguments=["--samples", "64"])
    with examples.started(directory), bc.Consumer("s", 64, start=start) as consumer:
        assert consumer.next().size == 64
    monkeypatch.setenv("BATCHCAST_COMMAND", str(other))
    with pytest.raises(bc.StartFailed, match="the other one was run"):
        bc.Consumer("t", 64, start=start)


@pytest.mark.parametrize("module", ["_consumer", "_producer"])
def test_stubs_are_what_the_modules_say(module, tmp_path):
    pytest.importorskip("nanobind")
    made = tmp_path / f"{module}.pyi"
    subprocess.run(
        [sys.executable, "-m", "nanobind.stubgen", "-q", "-P", "-m", f"batchcast.{module}", "-o", made],
        env=support.environment(),
        check=True,
    )
    assert made.read_text() == (SOURCES / f"{module}.pyi").read_text(), (
        "`cmake --build build/release --target batchcast_python_stubs` writes them"
    )


def test_types_pass_strict_checks(tmp_path):
    pytest.importorskip("mypy")
    files = [*SOURCES.rglob("*.py*"), Path(__file__).with_name("typed_user.py")]
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", tmp_path]
        + [path for path in files if path.suffix in (".py", ".pyi")],
        cwd=support.ROOT,
        env=dict(os.environ, MYPYPATH=str(SOURCES.parent)),
        capture_output=True,
        text=True,
    )
    assert (run.stdout, run.returncode) == ("", 0), run.stderr
