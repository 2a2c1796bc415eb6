# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: torch-1.13 torch-2.11
"""What a loop over a Loader is given, and what a Loader refuses."""

from __future__ import annotations

import ast
import gc
import inspect
import os
import pickle
import re
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import batchcast as bc
import made_data
import support

torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader  # noqa: E402

SHAPE = "synthetic:3x8x8"


def ids_of(loader: Any) -> list[list[int]]:
    return [ids.tolist() for ids in loader]


def test_values_are_those_of_dump(serve: Callable[..., support.Served], tmp_path: Path) -> None:
    serve(SHAPE, samples=100, epochs=2, wait_for=1)
    loader = bc.Loader("s", 32)
    for epoch in range(2):
        wanted = support.dump(SHAPE, 100 * epoch, 100 * (epoch + 1), tmp_path, samples=100)
        at = 0
        for images, labels in loader:
            end = at + len(images)
            assert torch.equal(images, torch.from_numpy(wanted["image"][at:end]))
            assert torch.equal(labels, torch.from_numpy(wanted["label"][at:end]))
            at = end
        assert at == 100


def test_a_batch_is_what_a_dataloader_collates(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=4, dtype="u8")

    def first(fields: Any) -> Any:
        with bc.Loader("s", 4, fields=fields) as loader:
            return next(iter(loader))

    batch = first(None)
    collated = torch.utils.data.default_collate([(batch[0][0], batch[1][0])])
    assert type(batch) is type(collated) is list
    assert [part.dtype for part in batch] == [torch.uint8, torch.int64]
    assert batch[0].shape == (4, 3, 8, 8)
    assert isinstance(first("image"), torch.Tensor)
    image, ids = first(("image", "sample_id"))
    assert image.dtype == torch.uint8
    assert sorted(ids.tolist()) == [0, 1, 2, 3]
    assert list(first(dict)) == ["image", "label"]
    assert list(first({"pixel_values": "image", "ids": "sample_id"})) == ["pixel_values", "ids"]


def test_a_stream_of_one_field_gives_tensors(
    serve: Callable[..., support.Served], tmp_path: Path
) -> None:
    np.save(tmp_path / "tokens.npy", np.arange(12, dtype=np.int32).reshape(6, 2))
    serve(f"npy:{tmp_path}/tokens.npy")
    rows = next(iter(bc.Loader("s", 6)))
    assert sorted(rows.flatten().tolist()) == list(range(12))


@pytest.mark.parametrize("shape", [(28, 28), (28, 28, 3)])
def test_a_preset_does_what_totensor_does(
    serve: Callable[..., support.Served], tmp_path: Path, shape: tuple[int, ...]
) -> None:
    values = np.arange(6 * int(np.prod(shape))).astype(np.uint8).reshape(6, *shape)
    np.save(tmp_path / "image.npy", values)
    np.save(tmp_path / "label.npy", np.arange(6))
    serve(f"npy:{tmp_path}/image.npy,{tmp_path}/label.npy", recipe="to-tensor")
    images, labels = next(iter(bc.Loader("s", 6)))
    pixels = torch.from_numpy(values)[labels]
    pixels = pixels[:, None] if len(shape) == 2 else pixels.permute(0, 3, 1, 2)
    assert images.shape == pixels.shape and images.dtype == torch.float32
    assert torch.allclose(images, pixels.float() / 255, rtol=0, atol=1e-7)
    assert (images.min(), images.max()) == (0, 1)


