# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Streams with axes: samples of different lengths, served from Python and cut to budgets."""

from __future__ import annotations

from typing import Any

import batchcast as bc
import numpy as np
import pytest

LENGTHS = [3, 0, 7, 12, 1, 1, 30, 4, 9, 0, 2, 16, 5, 8, 0, 11]


def sample(index: int) -> dict[str, Any]:
    rows = LENGTHS[index]
    return {
        "tokens": np.full(rows, index, np.int32),
        "mask": np.ones(rows, np.uint8),
        "boxes": np.full((index % 3, 4), index, np.float32),
        "label": index,
    }


AXES = {"tokens": ("tokens", "mask"), "boxes": "boxes"}


class Dataset:
    def __len__(self) -> int:
        return len(LENGTHS)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return sample(index)


class Counted(Dataset):
    """One that says its lengths, and what it consists of."""

    wrong = -1

    def lengths(self, axis: str) -> Any:
        if axis != "tokens":
            return None
        told = list(LENGTHS)
        if self.wrong >= 0:
            told[self.wrong] += 1
        return told

    def fingerprint(self) -> str:
        return "counted"


class Batches:
    """A loader of lists, as a collate_fn that pads nothing gives them."""

    def __iter__(self) -> Any:
        for begin in range(0, len(LENGTHS), 5):
            samples = [sample(i) for i in range(begin, min(begin + 5, len(LENGTHS)))]
            yield {
                "tokens": [one["tokens"] for one in samples],
                "mask": [one["mask"] for one in samples],
                "boxes": [one["boxes"] for one in samples],
                "label": np.array([one["label"] for one in samples]),
            }


def serve(source: Any, **options: Any) -> Any:
    asked = {"epochs": 1, "memory": "1MiB", "rows": {"tokens": 64}, "wait_for": 1} | options
    return bc.serve(source, stream="ragged", background=True, axes=AXES, **asked)


def check(batch: Any) -> None:
    tokens, boxes, labels = batch["tokens"], batch["boxes"], batch["label"]
    assert isinstance(tokens, bc.Ragged)
    assert tokens.offsets.dtype == np.int64
    assert len(tokens.offsets) == len(labels) + 1
    assert batch["mask"].values.shape == tokens.values.shape
    for label, row, box in zip(labels, tokens.samples(), boxes.samples()):
        assert row.tolist() == [label] * LENGTHS[label]
        assert box.shape == (label % 3, 4)
        assert (box == label).all()


def test_a_loaders_lists_are_served(directory: object) -> None:
    with serve(Batches(), rows={"tokens": 4096}):
        consumer = bc.Consumer("ragged", batch_size=6)
        shapes = [field.shape for field in consumer.schema]
        assert shapes == [("tokens",), ("tokens",), ("boxes", 4), ()]
        sizes = []
        for batch in consumer:
            check(batch)
            sizes.append(batch.size)
            assert batch["tokens"].values.base is not None  # a view of the ring
            assert not batch["tokens"].values.flags.writeable
        assert sizes == [6, 6, 4]
        assert consumer.stats.epochs_matched == 1


def test_a_budget_cuts_whole_samples(directory: object) -> None:
    with serve(Batches()):
        consumer = bc.Consumer("ragged", budget=("tokens", 32))
        assert consumer.budget == ("tokens", 32)
        rows = []
        for batch in consumer:
            check(batch)
            rows.append(batch["tokens"].lengths.tolist())
        assert sum(map(sum, rows)) == sum(LENGTHS)
        assert all(sum(one) <= 32 for one in rows)
        for this, following in zip(rows, rows[1:]):
            assert sum(this) == 32 or sum(this) + following[0] > 32


def test_a_dataset_is_served_with_its_ids(directory: object) -> None:
    with serve(Dataset(), seed=3, epochs=2):
        consumer = bc.Consumer("ragged", budget="tokens=40")
        orders = []
        for _ in range(2):
            ids: list[int] = []
            for batch in consumer:
                check(batch)
                assert batch.sample_ids.tolist() == batch["label"].tolist()
                ids += batch.sample_ids.tolist()
            assert sorted(ids) == list(range(len(LENGTHS)))
            orders.append(ids)
        assert orders[0] != orders[1]


def test_oversized_samples(directory: object) -> None:
    with serve(Batches(), epochs=2):
        consumer = bc.Consumer("ragged", budget=("tokens", 20))
        with pytest.raises(bc.InvalidArgument, match="30 rows"):
            for batch in consumer:
                check(batch)
        consumer.leave_epoch()
        consumer.close()


