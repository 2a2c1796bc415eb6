# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""bc.sources: the same samples wherever they lie, as the image folder in C++ has them."""

from __future__ import annotations

import gzip
import inspect
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import batchcast as bc
import numpy as np
import pytest

import made_data
import support

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    pa = pq = None
needs_arrow = pytest.mark.skipif(pa is None, reason="pyarrow is not installed")

Served = dict[str, np.ndarray[Any, Any]]
Folder = list[tuple[Path, int]]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return made_data.image_folder(tmp_path / "images", classes=3, each=4)


def recipe_of(folder: Folder) -> str:
    return made_data.recipe_file(folder[0][0].parents[2])


def served(source: Any, recipe: str | None, stream: str = "s", **options: Any) -> Served:
    """One epoch of it."""
    with bc.serve(
        source, stream=stream, recipe=recipe, epochs=1, background=True, memory="8MiB", **options
    ) as serving:
        with bc.Consumer(stream, 5) as consumer:
            epoch = made_data.epoch_of(consumer)
        assert serving.wait(10)
    return epoch


def check_same(one: Served, other: Served) -> None:
    assert list(one) == list(other)
    for name, values in one.items():
        np.testing.assert_array_equal(values, other[name])


def check_as_folder(source: Any, folder: Folder, **options: Any) -> None:
    """The same bytes in the same order: the draws are by place, not by where a file comes from."""
    recipe = recipe_of(folder)
    root = folder[0][0].parents[1]
    check_same(served(source, recipe, **options), served(f"imagefolder:{root}", recipe))


# -- Arrow ----------------------------------------------------------------------------------------

def arrow_table(folder: Folder, as_struct: bool = True) -> Any:
    contents = [path.read_bytes() for path, _ in folder]
    labels = pa.array([label for _, label in folder], pa.int64())
    images = [{"bytes": one, "path": None} for one in contents] if as_struct else contents
    kind = pa.struct({"bytes": pa.binary(), "path": pa.string()}) if as_struct else pa.binary()
    return pa.table({"image": pa.array(images, kind), "label": labels})


@needs_arrow
@pytest.mark.parametrize("as_struct", [False, True])
def test_parquet_by_pyarrow(
    directory: Path, folder: Folder, tmp_path: Path, as_struct: bool
) -> None:
    table = arrow_table(folder, as_struct)
    for i, part in enumerate((table.slice(0, 5), table.slice(5, 7))):
        pq.write_table(part, tmp_path / f"part-{i}.parquet", row_group_size=3)
    source = bc.sources.Parquet(str(tmp_path / "part-*.parquet"))
    assert len(source) == 12 and len(source._groups) == 5
    check_as_folder(source, folder)
    check_as_folder(source, folder, processes=2)
    assert source[-1] == source[11] and source[11]["label"] == 2
    assert source.name_of(6) == f"{tmp_path}/part-1.parquet, row 1 of row group 0"
    with pytest.raises(IndexError, match="no sample 12: there are 12"):
        source[12]
    assert bc.sources.Parquet(tmp_path).fingerprint() == source.fingerprint()
    pq.write_table(table.slice(5, 6), tmp_path / "part-1.parquet")
    assert bc.sources.Parquet(tmp_path).fingerprint() != source.fingerprint()


@needs_arrow
@pytest.mark.parametrize("as_list", [False, True])
def test_labels_are_part_of_what_a_parquet_file_is(tmp_path: Path, as_list: bool) -> None:
    def fingerprint(*labels: int) -> str:
        images = pa.array([b"image"] * len(labels), pa.binary())
        column = pa.array([[one] for one in labels] if as_list else list(labels))
        pq.write_table(pa.table({"image": images, "label": column}), tmp_path / "a.parquet")
        return str(bc.sources.Parquet(tmp_path / "a.parquet").fingerprint())

    assert fingerprint(0, 1, 2, 3) == fingerprint(0, 1, 2, 3) != fingerprint(0, 2, 1, 3)


