# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: numpy
"""The wheel: made of what is built, complete, installed alone, used, and gone without a trace."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import examples
import support

# What each Debian 12 has (dpkg needs libz), and each manylinux: auditwheel's list, as far as it is
# used here.
OF_THE_SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|gcc_s|stdc\+\+|z))\.so(\.\d+)*$")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    made = subprocess.run(
        ["sh", support.ROOT / "cmake/wheel.sh", "--out", folder, "--from"]
        + [Path(support.COMMAND).parent],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    (wheel,) = folder.glob("*.whl")
    assert "batchcast.libs/libzmq" in made.stdout
    assert made.stdout.splitlines()[-1].startswith(f"{wheel}: ")
    return wheel


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An environment with the wheel, and the numpy of this one."""
    venv = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    (packages,) = venv.glob("lib/python3*/site-packages")
    subprocess.run(pip(venv, "install", "--no-deps", "--no-index", "--no-compile", wheel), check=True)
    for part in Path(np.__file__).parent.parent.glob("numpy*"):
        (packages / part.name).symlink_to(part)
    yield venv
    subprocess.run(pip(venv, "uninstall", "--yes", "batchcast"), check=True)
    left = [path for path in venv.rglob("*") if "batchcast" in path.name.lower()]
    assert not left


def pip(venv: Path, *words: Any) -> list[Any]:
    return [sys.executable, "-m", "pip", "--python", venv / "bin/python", "--quiet", *words]


def bare_environment(venv: Path) -> dict[str, str]:
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in ("BATCHCAST_COMMAND", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME")
    }
    return dict(env, PATH=f"{venv}/bin:/usr/bin:/bin")


def test_its_name_says_where_it_installs(wheel):
    version = f"cp3{sys.version_info.minor}"
    platform = re.match(rf"batchcast-[\d.]+-{version}-{version}-manylinux_2_(\d+)_\w+\.whl", wheel.name)
    assert platform is not None and int(platform[1]) <= 36
    assert wheel.stat().st_size < 15_000_000  # and not ICU, which nobody uses


def test_it_holds_what_it_should_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
        modes = {info.filename: info.external_attr >> 16 for info in file.infolist()}
        metadata = file.read(next(name for name in names if name.endswith("/METADATA"))).decode()
    assert modes["batchcast/bin/batchcast"] & 0o111
    for module in (support.ROOT / "src/python/batchcast").rglob("*.py*"):
        if module.suffix in (".py", ".pyi"):
            assert str(module.relative_to(support.ROOT / "src/python")) in names
    assert "batchcast/py.typed" in names
    roots = {name.split("/")[0] for name in names}
    assert {root.split("-")[0] for root in roots} == {"batchcast", "batchcast.libs"}
    assert "License-Expression: Apache-2.0" in metadata and "Requires-Dist: numpy" in metadata
    # Each library's licence, by a sample of them; wheel.sh fails where it finds none.
    for package in ("libzmq5", "libjpeg62-turbo", "libspng0", "libwebp7", "libarchive-dev", "nanobind"):
        assert any(f".dist-info/licenses/{package}/" in name for name in names), package
    assert any(name.endswith("/common-licenses/LGPL-3") for name in names)


def test_all_that_it_loads_is_inside_or_the_systems(installed):
    (packages,) = installed.glob("lib/python3*/site-packages")
    binaries = [path for path in packages.glob("batchcast*/**/*") if ".so" in path.name]
    binaries.append(packages / "batchcast/bin/batchcast")
    assert len(binaries) > 5
    loaded = subprocess.run(
        ["ldd", *binaries], capture_output=True, text=True, env=bare_environment(installed)
    ).stdout
    assert "not found" not in loaded
    found = set(re.findall(r"=> (\S+)|^\s(/\S+)", loaded, re.MULTILINE))
    paths = {Path(one or other) for one, other in found}
    inside = {path for path in paths if path.resolve().is_relative_to(packages / "batchcast.libs")}
    assert any("libzmq" in path.name for path in inside)
    for path in paths - inside:
        assert OF_THE_SYSTEM.match(path.name), path


def test_installed_it_serves_and_trains(installed, directory, tmp_path):
    code = """
import subprocess, sys, batchcast as bc
assert bc.__file__.startswith(sys.prefix), bc.__file__
served = ["batchcast", "serve", "synthetic:3x8x8", "--dtype", "u8", "--samples", "1000",
          "--stream", "s", "--epochs", "1", "--wait-for", "1"]
producer = subprocess.Popen(served, stdout=subprocess.DEVNULL)
with bc.Consumer("s", 100) as consumer:
    while (batch := consumer.next()) is not None:
        print(int(batch["image"].sum()))
        del batch
sys.exit(producer.wait(timeout=20))"""
    run = subprocess.run(
        [installed / "bin/python", "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=bare_environment(installed),
        timeout=40,
    )
    assert run.returncode == 0, run.stderr
    dumped = support.dump("synthetic:3x8x8", 0, 1000, tmp_path, dtype="u8", samples=1000)
    assert [int(word) for word in run.stdout.split()] == (
        dumped["image"].reshape(10, -1).sum(axis=1, dtype=np.int64).tolist()
    )


def test_its_command_starts_streams(installed, directory, tmp_path):
    code = """
import batchcast as bc
start = bc.Start("synthetic:8", epochs=1, arguments=["--samples", "64"])
with bc.Consumer("s", 64, start=start) as consumer:
    print(consumer.next().size)"""
    with examples.started(directory):
        run = subprocess.run(
            [installed / "bin/python", "-c", code],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=dict(bare_environment(installed), PATH="/usr/bin:/bin"),
        )
    assert run.stdout == "64\n", run.stderr


def test_pip_names_what_the_machine_lacks(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps"]
        + ["--wheel-dir", tmp_path, support.ROOT],
        capture_output=True,
        text=True,
        env=dict(os.environ, PKG_CONFIG_LIBDIR=str(tmp_path), PKG_CONFIG_PATH=""),
    )
    said = run.stdout + run.stderr
    assert run.returncode != 0
    assert "lacks (by Debian's names): libzmq3-dev libjpeg62-turbo-dev" in said
    assert "`sh cmake/bootstrap.sh python`" in said
