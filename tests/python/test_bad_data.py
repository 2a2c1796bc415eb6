# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""bc.sources over files that are damaged, odd, or changed while they are served: an error or a bad
sample that says which file, and never a crash or another sample."""

from __future__ import annotations

import gzip
import multiprocessing
import os
import select
import signal
import subprocess
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import batchcast as bc
import numpy as np
import pytest

import made_data
import support
from batchcast.sources import _apart, _lmdb, _parquet
from batchcast.sources._files import Watched, _watched
from batchcast.sources import Arrays, HuggingFace, LMDB, Parquet, Torchvision

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    pa = pq = None
needs_arrow = pytest.mark.skipif(pa is None, reason="pyarrow is not installed")

# The begin of a JPEG file is all that is looked at here.
IMAGES = [b"\xff\xd8\xff\xe0" + bytes([i]) * (300 + i) for i in range(12)]


def check_samples(source: Any, bad: range = range(0), why: str = "") -> None:
    """All are what was written, but for those that are bad."""
    assert len(source) == len(IMAGES)
    for i, image in enumerate(IMAGES):
        if i in bad:
            with pytest.raises(bc.BadSample, match=why):
                source[i]
        else:
            assert source[i]["image"] == image


def touch_later(path: Path) -> None:
    """As if it was written to a moment later."""
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000))


def write_into(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\0" * 100)
    touch_later(path)


def cut_short(path: Path) -> None:
    os.truncate(path, 10)


def replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"another")
    other.rename(path)


CHANGES: list[Any] = [
    (cut_short, "was cut short, from [0-9,]+ bytes to 10, while it was served. Serve it again"),
    (write_into, "was written to while it was served. Serve it again"),
    (replace, ""),
    (Path.unlink, ""),
]


# -- Parquet --------------------------------------------------------------------------------------


def parquet(path: Path, **options: Any) -> Path:
    kind = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    images = pa.array([{"bytes": one, "path": None} for one in IMAGES], kind)
    options = {"row_group_size": 4, "compression": "none", **options}
    pq.write_table(pa.table({"image": images, "label": range(12)}), path, **options)
    return path


@needs_arrow
@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (lambda whole: b"", "0 bytes"),
        (lambda whole: whole[:3], "is no Parquet file"),
        (lambda whole: whole[:-1], "is no Parquet file"),
        (lambda whole: whole[:-8], "is no Parquet file"),
        (lambda whole: whole[:1000], "is no Parquet file"),
        (lambda whole: b"PAR1" * 3, "b.parquet"),
        (lambda whole: whole[:-300] + b"\xff" * 200 + whole[-100:], "b.parquet"),
        (lambda whole: whole[:-8] + b"\xff\xff\xff\x7fPAR1", "b.parquet"),
        (lambda whole: whole[:4] + whole[1000:], "b.parquet"),
    ],
)
def test_a_damaged_parquet_file(tmp_path: Path, damage: Any, text: str) -> None:
    parquet(tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(damage((tmp_path / "a.parquet").read_bytes()))
    with pytest.raises(bc.BadDataset, match=text):
        Parquet(tmp_path)


@needs_arrow
def test_a_damaged_page_makes_its_row_group_bad(tmp_path: Path) -> None:
    path = parquet(tmp_path / "a.parquet", write_page_checksum=True)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(IMAGES[5], IMAGES[5][:-1] + b"!"))
    check_samples(Parquet(path), range(4, 8), "row group 1 of .*a.parquet cannot be read: .*CRC")
    label = np.arange(12).tobytes()[4 * 8 : 8 * 8]
    broken = parquet(path, write_page_checksum=True, use_dictionary=False).read_bytes()
    assert label in broken
    path.write_bytes(broken.replace(label, b"\1" * 32))
    with pytest.raises(bc.BadDataset, match="row group 1 of .*a.parquet cannot be read"):
        Parquet(path)


@needs_arrow
def test_a_footer_that_ends_whoever_looks_at_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [str(parquet(tmp_path / f"{name}.parquet")) for name in "abc"]

    def look(self: Parquet, paths: list[str], tick: Any) -> None:
        if files[1] in paths:
            os.abort()
        if files[2] in paths:
            signal.pause()

    monkeypatch.setattr(Parquet, "_look_at_footers", look)
    with pytest.raises(bc.BadDataset, match=r"b.parquet is damaged: .*\(SIGABRT\)"):
        Parquet(files)
    check_samples(Parquet(files[:1]))

    def give_up_soon(work: Any) -> Any:  # on what hangs, and not on what is only late
        silence_s = 0.1 if files[2] in work.args[0] else 30
        monkeypatch.setattr(_apart, "_SILENCE_S", silence_s)
        return _apart.apart(work)

    monkeypatch.setattr(_parquet, "apart", give_up_soon)
    with pytest.raises(bc.BadDataset, match=r"c.parquet is damaged: .*\(no progress in 0.1 s\)"):
        Parquet(files[::2])


@needs_arrow
def test_files_that_say_other_numbers_of_rows_than_they_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = parquet(tmp_path / "a.parquet")
    opened = pq.ParquetFile(path)
    lie = {"file": 0, "group": 0}

    class Lying:
        def __init__(self, path: str) -> None:
            self.schema_arrow = opened.schema_arrow
            self.read_row_group = opened.read_row_group
            self.metadata = types.SimpleNamespace(
                num_rows=12 + lie["file"], num_row_groups=3, row_group=self.row_group
            )

        def row_group(self, number: int) -> Any:
            rows = opened.metadata.row_group(number).num_rows
            return types.SimpleNamespace(num_rows=rows + (lie["group"] if number == 1 else 0))

    monkeypatch.setattr(pq, "ParquetFile", Lying)
    lie["file"] = 1
    with pytest.raises(bc.BadDataset, match="groups have 12 rows, and the file says 13"):
        Parquet(path, image=None)
    lie["group"] = 1
    with pytest.raises(bc.BadDataset, match="row group 1 of .* has 4 rows, and the file says 5"):
        Parquet(path, image=None)
    lie["group"] = -5
    with pytest.raises(bc.BadDataset, match="groups have 7 rows"):
        Parquet(path, image=None)


@needs_arrow
@pytest.mark.parametrize(("change", "why"), CHANGES)
def test_a_parquet_file_that_is_changed_while_it_is_served(
    tmp_path: Path, change: Callable[[Path], None], why: str
) -> None:
    path = parquet(tmp_path / "a.parquet")
    source = Parquet(path, cache=1)
    assert source[1]["image"] == IMAGES[1]
    change(path)
    check_samples(source, range(4, 12) if why else range(0), why)  # the first four are kept


@needs_arrow
def test_what_is_no_parquet_file_at_all(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").mkdir()
    with pytest.raises(bc.BadDataset, match="a.parquet is a folder"):
        Parquet(tmp_path)
    os.mkfifo(tmp_path / "b.parquet")  # no process writes to it
    with pytest.raises(bc.BadDataset, match="b.parquet is no regular file"):
        Parquet(tmp_path / "b.parquet")
    pq.write_table(pq.read_table(parquet(tmp_path / "c.parquet")).slice(0, 0), tmp_path / "c.parquet")
    with pytest.raises(bc.BadDataset, match="c.parquet has no rows"):
        Parquet(tmp_path / "c.parquet")
    parquet(tmp_path / "d.parquet")
    check_samples(Parquet([tmp_path / "c.parquet", tmp_path / "d.parquet"]))


@needs_arrow
@pytest.mark.parametrize("kind", ["binary", "large_binary", "dictionary"])
def test_columns_of_bytes_of_every_kind(tmp_path: Path, kind: str) -> None:
    images = pa.array(IMAGES, pa.large_binary() if kind == "large_binary" else pa.binary())
    if kind == "dictionary":
        images = images.dictionary_encode()
    pq.write_table(pa.table({"image": images, "label": range(12)}), tmp_path / "a.parquet")
    assert str(pq.read_schema(tmp_path / "a.parquet").field("image").type).startswith(kind)
    check_samples(Parquet(tmp_path / "a.parquet"))


@needs_arrow
def test_labels_are_of_one_dtype(tmp_path: Path) -> None:
    def labelled(name: str, labels: Any) -> Path:
        images = pa.array(IMAGES[: len(labels)])
        pq.write_table(pa.table({"image": images, "label": labels}), tmp_path / name, row_group_size=2)
        return tmp_path / name

    small = labelled("int8.parquet", pa.array([1, 2], pa.int8()))
    large = labelled("int64.parquet", pa.array([3, 4], pa.int64()))
    assert [one["label"] for one in Parquet([small, large])] == [1, 2, 3, 4]
    floats = labelled("float.parquet", pa.array([1, 2, None, 4], pa.float32()))
    with pytest.raises(bc.InvalidArgument, match="`label` is int8 in .*int8.parquet and float in"):
        Parquet([small, floats])
    labels = [one["label"] for one in Parquet(floats)]
    assert labels[2] is None and {type(one) for one in labels} == {np.float32, type(None)}
    with pytest.raises(bc.InvalidArgument, match="is null, and a label is a number"):
        Parquet(labelled("null.parquet", pa.nulls(2)))
    twice = pa.Table.from_arrays([pa.array(IMAGES)] * 2, ["image", "image"])
    pq.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(bc.InvalidArgument, match="has several columns `image`"):
        Parquet(tmp_path / "twice.parquet", label=None)


@needs_arrow
def test_a_row_group_that_arrow_reads_only_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one with more than 2 GiB of images."""

    def refuses(*arguments: Any, **options: Any) -> None:
        raise pa.ArrowNotImplementedError("Nested data conversions not implemented for chunked array")

    source = Parquet(parquet(tmp_path / "a.parquet"))
    monkeypatch.setattr(pq.ParquetFile, "read_row_group", refuses)
    iter_batches = pq.ParquetFile.iter_batches
    monkeypatch.setattr(
        pq.ParquetFile,
        "iter_batches",
        lambda self, **options: iter_batches(self, **{**options, "batch_size": 3}),
    )
    check_samples(source)