@needs_arrow
def test_parquet_keeps_row_groups_up_to_a_size(folder: Folder, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(arrow_table(folder), path, row_group_size=2)
    source = bc.sources.Parquet(path, cache=1)
    reads: list[int] = []
    read_group = source._read_group
    source._read_group = lambda group: reads.append(group) or read_group(group)  # type: ignore
    for i in (0, 1, 2, 0):
        source[i]
    assert reads == [0, 1, 0]
    source._cache._bytes_max = 1 << 30
    for i in (2, 0, 3, 1):
        source[i]
    assert reads == [0, 1, 0, 1]
    threads = [threading.Thread(target=source.__getitem__, args=(6,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert reads == [0, 1, 0, 1, 3]


@needs_arrow
def test_parquet_says_what_is_wrong(folder: Folder, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = arrow_table(folder)
    pq.write_table(table.rename_columns(["img", "label"]), path)
    Parquet = bc.sources.Parquet
    with pytest.raises(bc.InvalidArgument, match=r"no column `image`; it has `img` \(struct<.*image=\"NAME\""):
        Parquet(path)
    with pytest.raises(bc.InvalidArgument, match="`label` of .* is int64, and an image is the bytes"):
        Parquet(path, image="label", label=None)
    with pytest.raises(bc.InvalidArgument, match="`img` of .* is struct<.*a label is a number"):
        Parquet(path, image=None, label="img")
    with pytest.raises(bc.InvalidArgument, match="image and label are both None"):
        Parquet(path, image=None, label=None)
    assert list(Parquet(path, image="img", label=None)[0]) == ["image"]
    with pytest.raises(bc.InvalidArgument, match="write it as in"):
        Parquet(path, image="img", cache="lots")
    with pytest.raises(bc.BadDataset, match="no Parquet file is at"):
        Parquet(tmp_path / "b-*.parquet")
    with pytest.raises(bc.BadDataset, match="the list of files is empty"):
        Parquet([])
    with pytest.raises(bc.BadDataset, match="b.parquet"):
        Parquet(tmp_path / "b.parquet")
    (tmp_path / "b.parquet").write_bytes(b"nothing of the kind")
    with pytest.raises(bc.BadDataset, match="b.parquet is no Parquet file"):
        Parquet(tmp_path / "b.parquet")


@needs_arrow
def test_files_that_rows_only_name_are_read(
    directory: Path, folder: Folder, tmp_path: Path
) -> None:
    images = [{"bytes": None, "path": str(path)} for path, _ in folder]
    kind = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    table = pa.table({"image": pa.array(images, kind), "label": [label for _, label in folder]})
    pq.write_table(table, tmp_path / "a.parquet")
    check_as_folder(bc.sources.Parquet(tmp_path / "a.parquet"), folder)
    table = pa.table({"image": [str(path) for path, _ in folder], "label": table["label"]})
    pq.write_table(table, tmp_path / "a.parquet")
    check_as_folder(bc.sources.Parquet(tmp_path / "a.parquet"), folder)


def fingerprints_around_a_change(open_source: Callable[[], Any], file: Path) -> tuple[str, str]:
    """Before and after the file is replaced by one of the same size. What did not change is the
    same."""
    before = str(open_source().fingerprint())
    assert open_source().fingerprint() == before
    contents = bytes(reversed(file.read_bytes()))
    status = file.stat()
    file.write_bytes(contents)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000))
    return before, str(open_source().fingerprint())


@needs_arrow
@pytest.mark.parametrize("kind", ["struct", "some", "path"])
def test_files_that_rows_only_name_are_in_the_fingerprint(
    folder: Folder, tmp_path: Path, kind: str
) -> None:
    images: list[Any] = [str(path) for path, _ in folder]
    if kind != "path":
        images = [{"bytes": None, "path": path} for path in images]
    if kind == "some":
        images[0]["bytes"] = b"x"
    table = pa.table({"image": images, "label": [label for _, label in folder]})
    if kind == "struct":
        struct = pa.struct({"bytes": pa.binary(), "path": pa.string()})
        table = table.set_column(0, "image", pa.array(images, struct))
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, row_group_size=5)
    before, after = fingerprints_around_a_change(
        lambda: bc.sources.Parquet(path), folder[7][0]
    )
    assert before != after


@needs_arrow
def test_a_null_is_a_bad_sample(directory: Path, folder: Folder, tmp_path: Path) -> None:
    table = arrow_table(folder)
    images = table["image"].to_pylist()
    images[7] = None
    pq.write_table(table.set_column(0, "image", [images]), tmp_path / "a.parquet")
    source = bc.sources.Parquet(tmp_path / "a.parquet")
    assert source[7]["image"] is None and source[6]["image"] is not None
    options: dict[str, Any] = {"stream": "s", "epochs": 1, "memory": "1MiB", "background": True}
    serving = bc.serve(source, recipe=recipe_of(folder), **options)
    with pytest.raises(bc.BadSample, match="a.parquet, row 7 of row group 0.*None"):
        serving.wait(10)


# -- Hugging Face ---------------------------------------------------------------------------------


@pytest.fixture
def hugging_face(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The package, with its caches in a folder of the test's."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return datasets


@pytest.fixture
def dataset(hugging_face: Any, folder: Folder) -> Any:
    classes = ["cat", "dog", "fox"]
    features = {"image": hugging_face.Image(), "label": hugging_face.ClassLabel(names=classes)}
    return hugging_face.Dataset.from_dict(
        {
            "image": [{"bytes": path.read_bytes(), "path": None} for path, _ in folder],
            "label": [label for _, label in folder],
        },
        features=hugging_face.Features(features),
    )


def test_files_that_rows_of_hugging_face_name_are_in_the_fingerprint(
    hugging_face: Any, folder: Folder
) -> None:
    images = [{"bytes": None, "path": str(path)} for path, _ in folder]
    features = hugging_face.Features({"image": hugging_face.Image()})
    dataset = hugging_face.Dataset.from_dict({"image": images}, features=features)
    before, after = fingerprints_around_a_change(
        lambda: bc.sources.HuggingFace(dataset, label=None), folder[7][0]
    )
    assert before != after


def test_a_dataset_of_hugging_face(directory: Path, folder: Folder, dataset: Any) -> None:
    source = bc.sources.HuggingFace(dataset)
    assert source.class_names == ["cat", "dog", "fox"]
    check_as_folder(source, folder)
    check_as_folder(source, folder, processes=2)


def test_a_dataset_that_decodes_leads_to_the_adapter(directory: Path, dataset: Any) -> None:
    with pytest.raises(bc.InvalidArgument, match=r"decoded already.*sources.HuggingFace\(dataset\)"):
        bc.serve(dataset, recipe="imagenet-train", stream="s", memory="1MiB", background=True)


def test_saved_datasets_are_mapped_and_not_decoded(
    directory: Path, folder: Folder, dataset: Any, hugging_face: Any, tmp_path: Path
) -> None:
    place = tmp_path / "saved"
    dataset.save_to_disk(place)
    source = bc.sources.HuggingFace(str(place))
    assert source.dataset.cache_files
    assert source[3]["image"] == folder[3][0].read_bytes()
    check_as_folder(source, folder)
    assert source.fingerprint() == bc.sources.HuggingFace(place).fingerprint()
    hugging_face.DatasetDict({"train": dataset, "test": dataset}).save_to_disk(place.with_name("d"))
    with pytest.raises(bc.InvalidArgument, match="splits `train`, `test`. Say which"):
        bc.sources.HuggingFace(place.with_name("d"))
    with pytest.raises(bc.InvalidArgument, match="no `valid`"):
        bc.sources.HuggingFace(place.with_name("d"), split="valid")
    assert len(bc.sources.HuggingFace(place.with_name("d"), split="test")) == 12
    with pytest.raises(bc.InvalidArgument, match="is one dataset, of no split's name, and not `test`"):
        bc.sources.HuggingFace(place, split="test")
    train = hugging_face.Dataset(dataset.data, split=hugging_face.Split.TRAIN)
    assert len(bc.sources.HuggingFace(train, split="train")) == 12
    with pytest.raises(bc.InvalidArgument, match="one dataset, the split `train`, and not `test`"):
        bc.sources.HuggingFace(train, split="test")


def test_what_is_no_folder_is_said_before_the_hub_is_asked(
    dataset: Any, hugging_face: Any, tmp_path: Path, monkeypatch: Any, capfd: Any
) -> None:
    asked = []

    def load_dataset(place: str, split: str | None) -> Any:
        asked.append((place, capfd.readouterr().err))
        return dataset

    monkeypatch.setattr(hugging_face, "load_dataset", load_dataset)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hf_images").mkdir()
    bc.sources.HuggingFace("hf_images", split="train")
    bc.sources.HuggingFace("hf_svaed", split="train")
    line = "batchcast: no folder `hf_svaed` here: asking the Hub\n"
    assert asked == [("hf_images", ""), ("hf_svaed", line)]


def test_rows_in_the_order_that_shuffle_and_select_gave(folder: Folder, dataset: Any) -> None:
    shuffled = dataset.shuffle(seed=3).select([5, 1, 1, 7])
    source = bc.sources.HuggingFace(shuffled)
    order = [dataset.shuffle(seed=3)._indices.column(0)[i].as_py() for i in (5, 1, 1, 7)]
    assert [one["label"] for one in source] == [folder[i][1] for i in order]
    assert [one["image"] for one in source] == [folder[i][0].read_bytes() for i in order]
    assert source.fingerprint() != bc.sources.HuggingFace(dataset).fingerprint()


def test_parquet_by_hugging_face(
    directory: Path, folder: Folder, dataset: Any, tmp_path: Path
) -> None:
    dataset.to_parquet(tmp_path / "a.parquet")
    source = bc.sources.Parquet(tmp_path / "a.parquet")
    assert source.class_names == ["cat", "dog", "fox"]
    check_as_folder(source, folder)


def test_concatenated_datasets(folder: Folder, dataset: Any, hugging_face: Any) -> None:
    both = hugging_face.concatenate_datasets([dataset.select(range(3)), dataset.select([9, 4])])
    both = both.add_column("other", list(range(5)))
    source = bc.sources.HuggingFace(both, label="other")
    assert [one["label"] for one in source] == list(range(5))
    wanted = [folder[i][0].read_bytes() for i in (0, 1, 2, 9, 4)]
    assert [one["image"] for one in source] == wanted


def test_hugging_face_says_what_is_wrong(dataset: Any) -> None:
    HuggingFace = bc.sources.HuggingFace
    with pytest.raises(bc.InvalidArgument, match=r"the dataset has no column `img`; it has `image` \(struct"):
        HuggingFace(dataset, "img")
    with pytest.raises(bc.InvalidArgument, match="has a transform"):
        HuggingFace(dataset.with_transform(lambda rows: rows))
    with pytest.raises(bc.InvalidArgument, match="of the type IterableDataset, whose rows"):
        HuggingFace(dataset.to_iterable_dataset())
    text = dataset.add_column("name", ["a"] * 12)
    with pytest.raises(bc.InvalidArgument, match="is string, and a label is a number"):
        HuggingFace(text, label="name")


# -- Images and masks -----------------------------------------------------------------------------

MASK_RECIPE = """
[[field]]
name = "image"
stages = [{ stage = "decode" }, { stage = "to", dtype = "u8", layout = "hwc" }]

[[field]]
name = "mask"
stages = [{ stage = "decode", mode = "index" }, { stage = "to", dtype = "i64", layout = "hw" }]

[[joint]]
fields = ["image", "mask"]
stages = [{ stage = "random_crop", size = 12 }, { stage = "horizontal_flip" }]
"""


# [snippet masks]
class Pairs:
    """images/a.jpg and masks/a.png, images/b.jpg and masks/b.png, …"""

    def __init__(self, folder):
        self.images = sorted((Path(folder) / "images").iterdir())
        self.masks = [Path(folder) / "masks" / (path.stem + ".png") for path in self.images]

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):  # of each path C++ reads the file
        return {"image": self.images[index], "mask": self.masks[index]}
        # [snippet end]


@pytest.fixture
def pairs(tmp_path: Path) -> Pairs:
    """Images of which the green is the mask's id, in folders images and masks."""
    random = np.random.default_rng(11)
    for name in ("images", "masks"):
        (tmp_path / name).mkdir()
    for i in range(7):
        pixels = random.integers(0, 256, (20 + i, 24, 3), dtype=np.uint8)
        (tmp_path / f"images/{i}.png").write_bytes(made_data.png(pixels))
        (tmp_path / f"masks/{i}.png").write_bytes(made_data.png(pixels[:, :, 1]))
    (tmp_path / "masks.toml").write_text(MASK_RECIPE)
    return Pairs(tmp_path)


def check_masks(source: Any, pairs: Pairs) -> None:
    epoch = served(source, str(pairs.images[0].parents[1] / "masks.toml"))
    assert epoch["mask"].shape == (7, 12, 12)
    np.testing.assert_array_equal(epoch["image"][..., 1], epoch["mask"])
    assert len({mask.tobytes() for mask in epoch["mask"]}) == 7


def test_images_and_masks_in_two_folders(directory: Path, pairs: Pairs) -> None:
    check_masks(pairs, pairs)


def test_images_and_masks_of_hugging_face(
    directory: Path, pairs: Pairs, hugging_face: Any, tmp_path: Path
) -> None:
    columns = {"image": pairs.images, "mask": pairs.masks}
    dataset = hugging_face.Dataset.from_dict({k: list(map(str, v)) for k, v in columns.items()})
    for column in columns:
        dataset = dataset.cast_column(column, hugging_face.Image())
    dataset.save_to_disk(tmp_path / "saved")  # with the bytes of the files
    Image = hugging_face.Image
    dataset = hugging_face.load_from_disk(tmp_path / "saved")
    # [snippet hugging face masks]
    for column in ("image", "mask"):
        dataset = dataset.cast_column(column, Image(decode=False))
    # [snippet end]
    assert dataset[0]["mask"]["bytes"] == pairs.masks[0].read_bytes()
    check_masks(dataset, pairs)


# -- Clips ----------------------------------------------------------------------------------------

CLIP_RECIPE = """
[[field]]
name = "clip"
stages = [{ stage = "decode" }, { stage = "random_crop", size = [8, 10] },
          { stage = "horizontal_flip" }, { stage = "to", dtype = "u8", layout = "hwc" }]
"""


class Clips:
    """Clips of three frames; the pixels of each frame are those of the first, and its number."""

    def __init__(self, folder: Path, as_bytes: bool = False) -> None:
        random = np.random.default_rng(12)
        self.as_bytes = as_bytes
        self.clips = []
        for i in range(6):
            pixels = random.integers(0, 256, (20, 24, 3), dtype=np.uint8)
            paths = []
            for frame in range(3):
                pixels[:, :, 2] = frame
                paths.append(folder / f"{i}-{frame}.png")
                paths[-1].write_bytes(made_data.png(pixels))
            self.clips.append(paths)
        (folder / "clips.toml").write_text(CLIP_RECIPE)

    def __len__(self) -> int:
        return len(self.clips)

    def __getitem__(self, index: int) -> Any:
        clip = self.clips[index]
        return {"clip": [path.read_bytes() for path in clip] if self.as_bytes else clip, "label": index}


@pytest.mark.parametrize("processes", [None, 2])
@pytest.mark.parametrize("as_bytes", [False, True])
def test_frames_of_a_clip(
    directory: Path, tmp_path: Path, as_bytes: bool, processes: int | None
) -> None:
    options = {} if processes is None else {"processes": processes}
    clips = Clips(tmp_path, as_bytes)
    epoch = served(clips, str(tmp_path / "clips.toml"), **options)
    assert epoch["clip"].shape == (6, 3, 8, 10, 3)
    for frame in range(3):
        assert (epoch["clip"][:, frame, ..., 2] == frame).all()
        np.testing.assert_array_equal(epoch["clip"][:, frame, ..., :2], epoch["clip"][:, 0, ..., :2])
    assert len({clip.tobytes() for clip in epoch["clip"]}) == 6


# [snippet clips]
class Frames:
    """clips/a/0000.jpg, clips/a/0001.jpg, …: of each folder 16 frames, evenly spread"""

    def __init__(self, folder):
        self.clips = [sorted(clip.iterdir()) for clip in sorted(Path(folder).iterdir())]

    def __len__(self):
        return len(self.clips)

    def __getitem__(self, index):  # of each path C++ reads and decodes the file
        frames = self.clips[index]
        chosen = [frames[i * len(frames) // 16] for i in range(16)]
        return {"clip": chosen, "label": index}
        # [snippet end]


def test_clips_in_folders(directory: Path, tmp_path: Path) -> None:
    random = np.random.default_rng(13)
    for clip, length in (("a", 16), ("b", 40)):
        (tmp_path / "clips" / clip).mkdir(parents=True)
        for frame in range(length):
            pixels = random.integers(0, 256, (12, 14, 3), dtype=np.uint8)
            pixels[:, :, 2] = frame
            (tmp_path / f"clips/{clip}/{frame:04}.png").write_bytes(made_data.png(pixels))
    (tmp_path / "clips.toml").write_text(CLIP_RECIPE + '\n[order]\nmode = "sequential"\n')
    epoch = served(Frames(tmp_path / "clips"), str(tmp_path / "clips.toml"))
    assert epoch["clip"].shape == (2, 16, 8, 10, 3)
    numbers = epoch["clip"][:, :, 0, 0, 2].tolist()
    assert numbers == [list(range(16)), [i * 40 // 16 for i in range(16)]]


def test_clips_that_are_not_as_the_first(directory: Path, tmp_path: Path) -> None:
    clips = Clips(tmp_path)
    recipe = str(tmp_path / "clips.toml")
    whole = clips.clips[4]
    for broken, said in [
        (whole[:2], "2 frames, and the first sample has 3"),
        (whole[0], "and the first sample has a list of paths or encoded images"),
        ([*whole[:2], tmp_path / "gone.png"], "gone.png: No such file or directory"),
        ([*whole[:2], tmp_path / "clips.toml"], "frame 2: "),
        ([*whole[:2], tmp_path], "is no regular file"),
    ]:
        clips.clips[4] = broken
        with pytest.raises(bc.StreamFailed, match=said):
            served(clips, recipe)


def test_a_clip_has_at_most_1024_frames(directory: Path, tmp_path: Path) -> None:
    clips = Clips(tmp_path)
    clips.clips = [paths[:1] * 1025 for paths in clips.clips]
    with pytest.raises(bc.InvalidArgument, match="a clip has at most 1024"):
        served(clips, str(tmp_path / "clips.toml"))


# -- Several labels -------------------------------------------------------------------------------

LABELS_RECIPE = """
[order]
mode = "sequential"

[[field]]
name = "labels"
from = "json:/labels"
stages = [{ stage = "multi_hot", classes = 5 }]

[[field]]
name = "box"
from = "json:/box"
"""


def test_arrays_in_json(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "labels.toml").write_text(LABELS_RECIPE)
    labels: list[list[int]] = [[0, 3], [], [4], [1, 2, 3, 4]]
    texts = [json.dumps({"labels": one, "box": [i, 2, 3, 4]}) for i, one in enumerate(labels)]
    epoch = served([{"json": text} for text in texts], str(tmp_path / "labels.toml"))
    assert epoch["labels"].dtype == np.float32
    for row, ids in zip(epoch["labels"], labels):
        assert np.flatnonzero(row).tolist() == ids
    assert epoch["box"].tolist() == [[i, 2, 3, 4] for i in range(4)]


# -- LMDB -----------------------------------------------------------------------------------------


def written(path: Path, entries: dict[bytes, bytes], **options: Any) -> Path:
    lmdb = pytest.importorskip("lmdb")
    with lmdb.open(str(path), map_size=1 << 24, **options) as env, env.begin(write=True) as out:
        for key, value in entries.items():
            out.put(key, value)
    return path


def datum(image: bytes, label: int, encoded: bool = True) -> bytes:
    def varint(number: int) -> bytes:
        out = b""
        while number > 127:
            out += bytes([number & 127 | 128])
            number >>= 7
        return out + bytes([number])

    head = b"\x08\x03\x10\x08\x18\x08"  # channels, height, width
    return head + b"\x22" + varint(len(image)) + image + b"\x28" + varint(label) + (
        b"\x38\x01" if encoded else b""
    )


def test_lmdb_of_images(directory: Path, folder: Folder, tmp_path: Path) -> None:
    entries = {
        b"%05d/%d" % (i, label): path.read_bytes() for i, (path, label) in enumerate(folder)
    }
    path = written(tmp_path / "lsun", entries)
    source = bc.sources.LMDB(path, label=lambda key: int(key.partition(b"/")[2]))
    check_as_folder(source, folder)
    check_as_folder(source, folder, processes=2)
    assert source.name_of(3) == f"{path}, key b'00003/0'"
    assert source.fingerprint() is None
    plain = bc.sources.LMDB(path)
    assert list(plain[0]) == ["image"] and plain.fingerprint() is not None
    again = written(shutil.copytree(path, tmp_path / "again"), {b"00003/0": b"another"})
    assert bc.sources.LMDB(again).fingerprint() != plain.fingerprint()
    # What another script writes under the same keys, in as many transactions.
    larger = written(tmp_path / "larger", {key: value + b"\0" for key, value in entries.items()})
    assert bc.sources.LMDB(larger).fingerprint() != plain.fingerprint()


def test_lmdb_of_caffe_and_of_pairs(directory: Path, folder: Folder, tmp_path: Path) -> None:
    datums = {
        b"%05d" % i: datum(path.read_bytes(), label) for i, (path, label) in enumerate(folder)
    }
    source = bc.sources.LMDB(written(tmp_path / "caffe", datums))
    check_as_folder(source, folder)
    pairs = {b"num-samples": b"12"}
    for i, (path, label) in enumerate(folder):
        pairs[b"image-%09d" % (i + 1)] = path.read_bytes()
        pairs[b"label-%09d" % (i + 1)] = b"%d" % label
    source = bc.sources.LMDB(written(tmp_path / "pairs.mdb", pairs, subdir=False))
    assert len(source) == 12
    check_as_folder(source, folder)
    with pytest.raises(IndexError):
        source[12]


def test_lmdb_of_any_layout(directory: Path, folder: Folder, tmp_path: Path) -> None:
    entries = {
        b"%05d" % i: b"%d;" % label + path.read_bytes() for i, (path, label) in enumerate(folder)
    }
    path = written(tmp_path / "own", {**entries, b"__len__": b"12"})

    def parse(key: bytes, value: bytes) -> dict[str, Any]:
        label, _, image = value.partition(b";")
        return {"image": image, "label": int(label)}

    source = bc.sources.LMDB(path, parse=parse, version="1")
    assert source.fingerprint() is not None
    check_as_folder(source, folder)
    with pytest.raises(bc.InvalidArgument, match=r"first key, b'00000', begins with b'0;.*no image. Say how"):
        bc.sources.LMDB(path)


def test_lmdb_says_what_is_wrong(tmp_path: Path) -> None:
    LMDB = bc.sources.LMDB
    path = written(tmp_path / "pickled", {b"0": b"\x80\x04}\x94."})
    with pytest.raises(bc.InvalidArgument, match="but pickled. Unpickling runs any code"):
        LMDB(path)
    with pytest.raises(bc.BadDataset, match="holds nothing"):
        LMDB(written(tmp_path / "empty", {}))
    with pytest.raises(bc.BadDataset, match="there is no"):
        LMDB(tmp_path / "missing")
    (tmp_path / "file").write_bytes(b"x" * 8192)
    with pytest.raises(bc.BadDataset, match="cannot be opened by LMDB"):
        LMDB(tmp_path / "file")
    with pytest.raises(bc.InvalidArgument, match="no image"):  # pixels
        LMDB(written(tmp_path / "pixels", {b"0": datum(b"\0" * 192, 1, encoded=False)}))


def test_lmdb_that_cannot_be_written_to(folder: Folder, tmp_path: Path) -> None:
    path = written(tmp_path / "lsun", {b"0": folder[0][0].read_bytes()})
    (path / "lock.mdb").unlink()
    for place in (path / "data.mdb", path):
        place.chmod(0o555)
    assert bc.sources.LMDB(path)[0]["image"] == folder[0][0].read_bytes()
    assert sorted(os.listdir(path)) == ["data.mdb"]
    path.chmod(0o755)


# -- torchvision ----------------------------------------------------------------------------------


class Named:
    """A dataset of torchvision's, by the attributes that are looked at."""

    transform = target_transform = None


def of_torchvision(name: str, base: str | None = None, **attributes: Any) -> Any:
    kind = type(name, (type(base, (Named,), {}),) if base else (Named,), {})
    dataset = kind()
    for attribute, value in attributes.items():
        setattr(dataset, attribute, value)
    return dataset


def test_torchvision_by_its_files(folder: Folder, tmp_path: Path) -> None:
    root = folder[0][0].parents[1]
    images = of_torchvision("ImageFolder", root=str(root), samples=[(str(p), n) for p, n in folder])
    assert bc.sources.Torchvision(images) == f"imagefolder:{root}"
    with gzip.open(tmp_path / "t10k-images-idx3-ubyte.gz", "wb") as file:
        file.write(bytes(16 + 3 * 28 * 28))
    with gzip.open(tmp_path / "t10k-labels-idx1-ubyte.gz", "wb") as file:
        file.write(b"\0\0\x08\1\0\0\0\3" + bytes((7, 2, 1)))
    fashion = of_torchvision(
        "FashionMNIST", "MNIST", raw_folder=str(tmp_path), train=False, classes=["a"] * 10,
        data=np.zeros((3, 28, 28), np.uint8), targets=np.array([7, 2, 1]),
    )  # fmt: skip
    assert bc.sources.Torchvision(fashion) == f"idx:{tmp_path}?split=test"
    fashion.data, fashion.targets = fashion.data[1:], fashion.targets[1:]
    assert [one["label"] for one in bc.sources.Torchvision(fashion)] == [2, 1]
    pixels = np.arange(2 * 32 * 32 * 3, dtype=np.uint8).reshape(2, 32, 32, 3)
    cifar = of_torchvision("CIFAR100", "CIFAR10", data=pixels, targets=[7, 1], classes=["a", "b"])
    source = bc.sources.Torchvision(cifar)
    assert source.class_names == ["a", "b"] and len(source) == 2
    np.testing.assert_array_equal(source[1]["image"], pixels[1].transpose(2, 0, 1))
    assert source[1]["label"] == 1
    changed = of_torchvision("CIFAR10", data=pixels + 1, targets=[7, 1], classes=["a", "b"])
    assert bc.sources.Torchvision(changed).fingerprint() != source.fingerprint()


def test_torchvision_serves_what_the_dataset_has(folder: Folder) -> None:
    root = folder[0][0].parents[1]
    samples = [(str(path), label) for path, label in folder]
    both = {"root": str(root.parent), "split_folder": str(root), "samples": samples}
    assert bc.sources.Torchvision(of_torchvision("ImageNet", "ImageFolder", **both)) == f"imagefolder:{root}"
    below = of_torchvision("ImageNet", "DatasetFolder", root=f"{root}/../images/", samples=samples)
    assert bc.sources.Torchvision(below) == f"imagefolder:{root}"
    # In the text of a source, options begin at a question mark.
    odd = folder[0][0].parents[2] / "odd?classes=x"
    shutil.copytree(root, odd)
    moved = [(str(odd / path.relative_to(root)), label) for path, label in folder]
    source = bc.sources.Torchvision(of_torchvision("ImageFolder", root=str(odd), samples=moved))
    assert [(str(one["image"]), one["label"]) for one in source] == moved
    told = set()
    for changed in (
        {"samples": [(path, 2 - label) for path, label in samples]},
        {"samples": samples[4:]},
        {"samples": samples[:-1]},
        {"samples": samples[::-1]},
        {"samples": samples + samples[:1]},
        {"samples": samples, "root": str(root.parent)},
    ):
        images = of_torchvision("ImageFolder", **{"root": str(root), **changed})
        source = bc.sources.Torchvision(images)
        assert [(str(one["image"]), one["label"]) for one in source] == changed["samples"]
        assert source.fingerprint() == bc.sources.Torchvision(images).fingerprint()
        told.add(source.fingerprint())
    assert len(told) == 6
    own = of_torchvision("Mine", "ImageFolder", root=str(root), samples=samples)
    type(own).__getitem__ = lambda self, index: None
    with pytest.raises(bc.InvalidArgument, match="Mine defines __getitem__"):
        bc.sources.Torchvision(own)
    loads = of_torchvision("ImageFolder", root=str(root), samples=samples, loader=lambda path: path)
    with pytest.raises(bc.InvalidArgument, match=r"has a loader, which is not run.*bc\.serve\(dataset, …\)"):
        bc.sources.Torchvision(loads)
    with pytest.raises(bc.InvalidArgument, match=r"sample 0 of the ImageFolder is .*a whole number"):
        bc.sources.Torchvision(of_torchvision("ImageFolder", root=str(root), samples=[("a.jpg", "a")]))


def test_torchvision_itself(directory: Path, folder: Folder) -> None:
    torchvision = pytest.importorskip("torchvision")
    images = torchvision.datasets.ImageFolder(str(folder[0][0].parents[1]))
    check_as_folder(bc.sources.Torchvision(images), folder)
    images.transform = torchvision.transforms.Compose(
        [torchvision.transforms.RandomResizedCrop(8), torchvision.transforms.Lambda(lambda x: x)]
    )
    with pytest.raises(
        bc.InvalidArgument, match=r'RandomResizedCrop: \{ stage = "random_resized_crop", … \}\n  Lambda: see'
    ):
        bc.sources.Torchvision(images)


def lists(images: Any) -> list[tuple[str, int]]:
    return [(str(one["image"]), one["label"]) for one in bc.sources.Torchvision(images)]


def test_torchvision_whose_list_is_another(directory: Path, folder: Folder) -> None:
    torchvision = pytest.importorskip("torchvision")
    root = str(folder[0][0].parents[1])
    names = sorted({path.parent.name for path, _ in folder})

    class Backwards(torchvision.datasets.ImageFolder):  # type: ignore[misc, name-defined]
        def find_classes(self, directory: str) -> tuple[list[str], dict[str, int]]:
            return names[::-1], {name: label for label, name in enumerate(names[::-1])}

    class Merged(torchvision.datasets.ImageFolder):  # type: ignore[misc, name-defined]
        def find_classes(self, directory: str) -> tuple[list[str], dict[str, int]]:
            return ["one", "others"], {name: min(label, 1) for label, name in enumerate(names)}

    class Dropped(torchvision.datasets.ImageFolder):  # type: ignore[misc, name-defined]
        def find_classes(self, directory: str) -> tuple[list[str], dict[str, int]]:
            return names[1:], {name: label for label, name in enumerate(names[1:])}

    class Short(torchvision.datasets.ImageFolder):  # type: ignore[misc, name-defined]
        def __len__(self) -> int:
            return 5

    def shuffled() -> Any:
        images = torchvision.datasets.ImageFolder(root)
        images.samples = images.samples[7:] + images.samples[:7]
        return images

    def as_folder() -> Any:
        return torchvision.datasets.DatasetFolder(
            root, torchvision.datasets.folder.default_loader,
            is_valid_file=lambda path: os.path.basename(path) != folder[0][0].name,
        )  # fmt: skip

    recipe = Path(recipe_of(folder))
    recipe.write_text('[order]\nmode = "sequential"\n' + recipe.read_text())
    for make in (Backwards, Merged, Dropped, Short, shuffled, as_folder):
        images = make() if make in (shuffled, as_folder) else make(root)  # type: ignore[call-arg]
        source = bc.sources.Torchvision(images)
        assert lists(images) == [(str(path), label) for path, label in images.samples[: len(images)]]
        assert len(source) == len(images)
        assert source.fingerprint() == bc.sources.Torchvision(images).fingerprint()
        # Sample i of the stream is sample i of the dataset, with its label.
        labels = served(source, str(recipe))["label"].tolist()
        assert labels == [label for _, label in images.samples[: len(images)]]
    assert bc.sources.Torchvision(Backwards(root)).class_names == names[::-1]
    assert bc.sources.Torchvision(Merged(root)).class_names == ["one", "others"]
    assert bc.sources.Torchvision(Dropped(root)).class_names == names[1:]
    assert bc.sources.Torchvision(shuffled()).class_names == names
    # A label that is named by its number, not by its place.
    numbered = shuffled()
    numbered.class_to_idx = {name: 2 - label for label, name in enumerate(names)}
    assert bc.sources.Torchvision(numbered).class_names == names[::-1]


def test_torchvision_whose_loader_or_samples_are_its_own(folder: Folder) -> None:
    torchvision = pytest.importorskip("torchvision")
    root = str(folder[0][0].parents[1])
    images = torchvision.datasets.ImageFolder(root, loader=lambda path: path)
    with pytest.raises(bc.InvalidArgument, match=r"has a loader.*bc\.serve\(dataset, …\)"):
        bc.sources.Torchvision(images)
    for loader in (torchvision.datasets.folder.default_loader, torchvision.datasets.folder.pil_loader):
        images = torchvision.datasets.ImageFolder(root, loader=loader)
        assert bc.sources.Torchvision(images) == f"imagefolder:{root}"

    # A class of the same name is another one.
    class ImageFolder(torchvision.datasets.ImageFolder):  # type: ignore[misc, name-defined]
        def __getitem__(self, index: int) -> Any:
            return super().__getitem__(len(self) - 1 - index)

    with pytest.raises(bc.InvalidArgument, match="ImageFolder defines __getitem__"):
        bc.sources.Torchvision(ImageFolder(root))


def test_a_list_that_moves_keeps_its_identity(folder: Folder, tmp_path: Path) -> None:
    def of(root: Path, names: list[str]) -> Any:
        samples = [(str(root / path.relative_to(folder[0][0].parents[1])), n) for path, n in folder[3:]]
        return bc.sources.Torchvision(
            of_torchvision("ImageFolder", root=str(root), samples=samples, classes=names)
        )

    root = folder[0][0].parents[1]
    moved = tmp_path / "moved"
    shutil.copytree(root, moved)
    told = of(root, ["a", "b", "c"]).fingerprint()
    assert of(moved, ["a", "b", "c"]).fingerprint() == told
    assert of(moved, ["a", "b", "d"]).fingerprint() != told
    with open(moved / folder[3][0].relative_to(root), "ab") as file:
        file.write(b"\0")
    assert of(moved, ["a", "b", "c"]).fingerprint() != told


def test_empty_classes_of_torchvision(folder: Folder) -> None:
    root = folder[0][0].parents[1]
    (root / "zz").mkdir()
    images = of_torchvision("ImageFolder", root=str(root), samples=[(str(p), n) for p, n in folder])
    assert bc.sources.Torchvision(images) == f"imagefolder:{root}?allow_empty=true"


def test_torchvision_says_what_is_wrong(folder: Folder) -> None:
    solarize = type("RandomSolarize", (), {})()
    images = of_torchvision("ImageFolder", root="/x", samples=[("a.jpg", 0)], transform=solarize)
    with pytest.raises(bc.InvalidArgument, match=r'RandomSolarize: \{ stage = "solarize", … \}'):
        bc.sources.Torchvision(images)
    with pytest.raises(bc.InvalidArgument, match="knows ImageFolder.* is a Places365"):
        bc.sources.Torchvision(of_torchvision("Places365"))
    with pytest.raises(bc.InvalidArgument, match=r"not decoded here: \.bmp"):
        bc.sources.Torchvision(of_torchvision("ImageFolder", root="/x", samples=[("a.bmp", 0)]))
    with pytest.raises(bc.InvalidArgument, match="different lengths: a 2, b 3"):
        bc.sources.Arrays(a=[1, 2], b=[1, 2, 3])
    with pytest.raises(bc.InvalidArgument, match="there is no array"):
        bc.sources.Arrays()


# -- all ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("adapter", "name", "meant"),
    [
        ("HuggingFace", "lable", "label"),
        ("Parquet", "cach", "cache"),
        ("LMDB", "skips", "skip"),
        ("Torchvision", "data_set", "dataset"),
    ],
)
def test_an_argument_that_was_misspelt(adapter: str, name: str, meant: str) -> None:
    make = getattr(bc.sources, adapter)
    text = rf"batchcast: {adapter}\(\): there is no argument `{name}`. Did you mean `{meant}`\?"
    with pytest.raises(TypeError, match=text):
        make("there", **{name: "x"})
    assert meant in inspect.signature(make).parameters  # what help() shows


@pytest.mark.parametrize(
    ("module", "make"),
    [
        ("datasets", lambda: bc.sources.HuggingFace("x")),
        ("pyarrow.parquet", lambda: bc.sources.Parquet("x")),
        ("lmdb", lambda: bc.sources.LMDB("x")),
    ],
)
def test_a_package_that_is_missing(
    monkeypatch: pytest.MonkeyPatch, module: str, make: Callable[[], Any]
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    package = module.partition(".")[0]
    with pytest.raises(ImportError, match=f"needs the package {package}.*`pip install {package}`"):
        make()


@needs_arrow
def test_a_reader_process_that_is_killed(directory: Path, folder: Folder, tmp_path: Path) -> None:
    pq.write_table(arrow_table(folder), tmp_path / "a.parquet", row_group_size=2)
    source = bc.sources.Parquet(tmp_path / "a.parquet", cache=1)
    with bc.serve(
        source, stream="s", recipe=recipe_of(folder), background=True, processes=2, memory="1MiB"
    ):
        children = Path(f"/proc/self/task/{os.getpid()}/children")
        with bc.Consumer("s", 6) as consumer:
            assert len(made_data.epoch_of(consumer)["label"]) == 12
            readers = [int(pid) for pid in children.read_text().split()]
            os.kill(readers[-1], 9)
            for _ in range(3):
                assert len(made_data.epoch_of(consumer)["label"]) == 12


@needs_arrow
def test_ctrl_c(child: Callable[..., support.Child], folder: Folder, tmp_path: Path) -> None:
    pq.write_table(arrow_table(folder), tmp_path / "a.parquet")
    process = child(
        "import batchcast as bc, sys\n"
        "print('serving')\n"
        "bc.serve(bc.sources.Parquet(sys.argv[1]), stream='s', recipe=sys.argv[2], memory='1MiB')\n",
        str(tmp_path / "a.parquet"),
        recipe_of(folder),
    )
    assert process.line() == "serving"
    with bc.Consumer("s", 6) as consumer:
        made_data.epoch_of(consumer)
        process.interrupt()
        with pytest.raises(bc.StreamOver):
            while True:
                made_data.epoch_of(consumer)
    code, _, error = process.finish()
    assert code != 0 and "KeyboardInterrupt" in error


def test_nothing_is_imported_before_it_is_needed() -> None:
    modules = support.python(
        "import batchcast as bc, sys; bc.sources.LMDB; print(*sys.modules)"
    ).stdout.split()
    assert not {"datasets", "pyarrow", "lmdb", "torch", "torchvision"} & set(modules)
    assert "batchcast.sources" in modules