def test_oversized_samples_are_dropped(directory: object) -> None:
    with serve(Batches()):
        consumer = bc.Consumer("ragged", budget=("tokens", 20), oversize="drop")
        labels = [label for batch in consumer for label in batch["label"].tolist()]
        assert 6 not in labels and len(labels) == len(LENGTHS) - 1
        assert consumer.stats.oversized == 1


def test_a_killed_trainer_holds_no_rows(directory: object, child: Any) -> None:
    with serve(Batches(), wait_for=2, epochs=20):
        other = child(
            """
import batchcast as bc, time
consumer = bc.Consumer("ragged", budget=("tokens", 64))
batch = next(iter(consumer))
print("has", batch.size, flush=True)
time.sleep(1000)
"""
        )
        consumer = bc.Consumer("ragged", budget=("tokens", 64))
        assert other.line().startswith("has ")
        with pytest.raises(bc.Timeout):  # the other one keeps the rows of the first samples
            while consumer.next(timeout=0.5) is not None:
                pass
            while True:
                consumer.next(timeout=0.5)
        other.kill()
        ids: list[int] = []
        while consumer.has_next_epoch():
            for batch in consumer:
                check(batch)
                ids += batch["label"].tolist()
        assert len(ids) > 18 * len(LENGTHS)
        assert consumer.stats.epochs_mismatched == 0


def test_budgets_that_cannot_be_are_refused(directory: object) -> None:
    with serve(Batches(), wait_for=0):
        with pytest.raises(bc.RingTooSmall, match="rows"):
            bc.Consumer("ragged", budget=("tokens", 65), connect_timeout=10)
        with pytest.raises(bc.Refused, match="`tokens`"):
            bc.Consumer("ragged", budget=("words", 5), connect_timeout=10)
        with pytest.raises(TypeError, match="tuple"):
            bc.Consumer("ragged", budget=5)


def test_what_cannot_be_served_says_why(directory: object) -> None:
    class Odd:
        def __iter__(self) -> Any:
            yield {
                "tokens": [np.zeros(3, np.int32)],
                "mask": [np.zeros(4, np.uint8)],
                "boxes": [np.zeros((0, 4), np.float32)],
            }

    with pytest.raises(bc.InvalidArgument, match="3 rows of `tokens` and 4 of `mask`"):
        bc.serve(Odd(), stream="ragged", axes=AXES, epochs=1)
    with pytest.raises(bc.InvalidArgument, match=r'axes=\{"tokens": "tokens"\}'):
        bc.serve(Batches(), stream="ragged", epochs=1)
    with pytest.raises(bc.InvalidArgument, match=r'axes=\{"tokens": \("tokens", "mask"\), "boxes": "boxes"\}'):
        bc.serve(Batches(), stream="ragged", axes={"tokens": ("tokens", "mask")}, epochs=1)
    with pytest.raises(bc.InvalidArgument, match=r"no `boxs`, which `axes` names\. Did you mean `boxes`\?"):
        bc.serve(Batches(), stream="ragged", axes={**AXES, "boxes": ("boxes", "boxs")}, epochs=1)
    with pytest.raises(TypeError, match="dict of fields"):
        bc.serve(Batches(), stream="ragged", axes=("tokens",), epochs=1)


def test_dlpack_shows_all_rows(directory: object) -> None:
    with serve(Batches()):
        consumer = bc.Consumer("ragged", batch_size=4)
        batch = next(iter(consumer))
        field = batch.field("boxes")
        assert field.shape == (0 + 1 + 2 + 0, 4)
        assert np.asarray(field).shape == (3, 4)


def loader(**options: Any) -> Any:
    pytest.importorskip("torch")
    return bc.Loader("ragged", fields=dict, **options)


def test_a_loader_gives_flat_tensors(directory: object) -> None:
    pytest.importorskip("torch")
    with serve(Batches()):
        batches = loader(budget=("tokens", 40), offsets="i32")
        with pytest.raises(TypeError, match="max_steps"):
            len(batches)
        seen = 0
        for batch in batches:
            tokens = batch["tokens"]
            assert str(tokens.offsets.dtype) == "torch.int32"
            for label, row in zip(batch["label"].tolist(), tokens.samples()):
                assert row.tolist() == [label] * LENGTHS[label]
                seen += 1
        assert seen == len(LENGTHS)