# -- Hugging Face ---------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The Arrow file of a dataset that was saved."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    dataset = datasets.Dataset.from_dict(
        {"image": [{"bytes": one, "path": None} for one in IMAGES], "label": list(range(12))},
        features=datasets.Features({"image": datasets.Image(), "label": datasets.Value("int64")}),
    )
    dataset.save_to_disk(tmp_path / "saved")
    return next((tmp_path / "saved").glob("*.arrow"))


@pytest.mark.parametrize(("change", "why"), CHANGES)
def test_an_arrow_file_that_is_changed_while_it_is_served(
    saved: Path, change: Callable[[Path], None], why: str
) -> None:
    source = HuggingFace(saved.parent)
    check_samples(source)
    change(saved)
    check_samples(source, range(12) if why else range(0), why)


def test_a_damaged_arrow_file(saved: Path) -> None:
    import datasets

    loaded = datasets.load_from_disk(str(saved.parent))
    whole = saved.read_bytes()
    lengths = np.cumsum([0] + [len(one) for one in IMAGES]).astype(np.int32).tobytes()
    assert lengths in whole
    saved.write_bytes(whole.replace(lengths, lengths[:20] + b"\xff\xff\xff\x7f" + lengths[24:]))
    with pytest.raises(bc.BadDataset, match=r"rows 0 to 11 of .*\.arrow\) are damaged: .*ffset"):
        HuggingFace(saved.parent)
    saved.write_bytes(whole[:1000])
    with pytest.raises(bc.BadDataset, match="cannot be loaded by datasets: .*Expected to be able"):
        HuggingFace(saved.parent)
    with pytest.raises(bc.BadDataset, match=r"\.arrow was cut short after it was opened"):
        HuggingFace(loaded)
    (saved.parent / "state.json").write_text("{")
    with pytest.raises(bc.BadDataset, match="saved` cannot be loaded by datasets: JSON"):
        HuggingFace(saved.parent)