@pytest.mark.parametrize(
    "dtype", ["i8", "u8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "bool", "u16", "u64"]
)
def test_every_dtype_has_its_twin_or_says_so(
    serve: Callable[..., support.Served], tmp_path: Path, dtype: str
) -> None:
    serve(SHAPE, samples=4, dtype=dtype)
    kinds = {"f": "float", "b": "bfloat", "u": "uint", "i": "int"}
    twin = "bool" if dtype == "bool" else kinds[dtype[0]] + dtype.lstrip("bfui")
    if not hasattr(torch, twin):
        with pytest.raises(bc.InvalidArgument, match=rf"`image` of .* is {dtype}.* stage `to`"):
            bc.Loader("s", 4)
        return
    images = next(iter(bc.Loader("s", 4, fields="image")))
    assert images.dtype == getattr(torch, twin)
    if dtype != "bf16":
        wanted = support.dump(SHAPE, 0, 4, tmp_path, samples=4, dtype=dtype)["image"]
        assert np.array_equal(images.numpy(), wanted)


def test_len_counts_the_batches_of_an_epoch(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=10)
    loader = bc.Loader("s", 4, fields="sample_id")
    assert [len(batch) for batch in ids_of(loader)] == [4, 4, 2]
    assert len(loader) == 3
    loader.batch_size = 5
    assert (len(loader), loader.batch_size) == (2, 5)
    assert [len(batch) for batch in ids_of(loader)] == [5, 5]
    loader.close()
    for options, sizes in (({"drop_last": True}, [4, 4]), ({"tail": "pad"}, [4, 4, 4])):
        with bc.Loader("s", 4, fields="sample_id", **options) as other:
            assert len(other) == len(sizes)
            assert [len(batch) for batch in ids_of(other)] == sizes


def test_an_unknown_length_is_a_type_error(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=10)
    loader = bc.Loader("s", 4)
    loader._consumer = types.SimpleNamespace(stream="s", samples_per_epoch=0)
    with pytest.raises(TypeError, match="`s`.*no length"):
        len(loader)


def test_each_loop_is_one_epoch_and_the_last_says_so(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=8, epochs=2, wait_for=1)
    loader = bc.Loader("s", 4, fields="sample_id")
    seen = []
    while loader.has_next_epoch():
        loader.set_epoch(7)  # means nothing
        assert loader.epoch == len(seen)
        seen.append(sorted(sum(ids_of(loader), [])))
        assert loader.cursor == 8 * len(seen)
    assert seen == [list(range(8))] * 2
    assert loader.stats.epochs_matched == 2
    with pytest.raises(bc.StreamFinished):
        next(iter(loader))


def test_leaving_a_loop_lets_go_of_its_epoch(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=8)
    loader = bc.Loader("s", 4)
    for _ in loader:
        break
    assert loader.epoch == 1
    with pytest.raises(KeyError, match="mine"):
        for _ in loader:
            raise KeyError("mine")
    assert loader.epoch == 2

    def images() -> Any:
        for image, _ in loader:
            yield image

    generator = images()
    next(generator)
    assert loader.epoch == 2
    generator.close()
    assert loader.epoch == 3
    iter(loader)  # has had no batch: nothing to let go of
    assert loader.epoch == 3


def test_a_second_loop_ends_the_first(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=8)
    loader = bc.Loader("s", 4)
    first = iter(loader)
    next(first)
    second = iter(loader)
    assert loader.epoch == 1
    with pytest.raises(bc.InvalidArgument, match=r"loader\.peek\(\)"):
        next(first)
    assert len(list(second)) == 2
    assert loader.epoch == 2
    with pytest.raises(StopIteration):
        next(second)  # an iterator that is over stays so
    del first, second
    assert loader.epoch == 2


def test_a_timeout_loses_nothing(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=8, wait_for=2)
    loader = bc.Loader("s", 4, timeout=0.02)
    batches = iter(loader)
    with pytest.raises(bc.Timeout):
        next(batches)
    with bc.Loader("s", 4):
        loader.timeout = 10
        assert len(list(batches)) == 2  # the same loop goes on
        assert loader.epoch == 1


def test_a_write_stays_with_its_trainer(
    serve: Callable[..., support.Served], tmp_path: Path
) -> None:
    serve(SHAPE, samples=64, wait_for=2)
    wanted = torch.from_numpy(support.dump(SHAPE, 0, 64, tmp_path, samples=64)["image"])
    writer, reader = bc.Loader("s", 32), bc.Loader("s", 32)
    at = 0
    for (mine, _), (theirs, _) in zip(writer, reader):
        mine.zero_()
        assert torch.equal(theirs, wanted[at : at + 32])
        assert not mine.any()
        at += 32
    assert at == 64


def test_tensors_outlive_loader_and_producer(
    serve: Callable[..., support.Served], tmp_path: Path
) -> None:
    producer = serve(SHAPE, samples=32)
    loader = bc.Loader("s", 32)
    images, _ = next(iter(loader))
    view = images[5:, 1]
    del images
    loader.close()
    producer.kill()
    del loader
    gc.collect()
    wanted = support.dump(SHAPE, 0, 32, tmp_path, samples=32)["image"]
    assert np.array_equal(view.numpy(), wanted[5:, 1])


def test_each_batch_is_for_the_stream_that_is_current(
    serve: Callable[..., support.Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of batches on a GPU. There is none here: torch and the consumer are asked by stand-ins."""
    serve(SHAPE, samples=12)
    loader = bc.Loader("s", 4)
    told: list[int] = []
    streams = iter([7, 9, 11])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(
        torch.cuda, "current_stream", lambda device: types.SimpleNamespace(cuda_stream=next(streams))
    )
    batches = iter(loader)
    consumer, loader._consumer = (
        loader._consumer,
        types.SimpleNamespace(set_cuda_stream=told.append, close=lambda: None),
    )
    loader._uses_gpu = True
    for wanted in ([7], [7, 9], [7, 9, 11]):
        next(batches)
        assert told == wanted
    consumer.close()


def test_it_works_behind_a_dataloader(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=10)
    loader = bc.Loader("s", 4, fields=("sample_id", "image"))
    wrapped = DataLoader(loader, batch_size=None)
    assert len(wrapped) == 3
    for epoch in range(2):
        ids = [batch[0] for batch in wrapped]
        assert [len(part) for part in ids] == [4, 4, 2]
        assert sorted(torch.cat(ids).tolist()) == list(range(10))
        assert loader.epoch == epoch + 1
    for _ in wrapped:
        break
    assert loader.epoch == 3


def test_a_worker_of_a_dataloader_is_told_what_to_do(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=10)
    loader = bc.Loader("s", 4)
    batches = iter(DataLoader(loader, batch_size=None, num_workers=1))
    with pytest.raises(bc.InvalidArgument, match="num_workers=0"):
        next(batches)
    # Left to the collector after an exception, torch waits five seconds for its worker.
    batches._shutdown_workers()
    assert len(list(loader)) == 3  # this process's own is as it was


def test_a_forked_child_is_told_what_to_do(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=10)
    loader = bc.Loader("s", 4)
    there, here = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            next(iter(loader))
        except bc.Forked as error:
            os.write(here, str(error).encode())
        loader.close()
        os._exit(0)
    os.close(here)
    with os.fdopen(there) as words:
        assert "Make the Loader in the child" in words.read()
    os.waitpid(child, 0)
    assert len(list(loader)) == 3


def test_a_pickled_one_attaches_where_it_is_used(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=10)
    packed = pickle.dumps(bc.Loader("s", 4, fields="sample_id", drop_last=True, name="mine"))
    loader = pickle.loads(packed)
    assert loader._consumer is None
    assert [len(batch) for batch in ids_of(loader)] == [4, 4]
    assert loader.consumer.name.startswith("mine")


def test_one_with_a_start_can_be_pickled(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=10)
    start = bc.Start(SHAPE, arguments=("--samples", "10"))
    loader = pickle.loads(pickle.dumps(bc.Loader("s", 4, start=start)))
    assert len(list(loader)) == 3


def test_a_close_that_is_refused_changes_nothing(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=8, wait_for=2)
    loader = bc.Loader("s", 4)
    consumer = loader.consumer
    batches: list[Any] = []
    waits = threading.Thread(target=lambda: batches.extend(loader))
    waits.start()
    support.until(lambda: support.is_in_a_call(consumer))
    for use in (loader.close, lambda: loader.load_state_dict({"cursor": 4})):
        with pytest.raises(bc.InvalidArgument, match="another thread"):
            use()
    assert loader._consumer is consumer
    with bc.Loader("s", 4):
        waits.join()
    assert len(batches) == 2
    assert len(list(loader)) == 2  # it goes on, and is no second trainer


def test_pin_without_a_gpu_warns_and_goes_on(
    serve: Callable[..., support.Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    try:
        bc.Consumer("no-stream", 4, pin=True, connect_timeout=0)
    except bc.GpuUnavailable:
        pass
    except bc.StreamNotFound:
        pytest.skip("there is a GPU")
    serve(SHAPE, samples=10)
    with pytest.warns(RuntimeWarning, match="pin=True: there is no GPU.*not page-locked") as caught:
        loader = bc.Loader("s", 4, pin=True)
    assert caught[0].filename == __file__
    assert len(list(loader)) == 3
    assert not loader._uses_gpu and loader.consumer.next().keeps_writes  # as without `pin`
    packed = pickle.dumps(loader)
    loader.close()
    with pytest.warns(RuntimeWarning, match="not page-locked"):
        assert len(list(pickle.loads(packed))) == 3
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with pytest.raises(bc.GpuUnavailable):
        bc.Loader("s", 4, pin=True)


@pytest.mark.parametrize("dtype", ["bool", "u8"])
def test_a_write_is_no_end_where_it_is_not_kept(
    serve: Callable[..., support.Served], dtype: str
) -> None:
    serve(SHAPE, samples=8, dtype=dtype)
    loader = bc.Loader("s", 4, fields="image", explain_faults=False)
    for images in loader:
        images.zero_()
        assert not images.any()


def test_many_epochs_take_no_more_than_one(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=12, memory="1MiB")
    loader = bc.Loader("s", 5, fields=dict)

    def taken() -> tuple[int, int, int]:
        gc.collect()
        status = Path("/proc/self/status").read_text()
        own_kib = int(re.findall(r"RssAnon:\s+(\d+)", status)[0])
        return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), own_kib

    def run(epochs: int) -> None:
        for _ in range(epochs):
            for batch in loader:
                batch["image"].sum().item()

    run(50)
    files, threads, own_kib = taken()
    run(200)
    later = taken()
    assert later[0] <= files and later[1] <= threads
    assert later[2] - own_kib < 512


def test_it_is_closed_once(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=10)
    loader = bc.Loader("s", 4)
    batches = iter(loader)
    next(batches)
    loader.close()
    loader.close()
    with pytest.raises(StopIteration):
        next(batches)
    with pytest.raises(bc.InvalidArgument, match="closed"):
        iter(loader)
    with bc.Loader("s", 4) as other:
        pass
    with pytest.raises(bc.InvalidArgument, match="closed"):
        len(other)


def test_a_dataloaders_options_say_what_stands_in_for_them(
    serve: Callable[..., support.Served],
) -> None:
    serve(SHAPE, samples=10)
    its_own = {"batch_size", "drop_last", "timeout"}
    for name in inspect.signature(DataLoader.__init__).parameters.keys() - its_own - {"self"}:
        with pytest.raises(bc.InvalidArgument, match=rf"Loader\(\) has no `{name}`: .*[`\w]\.$"):
            bc.Loader("s", 4, **{name: 1})
    with pytest.raises(bc.InvalidArgument, match="--order"):
        bc.Loader("s", 4, shuffle=True)
    with pytest.raises(bc.InvalidArgument, match="pin=True"):
        bc.Loader("s", 4, pin_memory=True)
    loader = bc.Loader("s", 4)
    with pytest.raises(AttributeError, match="'collate_fn': .*`fields`"):
        loader.collate_fn
    with pytest.raises(AttributeError, match="no attribute 'datasets'$"):
        loader.datasets
    with pytest.raises(TypeError, match="cannot be indexed: `for batch in loader`"):
        loader[0]


def test_its_options_have_the_defaults_of_consumers() -> None:
    """Those that its signature shows."""
    signature = bc.Consumer.__init__.__nb_signature__[0][0]  # type: ignore[attr-defined]
    shown = inspect.signature(bc.Loader.__init__).parameters
    for name in list(shown)[list(shown).index("start") : -1]:
        default = re.search(rf"[ (]{name}: [^=]*= ([^,]*?)[,)]", signature)
        assert default is not None and ast.literal_eval(default[1]) == shown[name].default, name


def test_class_names(serve: Callable[..., support.Served], tmp_path: Path) -> None:
    made_data.image_folder(tmp_path / "images")
    serve(f"imagefolder:{tmp_path / 'images'}", recipe=made_data.recipe_file(tmp_path))
    names = tuple(sorted(path.name for path in (tmp_path / "images").iterdir()))
    with bc.Loader("s", 4) as loader:
        assert loader.class_names == loader.consumer.class_names == names
    serve(SHAPE, stream="t")
    assert bc.Loader("t", 4).class_names is None


def test_wrong_inputs_are_told_on_attaching(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=10)
    for fields in ("imag", ("label", "imag"), {"x": "imag"}):
        with pytest.raises(bc.InvalidArgument, match="no field `imag`.*, sample_id. Did .* `image`.$"):
            bc.Loader("s", 4, fields=fields)
    with pytest.raises(bc.InvalidArgument, match="no field `b`"):
        bc.Loader("s", 4, fields={"a": "b"})
    for fields in (7, (), ("image", 7), {}, {"a": 7}, {"a": ["image"]}):
        with pytest.raises(bc.InvalidArgument, match="fields="):
            bc.Loader("s", 4, fields=fields, name="mine")
    with pytest.raises(bc.InvalidArgument):
        bc.Loader("s", 0)
    with pytest.raises(bc.InvalidArgument, match="batch_size: `-1` must be a whole number, 1 or more"):
        bc.Loader("s", -1)
    for no_name, kind in ((torch.utils.data.TensorDataset(torch.zeros(3)), "TensorDataset"), (None, "None")):
        with pytest.raises(bc.WrongType, match=rf"the name of a stream, not {kind}\. .*bc\.serve\("):
            bc.Loader(no_name, 4)  # type: ignore[arg-type]
    for name, text in (
        ("batchsize", "Did you mean `batch_size`"),
        ("droplast", "Did you mean `drop_last`"),
        ("on_mis", "Did you mean `on_miss`"),
        ("conect_timeout", "Did you mean `connect_timeout`"),
        ("zzz", "there is no argument `zzz`.$"),
    ):
        with pytest.raises(TypeError, match=r"Loader\(\): .*" + text):
            bc.Loader("s", 4, **{name: 7})
    with pytest.raises(TypeError, match="timeout has to be a number, not str"):
        bc.Loader("s", 4, timeout="3")  # type: ignore[arg-type]
    with pytest.raises(bc.InvalidArgument, match="timeout: nan is no number"):
        bc.Loader("s", 4, timeout=float("nan"))
    with pytest.raises(bc.StreamNotFound, match="`nobody`"):
        bc.Loader("nobody", 4, connect_timeout=0)
    if not torch.cuda.is_available():
        with pytest.raises(bc.GpuUnavailable, match="sees no GPU"):
            bc.Loader("s", 4, placement="cuda")
    for place in ("cpu", "gpu:0", "cuda:x"):
        with pytest.raises(bc.InvalidArgument, match=f"`{place}` is no placement"):
            bc.Loader("s", 4, placement=place)
    # None is left behind: a second one of that name would be called mine-2.
    assert bc.Loader("s", 4, name="mine").consumer.name == "mine"