def test_a_loader_pads(directory: object) -> None:
    pytest.importorskip("torch")
    with serve(Batches()):
        batches = loader(batch_size=5, ragged="padded", pad_value=-1, pad_to_multiple_of=8)
        for batch in batches:
            values, lengths = batch["tokens"]
            assert isinstance(batch["tokens"], bc.Padded)
            longest = max(lengths.tolist())
            assert values.shape == (len(lengths), -(-longest // 8) * 8)
            for label, row, rows in zip(batch["label"].tolist(), values.tolist(), lengths.tolist()):
                assert row == [label] * rows + [-1] * (len(row) - rows)


def test_a_loader_nests(directory: object) -> None:
    torch = pytest.importorskip("torch")
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    with serve(Batches(), wait_for=0):
        if version < (2, 4):
            with pytest.raises(bc.InvalidArgument, match=r"torch 2\.4"):
                loader(batch_size=5, ragged="nested")
            return
        batches = loader(batch_size=5, ragged="nested", start=None)
        for batch in batches:
            tokens = batch["tokens"]
            assert tokens.is_nested and tokens.layout is torch.jagged
            for label, row in zip(batch["label"].tolist(), tokens.unbind()):
                assert row.tolist() == [label] * LENGTHS[label]


def test_a_loader_peeks_and_resumes(directory: object) -> None:
    pytest.importorskip("torch")
    with serve(Batches(), epochs=0):
        batches = loader(budget=("tokens", 40))
        peeked = batches.peek()
        iterator = iter(batches)
        first = next(iterator)
        assert first["tokens"].values.tolist() == peeked["tokens"].values.tolist()
        batches.budget = ("tokens", 64)
        second = next(iterator)
        assert second["tokens"].offsets[-1] <= 64
        assert batches.state_dict()["cursor"] == len(first["label"]) + len(second["label"])


@pytest.mark.parametrize("value", [0.5, "x", 10**10, float("nan"), None])
def test_a_pad_value_has_to_be_one_of_the_fields(directory: object, value: Any) -> None:
    pytest.importorskip("torch")
    with serve(Batches(), wait_for=0, epochs=0):
        with pytest.raises(bc.InvalidArgument, match="pad_value=.* field `(tokens|mask)` is "):
            loader(batch_size=5, ragged="padded", pad_value=value, start=None)
        for whole in (-1, 7.0):
            loader(batch_size=5, ragged="padded", pad_value=whole, start=None).close()
        boxes = bc.Loader("ragged", 5, fields="boxes", ragged="padded", pad_value=0.5)
        boxes.close()


def test_rows_without_a_torch_dtype_are_to_be_saved_as_another(
    directory: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr("batchcast.loader._torch_takes", lambda dtype: dtype not in ("u8", "i64"))
    with serve(Batches(), wait_for=0, epochs=0):
        with pytest.raises(bc.InvalidArgument, match="`mask` .* u8.* Save its rows as i32") as on_axis:
            bc.Loader("ragged", 4, fields="mask", start=None)
        assert "stage `to`" not in str(on_axis.value)
        with pytest.raises(bc.InvalidArgument, match="`label` .* stage `to`"):
            bc.Loader("ragged", 4, fields="label", start=None)


def test_wrong_forms_are_refused() -> None:
    pytest.importorskip("torch")
    with pytest.raises(bc.InvalidArgument, match="flat"):
        bc.Loader("ragged", 4, ragged="square")
    with pytest.raises(bc.InvalidArgument, match="padded"):
        bc.Loader("ragged", 4, pad_value=1)
    with pytest.raises(TypeError, match="budget"):
        bc.Loader("ragged")


def test_options_without_a_use_are_refused_when_an_epoch_begins(directory: object) -> None:
    pytest.importorskip("torch")
    with serve(Counted(), epochs=2):
        with bc.Loader("ragged", 4, oversize="drop", start=None) as batches:
            with pytest.raises(bc.InvalidArgument, match="oversize='drop' .* budget=.*tokens"):
                iter(batches)
            batches.budget = ("tokens", 20)
            assert sum(1 for _ in batches) > 1
    with bc.serve([{"x": np.zeros(3, np.float32)}] * 8, stream="even", background=True):
        with bc.Loader("even", 4, ragged="padded", pad_value=1, start=None) as batches:
            with pytest.raises(bc.InvalidArgument, match="nothing to pad"):
                iter(batches)
        with bc.Loader("even", 4, oversize="error", start=None) as batches:
            assert sum(1 for _ in batches) == 2


def test_a_dataset_with_axes_is_read_by_threads_and_pure(directory: object) -> None:
    with serve(Counted(), seed=3, epochs=2, workers=3):
        consumer = bc.Consumer("ragged", budget=("tokens", 32))
        assert consumer.pure
        seen: list[int] = []
        for _ in range(2):
            for batch in consumer:
                check(batch)
                seen += batch.sample_ids.tolist()
    assert sorted(seen) == sorted(2 * list(range(len(LENGTHS))))


def test_len_with_a_budget_where_lengths_are_known(directory: object) -> None:
    pytest.importorskip("torch")
    with serve(Counted(), epochs=3):
        batches = loader(budget=("tokens", 40), oversize="drop")
        counts = []
        for _ in range(3):
            counts.append(len(batches))
            assert sum(1 for _ in batches) == counts[-1]
        assert min(counts) > 1


def test_wrong_lengths_are_bad_samples(directory: object) -> None:
    source = Counted()
    source.wrong = 5
    with serve(source, order="sequential", wait_for=0) as serving:
        with pytest.raises(bc.BadSample, match="1 rows on the axis `tokens`.*say 2"):
            serving.wait(20)
    with serve(source, order="sequential", on_bad_sample="substitute", rows={"tokens": 4096}):
        consumer = bc.Consumer("ragged", batch_size=4)
        ids = [one for batch in consumer for one in batch.sample_ids.tolist()]
        assert 5 not in ids and len(ids) == len(LENGTHS)


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ([1, 2], "16 whole numbers"),
        ([0.5] * 16, "16 whole numbers"),
        ([-1] + [0] * 15, "has -1 in it"),
        ([1 << 32] + [0] * 15, "in it"),
        ("many", "lengths"),
    ],
)
def test_lengths_that_cannot_be_are_refused(directory: object, told: Any, text: str) -> None:
    source = Counted()
    source.lengths = lambda axis: told  # type: ignore[method-assign]
    with pytest.raises(bc.InvalidArgument, match=text):
        serve(source)


def test_samples_of_other_shapes_suggest_axes(directory: object) -> None:
    class Grows:
        def __len__(self) -> int:
            return 4

        def __getitem__(self, index: int) -> Any:
            return {"boxes": np.zeros((index + 1, 4), np.float32)}

    with bc.serve(Grows(), stream="ragged", background=True, epochs=1, order="sequential") as serving:
        with pytest.raises(bc.BadSample, match=r'axes=\{"boxes": "boxes"\}'):
            serving.wait(20)


def test_samples_without_rows_need_no_shape(directory: object) -> None:
    class Sparse:
        axes = {"things": ("boxes", "classes")}  # what a factory of `serve python:` has

        def __len__(self) -> int:
            return 6

        def __getitem__(self, index: int) -> Any:
            if index % 3 != 2:
                return {"boxes": [], "classes": []}
            return {"boxes": np.ones((index, 4), np.float32), "classes": list(range(index))}

    with bc.serve(Sparse(), stream="ragged", background=True, epochs=1, wait_for=1):
        consumer = bc.Consumer("ragged", batch_size=6)
        assert [field.shape for field in consumer.schema] == [("things", 4), ("things",)]
        for batch in consumer:
            rows = dict(zip(batch.sample_ids.tolist(), batch["boxes"].lengths.tolist()))
            assert rows == {0: 0, 1: 0, 2: 2, 3: 0, 4: 0, 5: 5}

    class Other(Sparse):
        def __getitem__(self, index: int) -> Any:
            made = super().__getitem__(index)
            return made if index != 5 else made | {"boxes": np.ones((5, 3), np.float32)}

    with bc.serve(Other(), stream="ragged", background=True, epochs=1) as serving:
        with pytest.raises(bc.BadSample, match=r"one\s+shape and dtype"):
            serving.wait(20)


# [snippet detection]
RECIPE = """
[[field]]
name = "image"
axis = "pixels"
stages = [ { stage = "decode" } ]

[[field]]
name = "boxes"

[[field]]
name = "classes"
"""
# [snippet end]


def png(height: int, width: int, level: int) -> bytes:
    """A PNG of one colour, without a library for images."""
    import struct
    import zlib

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    rows = (b"\0" + bytes([level]) * 3 * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


class Photos:
    """Photographs of their own sizes with boxes, as for detection."""

    def __len__(self) -> int:
        return 10

    def size(self, index: int) -> tuple[int, int]:
        return 3 + index % 4, 5 + index % 3

    def __getitem__(self, index: int) -> Any:
        count = index % 3
        return {
            "image": png(*self.size(index), 20 * index),
            "boxes": np.full((count, 4), index, np.float32),
            "classes": np.full(count, index, np.int64),
        }


def photos(tmp_path: Any) -> Any:
    recipe = tmp_path / "detection.toml"
    recipe.write_text(RECIPE)
    return bc.serve(
        Photos(), stream="ragged", recipe=recipe, axes={"boxes": ("boxes", "classes")}, epochs=1,
        wait_for=1, background=True,
    )  # fmt: skip


def test_images_keep_their_sizes(directory: object, tmp_path: Any) -> None:
    with photos(tmp_path):
        consumer = bc.Consumer("ragged", batch_size=4)
        shapes = {field.name: field.shape for field in consumer.schema}
        assert shapes["image"] == ("pixels", 3) and shapes["image_size"] == (2,)
        assert shapes["boxes"] == ("boxes", 4) and shapes["classes"] == ("boxes",)
        for batch in consumer:
            sizes = batch["image_size"].tolist()
            for index, size, rows, boxes in zip(
                batch.sample_ids.tolist(), sizes, batch["image"].samples(), batch["boxes"].samples()
            ):
                assert tuple(size) == Photos().size(index)
                assert rows.shape == (size[0] * size[1], 3) and (rows == 20 * index).all()
                assert boxes.shape == (index % 3, 4) and (boxes == index).all()


def test_a_loader_pads_images(directory: object, tmp_path: Any) -> None:
    pytest.importorskip("torch")
    with photos(tmp_path):
        batches = bc.Loader(
            "ragged", 4, fields=dict, ragged="padded", pad_value=7, pad_to_multiple_of=4
        )
        seen = 0
        for batch in batches:
            images, sizes = batch["image"]
            assert isinstance(batch["image"], bc.PaddedImages)
            assert isinstance(batch["boxes"], bc.Padded)
            assert images.shape == (len(sizes), *(-(-sizes.amax(0) // 4) * 4).tolist(), 3)
            for image, (height, width), boxes in zip(images, sizes.tolist(), batch["boxes"].lengths):
                inside = image[:height, :width]
                assert (inside == inside[0, 0, 0]).all()
                assert int(image.sum()) - int(inside.sum()) == 7 * (
                    image.numel() - inside.numel()
                )
                assert int(inside[0, 0, 0]) // 20 % 3 == int(boxes)
                seen += 1
        assert seen == 10


class Texts(Dataset):
    """It knows its lengths; C++ arranges them."""

    def __len__(self) -> int:
        return 400

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"tokens": np.full(index % 23, index, np.int32)}

    def lengths(self, axis: str) -> Any:
        return np.arange(400) % 23


def batches_of_100(order: dict[str, Any]) -> list[list[int]]:
    served = bc.serve(
        Texts(),
        stream="texts",
        background=True,
        axes={"tokens": "tokens"},
        epochs=1,
        memory="1MiB",
        wait_for=1,
        **order,
    )
    with served, bc.Consumer("texts", budget=("tokens", 100)) as consumer:
        return [batch["sample_id"].tolist() for batch in consumer]


def test_a_packed_order_fills_a_budget(directory: object) -> None:
    packed = {"order": "packed", "pack": ("tokens", 100)}
    batches = batches_of_100(packed)
    assert sorted(sum(batches, [])) == list(range(400))
    rows = sum(index % 23 for index in range(400))
    assert len(batches) <= rows // 100 + 2
    assert len(batches) < len(batches_of_100({"order": "reshuffle"}))
    assert batches == batches_of_100(packed)
    assert batches != batches_of_100({**packed, "among": 50})
    assert batches != batches_of_100({**packed, "seed": 1})


@pytest.mark.parametrize(
    "options, what",
    [
        ({"order": "packed"}, "needs the budget of its trainers"),
        ({"pack": ("tokens", 100)}, "pack.*order"),
        ({"order": "fixed", "pack": ("tokens", 100)}, "goes with"),
        ({"order": "packed", "pack": ("tokens", 100), "among": 1}, "among"),
        ({"order": "packed", "pack": ("token", 100)}, "Did you mean `tokens`"),
        ({"order": "packed", "pack": "tokens"}, "AXIS=N"),
    ],
)
def test_a_packed_order_that_cannot_be(
    directory: object, options: dict[str, Any], what: str
) -> None:
    with pytest.raises(bc.InvalidArgument, match=what):
        bc.serve(Texts(), stream="s", axes={"tokens": "tokens"}, background=True, **options)


def test_a_dataset_without_lengths_has_no_packed_order(directory: object) -> None:
    with pytest.raises(bc.InvalidArgument, match="only when it is read. Take `reshuffle`"):
        serve(Dataset(), order="packed", pack=("tokens", 100))