def test_a_pipe_in_the_place_of_an_arrow_file(saved: Path) -> None:
    saved.unlink()
    os.mkfifo(saved)  # no process writes to it
    with pytest.raises(bc.BadDataset, match=r"\.arrow is no regular file"):
        HuggingFace(saved.parent)


def test_odd_datasets_of_hugging_face(saved: Path) -> None:
    import datasets

    dataset = datasets.load_from_disk(str(saved.parent))
    with pytest.raises(bc.BadDataset, match="the dataset has no rows"):
        HuggingFace(dataset.select([]))
    assert [one["image"] for one in HuggingFace(dataset.select(range(1, 12, 2)))] == IMAGES[1::2]
    for decode in (True, False):
        check_samples(HuggingFace(dataset.cast_column("image", datasets.Image(decode=decode))))
    images = [{"bytes": IMAGES[0], "path": None}, None]
    nulls = datasets.Dataset.from_dict(
        {"image": images}, features=datasets.Features({"image": datasets.Image(decode=False)})
    )
    assert [one["image"] for one in HuggingFace(nulls, label=None)] == [IMAGES[0], None]
    several = datasets.Dataset.from_dict(
        {"image": [images[:1]]},
        features=datasets.Features({"image": datasets.Sequence(datasets.Image(decode=False))}),
    )
    with pytest.raises(bc.InvalidArgument, match="list<.*and an image is the bytes of its file"):
        HuggingFace(several, label=None)
    streamed = datasets.IterableDatasetDict({"train": dataset.to_iterable_dataset()})
    with pytest.raises(bc.InvalidArgument, match="IterableDataset, whose rows cannot be read"):
        HuggingFace(streamed)


# -- LMDB -----------------------------------------------------------------------------------------

WRITER = """
import lmdb, sys
with lmdb.open(sys.argv[1], map_size=1 << 24) as env, env.begin(write=True) as out:
    out.put(sys.argv[2].encode(), sys.argv[3].encode() * 5000)
"""


def write_lmdb(path: Path, key: str, letter: str) -> None:
    """By another process, as a process opens an environment once."""
    subprocess.run([sys.executable, "-c", WRITER, str(path), key, letter], check=True)


def environment(path: Path, entries: dict[bytes, bytes], **options: Any) -> Path:
    lmdb = pytest.importorskip("lmdb")
    with lmdb.open(str(path), map_size=1 << 24, **options) as env, env.begin(write=True) as out:
        for key, value in entries.items():
            out.put(key, value)
    return path


@pytest.fixture
def images(tmp_path: Path) -> Path:
    return environment(tmp_path / "images", {b"%02d" % i: one for i, one in enumerate(IMAGES)})


@pytest.mark.parametrize(("change", "why"), CHANGES)
def test_an_environment_that_is_changed_while_it_is_served(
    images: Path, change: Callable[[Path], None], why: str
) -> None:
    source = LMDB(images)
    check_samples(source)
    change(images / "data.mdb")
    check_samples(source, range(12) if why else range(0), why)


def test_an_environment_that_another_process_writes(images: Path) -> None:
    source = LMDB(images)
    opens = "import lmdb, sys; lmdb.open(sys.argv[1], map_size=1 << 24).begin(write=True)"
    subprocess.run([sys.executable, "-c", opens, str(images)], check=True)
    check_samples(source)
    write_lmdb(images, "03", "x")
    check_samples(source, range(12), "data.mdb was written to while it was served")
    anew = LMDB(images)
    assert anew[3]["image"] == b"x" * 5000 and anew[4]["image"] == IMAGES[4]


def test_an_environment_that_takes_the_name_of_an_open_one(images: Path, tmp_path: Path) -> None:
    source = LMDB(images)
    other = environment(tmp_path / "other", {b"0": IMAGES[7]})
    (other / "data.mdb").rename(images / "data.mdb")
    check_samples(source)
    with pytest.raises(bc.BadDataset, match="is already open in this process"):
        LMDB(images)
    del source
    assert len(LMDB(images)) == 1 and LMDB(images)[0]["image"] == IMAGES[7]


@pytest.mark.parametrize("keep", [8192, -4096])
def test_an_environment_that_was_cut_short(images: Path, keep: int) -> None:
    data = (images / "data.mdb").read_bytes()
    (images / "data.mdb").write_bytes(data[:keep])
    with pytest.raises(bc.BadDataset, match=r"is damaged or cut short: .*its keys \(SIGBUS\)"):
        LMDB(images)


def test_a_value_that_was_cut_short(tmp_path: Path) -> None:
    path = environment(tmp_path / "one", {b"0": IMAGES[0] + bytes(8000)})
    os.truncate(path / "data.mdb", (path / "data.mdb").stat().st_size - 4096)
    with pytest.raises(bc.BadDataset, match=r"is damaged or cut short: .*its keys \(SIGBUS\)"):
        LMDB(path)


def test_a_damaged_page_of_an_environment(images: Path) -> None:
    data = bytearray((images / "data.mdb").read_bytes())
    pages = [at for at in range(8192, len(data), 4096) if data[at + 10] & 2]  # leaves
    data[pages[-1] + 16 : pages[-1] + 20] = b"\xff\x7f\xff\x7f"  # where its first entries are
    (images / "data.mdb").write_bytes(data)
    with pytest.raises(bc.BadDataset, match="images is damaged"):
        LMDB(images)


def test_odd_environments(tmp_path: Path) -> None:
    pairs = {b"image-%09d" % i: IMAGES[i] for i in range(1, 4)} | {b"num-samples": b"4"}
    with pytest.raises(bc.BadDataset, match="num-samples is b'4', and there are 3 keys"):
        LMDB(environment(tmp_path / "pairs", pairs))
    with pytest.raises(bc.BadDataset, match="num-samples is b'-1', and there are 3 keys"):
        LMDB(environment(tmp_path / "minus", {**pairs, b"num-samples": b"-1"}))
    (tmp_path / "folder").mkdir()
    with pytest.raises(bc.BadDataset, match="folder/data.mdb: No such file"):
        LMDB(tmp_path / "folder")
    os.mkfifo(tmp_path / "folder/data.mdb")
    with pytest.raises(bc.BadDataset, match="data.mdb is no regular file"):
        LMDB(tmp_path / "folder")
    several = environment(tmp_path / "dupsort", {b"0": IMAGES[0]}) / "data.mdb"
    data = bytearray(several.read_bytes())
    for meta in (0, 4096):
        data[meta + 92] |= 4  # the flags of the main database
    several.write_bytes(data)
    with pytest.raises(bc.InvalidArgument, match="has several values for a key"):
        LMDB(several.parent)
    import lmdb

    with lmdb.open(str(tmp_path / "several"), max_dbs=1) as env, env.begin(write=True) as out:
        sub = env.open_db(b"sub", txn=out)
        out.put(b"0", IMAGES[0], db=sub)
    with pytest.raises(bc.InvalidArgument, match="first key, b'sub', begins with .*no image"):
        LMDB(tmp_path / "several")


def test_a_look_that_hangs_is_ended(images: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    children = []
    fork = os.fork

    def fork_and_note() -> int:
        children.append(fork())
        return children[-1]

    def hang(self: Any, tick: Any) -> None:
        signal.pause()

    monkeypatch.setattr(os, "fork", fork_and_note)
    monkeypatch.setattr(_apart, "_SILENCE_S", 0.1)
    monkeypatch.setattr(_lmdb._Looked, "_look_through", hang)
    with pytest.raises(bc.BadDataset, match=rf"{images}.* its keys \(no progress in 0.1 s\)"):
        LMDB(images)
    with pytest.raises(ProcessLookupError):
        os.kill(children[0], 0)


class NearlySilent:
    """A poll to which all comes in the last slice of a silence, however long that takes."""

    slices = 0

    def __init__(self) -> None:
        self.poll_for_ever = select.poll()
        self.register = self.poll_for_ever.register

    def poll(self, timeout_ms: float) -> list[tuple[int, int]]:
        NearlySilent.slices += 1
        return self.poll_for_ever.poll() if self.slices % _apart._SLICES == 0 else []


def test_a_look_that_takes_long_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    poll = types.SimpleNamespace(poll=NearlySilent, POLLIN=select.POLLIN)
    monkeypatch.setattr(_apart, "select", poll)
    heard = multiprocessing.get_context("fork").Semaphore(0)
    read = os.read

    def look(tick: Any) -> bytes:
        for _ in range(8):
            tick()
            heard.acquire()
        return b"." * (3 << 20)

    def read_and_say_so(pipe: int, size: int) -> bytes:
        piece = read(pipe, size)
        heard.release()
        return piece

    monkeypatch.setattr(os, "read", read_and_say_so)
    assert _apart.apart(look) == b"." * (3 << 20)
    assert NearlySilent.slices > 8 * _apart._SLICES


STOPPED = """
import select, sys
from batchcast.sources import _apart

def look(tick):
    tick()
    while not select.select([sys.stdin], [], [], 0.02)[0]:
        tick()
    return "through"

told = _apart._told

def told_once_it_looks(pipe):
    select.select([pipe], [], [])
    print("looks", flush=True)
    return told(pipe)

_apart._SILENCE_S = 0.6
_apart._told = told_once_it_looks
print(_apart.apart(look), flush=True)
"""


def test_a_look_that_was_stopped_with_its_process_goes_on() -> None:
    looks = subprocess.Popen(
        [sys.executable, "-c", STOPPED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        start_new_session=True, env=support.environment(),
    )  # fmt: skip
    with looks:
        assert looks.stdin is not None and looks.stdout is not None
        assert looks.stdout.readline() == "looks\n"
        support.until(lambda: support.sleeps(looks.pid))  # it waits for the next tick
        os.killpg(looks.pid, signal.SIGSTOP)
        time.sleep(0.8)
        looks.stdin.write("enough\n")
        looks.stdin.flush()
        os.killpg(looks.pid, signal.SIGCONT)
        assert looks.stdout.readline() == "through\n"


def mapped_array(tmp_path: Path) -> tuple[Any, Path]:
    np.save(tmp_path / "a.npy", np.zeros((12, 4096)))
    return Arrays(image=np.load(tmp_path / "a.npy", mmap_mode="r")), tmp_path / "a.npy"


@pytest.mark.parametrize("kind", ["saved", "images", "array"])
def test_a_mapped_file_that_is_cut_short_in_the_middle_of_a_look(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    if kind == "array":
        source, path = mapped_array(tmp_path)
    elif kind == "saved":
        path = request.getfixturevalue("saved")
        source = HuggingFace(path.parent)
    else:
        path = request.getfixturevalue("images") / "data.mdb"
        source = LMDB(path.parent)
    check = Watched.check

    def check_before_it_is_cut(self: Watched) -> None:
        check(self)
        cut_short(path)

    monkeypatch.setattr(Watched, "check", check_before_it_is_cut)
    with pytest.raises(bc.BadSample, match="was cut short, from"):
        source[11]
    monkeypatch.undo()
    with pytest.raises(bc.BadSample, match="was cut short, from"):
        source[3]


FAULTS = """
import mmap, sys, faulthandler, signal
from batchcast._producer import ZerosWhereCut
def enable(): faulthandler.enable()
def keep(): keeps.append(ZerosWhereCut(4096, 8192))
def disable(): faulthandler.disable()
def ignore(): signal.signal(signal.SIGBUS, signal.SIG_IGN)
def send(): signal.raise_signal(signal.SIGBUS)
def look():
    with open(sys.argv[1], "w+b") as file:
        file.truncate(8192)
        mapped = mmap.mmap(file.fileno(), 8192)
        file.truncate(0)
        print(mapped[5000])
keeps = []
for do in sys.argv[2:]:
    globals()[do]()
"""


@pytest.mark.parametrize(
    ("steps", "dumps"),
    [
        ("keep look", 0),
        ("keep send", 0),
        ("enable keep look", 1),
        ("keep enable look", 1),
        ("keep enable keep look", 1),
        ("enable keep disable enable keep send", 1),
    ],
)
def test_a_fault_in_what_is_not_watched_ends_the_process_as_before(
    tmp_path: Path, steps: str, dumps: int
) -> None:
    ended = support.python(FAULTS, str(tmp_path / "a"), *steps.split())
    assert ended.returncode == -signal.SIGBUS
    assert ended.stderr.count("Fatal Python error: Bus error") == dumps


def test_a_fault_that_others_ignore_stays_ignored(tmp_path: Path) -> None:
    ended = support.python(FAULTS, str(tmp_path / "a"), "ignore", "keep", "send", "send")
    assert ended.returncode == 0, ended.stderr


def test_a_file_that_is_cut_after_others_took_the_fault(tmp_path: Path) -> None:
    code = """
import os, sys, faulthandler, numpy as np, batchcast as bc
from batchcast.sources._files import Watched
np.save(sys.argv[1], np.arange(3 * 4096.0).reshape(3, 4096))
source = bc.sources.Arrays(x=np.load(sys.argv[1], mmap_mode="r"))
faulthandler.enable()
check = Watched.check
def check_before_it_is_cut(self):
    check(self)
    os.truncate(sys.argv[1], 4096)
Watched.check = check_before_it_is_cut
try:
    source[2]
except bc.BadSample as error:
    print("was cut short" in str(error))
"""
    ended = support.python(code, str(tmp_path / "a.npy"))
    assert ended.returncode == 0 and ended.stdout == "True\n", ended.stderr


# -- arrays and torchvision -----------------------------------------------------------------------


@pytest.mark.parametrize(("change", "why"), CHANGES)
def test_mapped_arrays_whose_file_is_changed(
    tmp_path: Path, change: Callable[[Path], None], why: str
) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.arange(3 * 4096.0).reshape(3, 4096))
    source = Arrays(x=np.load(path, mmap_mode="r"))
    change(path)
    if why:
        for look in (lambda: source[1], source.fingerprint):
            with pytest.raises(bc.BadSample, match=f"a.npy {why}"):
                look()
    else:
        assert source[1]["x"][0] == 4096.0 and source.fingerprint()


def test_memory_of_a_device_is_no_file(tmp_path: Path) -> None:
    assert _watched(os.devnull, os.stat(os.devnull).st_ino) is None
    (tmp_path / "a").write_bytes(b"1")
    assert _watched(str(tmp_path / "a"), (tmp_path / "a").stat().st_ino) is not None


def test_an_array_whose_file_was_cut_short_before(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((3, 4096)))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    cut_short(tmp_path / "a.npy")
    with pytest.raises(bc.BadDataset, match="a.npy was cut short after it was opened: it has 10 bytes"):
        Arrays(x=mapped[::-1])


def test_an_array_whose_file_is_cut_short_while_it_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "a.npy", np.ones((3, 4096)))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    copy = np.ascontiguousarray

    def copy_once_it_is_cut(array: Any) -> Any:
        cut_short(tmp_path / "a.npy")
        return copy(array)

    monkeypatch.setattr(np, "ascontiguousarray", copy_once_it_is_cut)
    with pytest.raises(bc.BadDataset, match="a.npy was cut short, from 98,432 bytes to 10"):
        Arrays(x=mapped[::-1])


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ([[1, 2], [3]], "no array: "),
        (np.array([[1], [1, 2]], object), "an array of objects"),
        (5, "one value, and the first dimension counts the samples"),
    ],
)
def test_arrays_that_cannot_be_served(value: Any, why: str) -> None:
    with pytest.raises(bc.InvalidArgument, match=f"sources.Arrays: `x` is {why}"):
        Arrays(x=value)


def test_arrays_however_they_lie(directory: Path) -> None:
    plain = np.arange(24).reshape(6, 4)
    source = Arrays(
        back=plain[::-1], big=plain.astype(">i4"), half=plain.astype("f2"), turned=plain.T.T,
        every_other=plain[:, ::2],
    )  # fmt: skip
    with bc.serve(
        source, stream="s", order="sequential", memory="64KiB", epochs=1, background=True
    ):
        with bc.Consumer("s", 4) as consumer:
            epoch = made_data.epoch_of(consumer)
    for name, values in epoch.items():
        np.testing.assert_array_equal(values, np.stack([one[name] for one in source]))
    assert epoch["back"][0].tolist() == [20, 21, 22, 23] and epoch["big"].dtype == np.int32
    assert Arrays(x=np.zeros((5, 0))).fingerprint() != Arrays(x=np.zeros((4, 0))).fingerprint()


def mnist(folder: Path, **changes: Any) -> Any:
    """As torchvision has one of three digits, whose files are in the folder."""
    data, targets = np.arange(12, dtype=np.uint8).reshape(3, 2, 2), np.array([7, 2, 1])
    for name, contents in (("labels-idx1", targets.astype(np.uint8)), ("images-idx3", data)):
        header = bytes((0, 0, 8, contents.ndim, *b"".join(n.to_bytes(4, "big") for n in contents.shape)))
        path = folder / f"train-{name}-ubyte.gz"
        path.write_bytes(gzip.compress(header + contents.tobytes()))
    attributes = {
        "raw_folder": str(folder), "train": True, "classes": list("0123456789"), "data": data,
        "targets": targets, "transform": None, "target_transform": None,
    }  # fmt: skip
    return type("MNIST", (), {**attributes, **changes})()


def test_a_dataset_of_torchvision_is_served_as_it_is(tmp_path: Path) -> None:
    assert Torchvision(mnist(tmp_path)) == f"idx:{tmp_path}?split=train"
    inverted = Torchvision(mnist(tmp_path, data=255 - mnist(tmp_path).data))
    assert inverted[0]["image"].tolist() == [[255, 254], [253, 252]]
    with pytest.raises(bc.InvalidArgument, match="targets of the MNIST are not one whole number"):
        Torchvision(mnist(tmp_path, targets=[[1], [2, 3], [4]], data=np.zeros((3, 2, 2))))
    dataset = mnist(tmp_path)
    for name in ("labels-idx1", "images-idx3"):
        path = tmp_path / f"train-{name}-ubyte.gz"
        whole = path.read_bytes()
        for damaged in (whole[:20], b"", whole[:15] + b"\xff" * 5 + whole[20:]):
            path.write_bytes(damaged)
            assert [one["label"] for one in Torchvision(dataset)] == [7, 2, 1]
        path.write_bytes(whole)
    assert isinstance(Torchvision(dataset), str)
    with pytest.raises(bc.InvalidArgument, match="has a target_transform, which is not run"):
        Torchvision(mnist(tmp_path, target_transform=abs))


# -- datasets of one's own ------------------------------------------------------------------------


class Odd(made_data.Numbers):
    class_names: Any = None

    def __init__(self, length: Any = 5) -> None:
        super().__init__()
        self.length = length

    def __len__(self) -> int:
        if isinstance(self.length, Exception):
            raise self.length
        return self.length  # type: ignore[no-any-return]


def odd(**attributes: Any) -> Any:
    return type("Odd", (Odd,), attributes)()


def refuses(self: Any) -> str:
    raise KeyError("version")


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (Odd(-1), r"len\(\) of the Odd: ValueError: __len__\(\) should return >= 0"),
        (Odd(1 << 70), r"len\(\) of the Odd: OverflowError"),
        (Odd(OSError("gone")), r"len\(\) of the Odd: OSError: gone \(at .*test_bad_data.py"),
        (Odd(0), "the Odd is empty"),
        (odd(class_names=5), "class_names of the Odd is an int, and is to be a list of names"),
        (odd(fingerprint=refuses), r"fingerprint\(\) of the Odd: KeyError: 'version' \(at .*Return None"),
    ],
)
def test_a_dataset_that_says_nonsense_of_itself(source: Any, why: str) -> None:
    with pytest.raises(bc.InvalidArgument, match=why):
        bc.serve(source, stream="s", background=True)


def test_a_file_of_8_tib_is_a_bad_sample(directory: Path, tmp_path: Path) -> None:
    samples = made_data.image_folder(tmp_path / "images")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(8 << 40)
    samples[3] = (tmp_path / "sparse", 0)
    recipe = made_data.recipe_file(tmp_path)
    with bc.serve(
        samples, stream="s", recipe=recipe, memory="1MiB", epochs=1, background=True
    ) as serving:
        with pytest.raises(bc.BadSample, match="sparse has 4 GiB or more, and is no file of one"):
            serving.wait(10)


class Leaves(made_data.Numbers):
    def __getitem__(self, index: int) -> dict[str, Any]:
        if index in (7, 8):
            sys.exit("enough")
        return super().__getitem__(index)


FULL_TABLE = """
import errno, os, resource, sys
import batchcast as bc
from pathlib import Path

class Files:
    def __len__(self): return 8
    def __getitem__(self, i):
        try:
            while i == 3:
                held.append(os.dup(0))
        except OSError:
            pass
        return {"image": Path(sys.argv[1]), "label": i}

held = []
resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512))
try:
    serving = bc.serve(
        Files(), stream="s", recipe=sys.argv[2], workers=1, memory="1MiB",
        on_bad_sample="substitute", background=True,
    )
    serving.wait(10)
except bc.SystemError as error:
    for one in held:
        os.close(one)
    print(error.errno == errno.EMFILE, f"{sys.argv[1]} cannot be opened" in str(error))
"""


def test_too_many_open_files_are_no_bad_sample(directory: Path, tmp_path: Path) -> None:
    image = made_data.image_folder(tmp_path / "images")[0][0]
    ended = support.python(FULL_TABLE, str(image), made_data.recipe_file(tmp_path))
    assert ended.stdout == "True True\n", ended.stderr


def test_a_sample_that_calls_sys_exit_is_bad(directory: Path) -> None:
    for processes in (0, 2):
        with bc.serve(
            Leaves(), stream="s", memory="64KiB", epochs=1, processes=processes, background=True,
            on_bad_sample="substitute",
        ) as serving:  # fmt: skip
            with bc.Consumer("s", 10) as consumer:
                assert len(made_data.epoch_of(consumer)["label"]) == 50
            assert serving.wait(10) and serving.stats["bad_samples"] == 2
            assert processes == 0 or serving._readers._alive == processes  # type: ignore


CLOSES = """
import os, subprocess, sys, threading
import numpy as np
import batchcast as bc
class Loader:
    def __iter__(self):
        while True:
            yield np.zeros(4)
source = {"dataset": "synthetic:3x8x8", "loader": Loader()}[sys.argv[1]]
serving = bc.serve(source, stream="s", memory="64KiB", background=True)
with bc.Consumer("s", 4) as consumer:
    consumer.next()
    os.closerange(3, 65536)
    if sys.argv[2] == "removed":  # as another producer does, which takes the name
        os.unlink(os.path.join(os.environ["BATCHCAST_DIR"], "s", "door"))
    try:
        while True:
            consumer.next()
    except bc.StreamFailed as error:
        print("closed the stream's file descriptors" in str(error))
try:
    serving.wait(10)
except bc.Error:
    print(serving.stats["state"])
"""


@pytest.mark.parametrize("door", ["there", "removed"])
@pytest.mark.parametrize("source", ["dataset", "loader"])
def test_a_program_that_closes_the_descriptors_of_its_stream(
    directory: Path, source: str, door: str
) -> None:
    ended = support.python(CLOSES, source, door)
    assert (ended.returncode, ended.stdout) == (0, "True\nfailed\n"), ended.stderr


FORKS = """
import os, sys, numpy as np, batchcast as bc
serves = os.getpid()
class Forks:
    forked = False
    def __len__(self):
        return 50
    def __getitem__(self, index):
        if index % 10 == 7 and not self.forked:
            self.forked = True
            if (child := os.fork()) == 0:
                return {"x": -1}
            os.waitpid(child, 0)
        return {"x": index}
with bc.serve(
    Forks(), stream="forks", memory="64KiB", epochs=2, processes=int(sys.argv[1]), background=True
) as serving, bc.Consumer("forks", 10) as consumer:
    for epoch in range(2):
        for batch in consumer:
            assert (batch["x"] == batch.sample_ids).all(), batch["x"]
        del batch
    assert serving.wait(10)
"""


@pytest.mark.parametrize("processes", [0, 2])
def test_a_child_that_comes_back_from_a_sample_serves_nothing(
    directory: Path, processes: int
) -> None:
    ended = support.python(FORKS, str(processes))
    assert ended.returncode == 0, ended.stderr
    assert "forked as it was read, and the child came back from it" in ended.stderr


def test_a_child_that_comes_back_from_a_loader_ends_no_stream(directory: Path) -> None:
    code = """
import os, numpy as np, batchcast as bc
def batches():
    yield {"x": np.zeros(10)}
    if (child := os.fork()) != 0:
        assert os.waitpid(child, 0)[1] == 7 << 8
    yield {"x": np.ones(10)}
try:
    bc.serve(batches(), stream="forks", wait_for=1, progress=False)
except bc.Forked:
    os._exit(7)
"""
    served = support.Child(code)
    with bc.Consumer("forks", 10) as consumer:
        assert [float(batch["x"].sum()) for batch in consumer] == [0.0, 10.0]
    assert served.process.wait(10) == 0


def test_a_sample_that_stop_took_the_process_from_is_no_failure(
    directory: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    class Hangs(made_data.Numbers):
        reads = multiprocessing.get_context("fork").Event()

        def __getitem__(self, index: int) -> dict[str, Any]:
            if index == 7:
                self.reads.set()
                time.sleep(60)
            return super().__getitem__(index)

    dataset = Hangs()
    serving = bc.serve(dataset, stream="s", memory="1MiB", processes=1, background=True)
    assert dataset.reads.wait(30)
    serving.stop()
    assert serving.wait(10) and serving.error is None
    serving._watching.join(10)  # it tells of failures
    assert "failed" not in capfd.readouterr().err


def test_without_any_reader_left_each_sample_says_so(directory: Path) -> None:
    from batchcast._processes import Readers

    readers = Readers(made_data.Numbers(), 2)
    for one in readers.readers:
        one.process.kill()
        one.process.join(10)
    for index in (3, 4):
        with pytest.raises(
            bc.BadSample,
            match="all 2 processes that read died, so it was not read; the last: reader process "
            r"\d+ was killed by SIGKILL before it was to read sample 3",
        ):
            readers[index]
    readers.close()
    readers = Readers(made_data.Numbers(), 1)
    os.kill(readers.readers[0].process.pid or 0, signal.SIGRTMIN + 5)
    with pytest.raises(bc.BadSample, match=f"was killed by signal {signal.SIGRTMIN + 5}"):
        readers[0]
    readers.close()


ENDS_WITH_READERS = """
import os, sys, time
import numpy as np
import batchcast as bc

class Source:
    def __len__(self): return 20
    def __getitem__(self, index): return {"x": np.zeros(4)}

options = {"stream": "s", "processes": 2, "epochs": 1, "memory": "64KiB", "background": True}
if sys.argv[1] == "refused":  # and the traceback keeps the processes
    bc.serve(Source(), recipe="none.toml", **options)
serving = bc.serve(Source(), **options)
with bc.Consumer("s", 5) as consumer:
    for batch in consumer:
        del batch
while serving.running:  # `wait` would end the readers
    time.sleep(1e-3)
if os.fork() == 0:  # whose processes they are not
    del serving
    os._exit(0)
assert os.wait()[1] == 0
"""


@pytest.mark.parametrize(("how", "code"), [("refused", 1), ("drained", 0)])
def test_a_process_ends_while_its_readers_live(directory: Path, how: str, code: int) -> None:
    ended = support.python(ENDS_WITH_READERS, how)
    assert ended.returncode == code, ended.stderr
    assert ("none.toml" in ended.stderr) if code else ended.stderr == ""


class Runs(made_data.Numbers):
    def __getitem__(self, index: int) -> dict[str, Any]:
        ended = []
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(os.getpid(), number)
            program = subprocess.Popen(["sleep", "60"])
            program.send_signal(number)
            ended.append(program.wait(5))
        return {"ended": ended}


def test_a_program_that_a_reader_starts_can_be_terminated() -> None:
    from batchcast._processes import Readers

    readers = Readers(Runs(), 1)
    assert readers[0]["ended"] == [-signal.SIGINT, -signal.SIGTERM, -signal.SIGHUP]
    readers.close()
