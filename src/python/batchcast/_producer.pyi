"""Streams that this process serves: what `batchcast.serve` is made of."""

from collections.abc import Mapping, Sequence
import os
from typing import Any, Literal

import numpy
import numpy.typing

import batchcast._serving


class PythonSource:
    """A dataset in Python, read by C++ threads."""

    def __init__(self, items: object, size: int, specs: list[tuple[str, str, str, list[int]]], keys: list[object], name: str, fingerprint: str, class_names: list[str], axes: list[str], lengths: dict[str, numpy.typing.NDArray[numpy.uint32]]) -> None: ...

    @property
    def first_failure(self) -> BaseException | None:
        """What the first sample raised that could not be read."""

    def longest_read(self) -> str:
        """The sample that has been read for the longest time; empty if none is."""

def is_image(encoded: bytes) -> bool:
    """Whether these bytes begin as a JPEG, PNG or WebP file."""

class ServeOptions:
    """The options of a stream to serve."""

    def __init__(self, *, recipe: str | os.PathLike[str] | None = None, seed: int | None = None, shard: str | None = None, cache: str | None = None, on_bad_sample: Literal["error", "substitute"] | None = None, max_bad: int | None = None, bad_list: str | os.PathLike[str] | None = None, tokenizer: str | None = None, chat_template: str | os.PathLike[str] | None = None, train_on: Literal["assistant", "completion", "all"] | None = None, no_eos: bool = False, corpus: str | os.PathLike[str] | None = None, max_tokens: int | None = None, overlong: Literal["error", "truncate", "drop", "split"] | None = None, dtype: Literal["u8", "i8", "i16", "i32", "i64", "u16", "u32", "u64", "f16", "bf16", "f32", "f64", "bool"] | None = None, samples: int | None = None, order: Literal["reshuffle", "fixed", "sequential", "blocks", "packed"] | None = None, pack: str | tuple[str, int] | None = None, among: int | None = None, stream: str, memory: int | str = "256MiB", rows: Mapping[str, int | float | str] | None = None, rows_per_sample: Mapping[str, int | float | str] | None = None, ahead: int = 2, epochs: int | None = None, heads: int = 4, head_memory: int | str | None = None, catch_up: float = 0.7, place: str | Sequence[str] = (), device_memory: int | str | None = None, host_field: str | Sequence[str] = (), finish_on_gpu: bool = False, wait_for: int = 0, max_consumers: int = 64, on_stall: Literal["report", "evict", "own_place"] = "report", stall_timeout: float = 60.0, workers: int | str | None = None, stash: int | str | None = None, linger: float | None = None, idle_exit: float | None = None, free_running: bool = False, huge_pages: Literal["auto", "off", "transparent", "explicit"] = "auto", allow_uid: int | Sequence[int] = (), verbose: bool = False, background: bool = False, replace: bool = False, fields: Sequence[str] | None = None, axes: Mapping[str, str | Sequence[str]] | None = None, batched: bool | None = None, processes: int = 0, directory: str | os.PathLike[str] | None = None, progress: bool | None = None) -> None: ...

    @staticmethod
    def of_words(words: Sequence[str]) -> ServeOptions:
        """
        Those that `batchcast serve` has with these words, `--name=value` or `--flag`.
        """

    @property
    def stream(self) -> str: ...

    @property
    def recipe(self) -> str | None: ...

    @property
    def on_bad_sample(self) -> str | None: ...

    @property
    def epochs(self) -> int | None: ...

    @property
    def background(self) -> bool: ...

    @property
    def replace(self) -> bool: ...

    @property
    def fields(self) -> tuple[str, ...] | None: ...

    @property
    def batched(self) -> bool | None: ...

    @property
    def processes(self) -> int: ...

    @property
    def directory(self) -> str: ...

    @property
    def progress(self) -> bool | None: ...

    @property
    def seed(self) -> int | None: ...

    @property
    def order(self) -> str | None: ...

    @property
    def tokenizer(self) -> str | None: ...

    @property
    def chat_template(self) -> str | None: ...

    @property
    def train_on(self) -> str | None: ...

    @property
    def no_eos(self) -> bool: ...

    @property
    def corpus(self) -> str | None: ...

    @property
    def axes(self) -> dict[str, tuple[str, ...]] | None: ...

    def given_for_samples(self) -> list[str]:
        """
        The options that were given and that only go with samples which are made one by one.
        """

def serve(source: object, *, recipe: str | os.PathLike[str] | None = None, seed: int | None = None, shard: str | None = None, cache: str | None = None, on_bad_sample: Literal["error", "substitute"] | None = None, max_bad: int | None = None, bad_list: str | os.PathLike[str] | None = None, tokenizer: str | None = None, chat_template: str | os.PathLike[str] | None = None, train_on: Literal["assistant", "completion", "all"] | None = None, no_eos: bool = False, corpus: str | os.PathLike[str] | None = None, max_tokens: int | None = None, overlong: Literal["error", "truncate", "drop", "split"] | None = None, dtype: Literal["u8", "i8", "i16", "i32", "i64", "u16", "u32", "u64", "f16", "bf16", "f32", "f64", "bool"] | None = None, samples: int | None = None, order: Literal["reshuffle", "fixed", "sequential", "blocks", "packed"] | None = None, pack: str | tuple[str, int] | None = None, among: int | None = None, stream: str, memory: int | str = "256MiB", rows: Mapping[str, int | float | str] | None = None, rows_per_sample: Mapping[str, int | float | str] | None = None, ahead: int = 2, epochs: int | None = None, heads: int = 4, head_memory: int | str | None = None, catch_up: float = 0.7, place: str | Sequence[str] = (), device_memory: int | str | None = None, host_field: str | Sequence[str] = (), finish_on_gpu: bool = False, wait_for: int = 0, max_consumers: int = 64, on_stall: Literal["report", "evict", "own_place"] = "report", stall_timeout: float = 60.0, workers: int | str | None = None, stash: int | str | None = None, linger: float | None = None, idle_exit: float | None = None, free_running: bool = False, huge_pages: Literal["auto", "off", "transparent", "explicit"] = "auto", allow_uid: int | Sequence[int] = (), verbose: bool = False, background: bool = False, replace: bool = False, fields: Sequence[str] | None = None, axes: Mapping[str, str | Sequence[str]] | None = None, batched: bool | None = None, processes: int = 0, directory: str | os.PathLike[str] | None = None, progress: bool | None = None) -> batchcast._serving.Serving:
    """
    Serves `source` as a stream that any number of trainers attach to by its name.

        bc.serve("imagefolder:/data/train", recipe="imagenet-train", stream="train")

    `source` is one of

    - a text, `imagefolder:DIR`, `webdataset:a-{000..099}.tar`, …: what `batchcast serve` takes;
    - a dataset: an object with `__len__` and `__getitem__` whose samples are dicts, tuples or single
      values of bytes, arrays, tensors and numbers. Numbers become i64, f64 and bool, as torch's
      default_collate has them. C++ threads read the dataset, in another order in each epoch, and do
      what `recipe` says. With a method `fingerprint()` the stream is pure;
    - a loader: a torch DataLoader, or anything that `for` goes through and that gives batches. Each
      pass is an epoch. Generators are gone through once.

    Blocks until the epochs are made and trainers have them, with a line of progress on stderr. Ctrl-C
    stops the stream and raises KeyboardInterrupt. A stream of another process is never replaced:
    StreamTaken.

    The samples

    recipe: What to do with the samples: a TOML file, or a preset (imagenet-train, imagenet-eval,
        cifar-train, cifar-eval, mnist, to-tensor, tokens, torchvision-v1, torchvision-v1-eval,
        torchvision-v2, torchvision-v2-eval, deit, deit-eval, deit-iii, simclr, moco-v3, dino, mae,
        clip, clip-eval, cifar-autoaugment, cifar-autoaugment-eval, voc-segmentation, pix2pix);
        without one each part is a field, unchanged.
    seed: Seed of the order and of all draws; 0 by default.
    shard: Of a job on several nodes, this node's part. `blocks`: of every batch what its ranks here
        get, as their groups say. I/N: the I-th, from 0, of N disjoint shares of every epoch; auto:
        this node's, by torchrun, srun or Kubernetes.
    cache: Bytes, such as 8GiB, in which decoded coefficients of JPEGs are kept from one epoch to
        the next; the samples stay the same.

    Bad samples

    on_bad_sample: `error`, the default: the stream fails; `substitute`: the next sample replaces a
        bad one.
    max_bad: With `substitute`: how many different samples may be bad; 1000 by default.
    bad_list: With `substitute`: the file that lists them, a line each: id, name, reason.

    Texts

    tokenizer: Make tokens of the texts of jsonl:FILES, text:FILES, parquet:FILES or huggingface:DIR
        first, once: a folder with tokenizer.json, or a name on the Hub.
    chat_template: A file with the template of chats, instead of the tokenizer's; trl: TRL's for
        training.
    train_on: Which tokens of a chat are trained: `assistant`, the default, all answers;
        `completion`, the last one; `all`.
    no_eos: Put no EOS of the tokenizer behind each document of plain text.
    corpus: The folder that keeps what was tokenised; by default below $XDG_CACHE_HOME.
    max_tokens: Tokens that a sample has at most, of any source without `recipe`, which says it
        else. The source has to know all lengths.
    overlong: What becomes of samples beyond `max_tokens`: `error`, the default: the stream does not
        begin; `truncate`: they have their first tokens; `drop`; `split`: into samples of that many
        tokens.

    Synthetic samples

    dtype: Type of the image's elements; f32 by default.
    samples: Samples of an epoch; 50000 by default.
    order: `reshuffle`, the default: every epoch has its own order; `fixed`: all have one shuffle;
        `sequential`; `blocks`; `packed`. It is of any source without `recipe`, which says it else.
    pack: With order `packed`: the budget whose batches are to be full, such as tokens=8192. The
        source has to know all lengths.
    among: With order `packed`: how many neighbours in the shuffle are arranged together; 4096 by
        default.

    The stream

    stream: Name of the stream.
    memory: Bytes for samples in host memory, at most.
    rows: Of a stream with axes: how many rows of an axis the ring has, such as tokens=64M, instead
        of what `rows_per_sample` makes of the memory.
    rows_per_sample: Of a stream with axes: about how many rows a sample has, such as tokens=400.
    ahead: Epochs to produce ahead of the fastest consumer; 0: as many as fit in memory, which is
        also the limit. Without a consumer they count from where the next one would begin.
    epochs: Epochs to make; 0, the default: until the stream is stopped.

    Other places

    heads: At how many places a stream with a recipe is served at most, so that a trainer whose
        cursor the ring no longer has gets its samples all the same; 1: the ring only.
    head_memory: Bytes for samples at each other place, while it has trainers; by default a quarter
        of `memory`.
    catch_up: The share of the workers' time that the place furthest behind gets at most, below 1.

    GPUs

    place: GPUs to serve the stream on as well, such as cuda:0,cuda:1; all trainers on a GPU share
        its ring.
    device_memory: Bytes for samples on each of these GPUs, at most; by default as many as in host
        memory.
    host_field: Fields that stay in host memory for trainers on GPUs too, as sample_id does.
    finish_on_gpu: Leave the end of each image (horizontal_flip, to, normalize) to these GPUs; host
        memory then holds u8 pixels.

    Its trainers

    wait_for: Begin once this many consumers are attached; the ranks of a group count as one.
    max_consumers: Places for consumers.
    on_stall: What happens to a consumer that keeps the stream waiting: `report` it, or `evict` it.
        With `own_place` one that is slow goes on in a head (`heads`), and the others go on.
    stall_timeout: Seconds that a consumer may keep the stream waiting before `on_stall` applies.

    The process

    workers: Threads that make samples; auto: as many as it takes, at most the processors.
    stash: Of a stream with axes whose lengths making tells: bytes for finished samples that wait
        for their rows; by default an eighth of `memory`.
    linger: Seconds to stay after the last epoch for consumers that still read, counted once those
        of `wait_for` are there; None: without limit.
    idle_exit: End the stream once no consumer has been attached for this many seconds, also while
        those of `wait_for` are to come; an observer such as `peek` does not count.
    free_running: Produce also while no consumer in lockstep is attached.
    huge_pages: Whether the ring lies in huge pages; auto: above 4 GiB, where the system has them.
    allow_uid: Other users who may attach, where producer and trainers run as different users.
    verbose: Report more.

    In Python

    background: Return once the dataset is opened; `stop()` of the handle, or the end of the
        process, ends the stream.
    replace: Stop a stream of that name which this process serves, as a notebook's cell that runs
        again does.
    fields: Names for a tuple's values (by default `data`; `image` and `label` of two; else
        `field0`, …), or the keys of a dict to serve.
    axes: The fields of which samples have different numbers of rows, by the axes that they lie on:
        {"boxes": ("boxes", "classes")}.
    batched: False: a loader gives samples; True: an object with `__getitem__` gives batches.
    processes: Processes to fork for reading a dataset whose Python code takes long; 0: threads of
        this process read it.
    directory: Where the stream's files are to be, instead of the usual place.
    progress: Print progress on stderr; by default unless `background`.
    """

def _option_names() -> list[str]:
    """The names of serve's arguments."""

class DatasetStream:
    """A dataset that threads of this process serve as a stream."""

    def __init__(self, options: ServeOptions, location: str, source: PythonSource | None, talks: bool, pure: bool) -> None: ...

    def wait_opened(self, timeout_ms: int) -> bool:
        """Whether the stream is there, or over."""

    def wait_ended(self, timeout_ms: int) -> bool:
        """Whether the stream is over."""

    def ask_to_end(self, why: str) -> None: ...

    def raise_failure(self) -> None:
        """Raises what failed the stream, if anything did."""

    @property
    def hangs(self) -> str:
        """What the end did not wait for."""

    @property
    def directory(self) -> str: ...

    def set(self, values: Sequence[tuple[str, str]]) -> None:
        """Changes settings, by name and value."""

    def stats(self) -> dict[str, Any]: ...

class BatchStream:
    """A stream of batches that Python makes."""

    def __init__(self, options: ServeOptions, served_from: str, talks: bool) -> None: ...

    def append(self, columns: list[tuple[str, str, numpy.typing.NDArray[Any], str, numpy.typing.NDArray[Any]]]) -> bool:
        """
        Copies a batch, each field's name, dtype and array, and of one on an axis the axis and each sample's rows (u64), into the ring. False once the stream is over.
        """

    def end_epoch(self) -> None: ...

    def finish(self) -> bool:
        """
        Once every epoch is appended, to be called until it is True: consumers have drained the stream, did not within `linger`, or it was ended.
        """

    @property
    def over(self) -> bool: ...

    def stop(self, why: str) -> None: ...

    def fail(self, why: str) -> None: ...

    def close(self) -> None: ...

    @property
    def directory(self) -> str: ...

    def set(self, values: Sequence[tuple[str, str]]) -> None:
        """Changes settings, by name and value."""

    def stats(self) -> dict[str, Any]: ...

class ZerosWhereCut:
    """
    While it exists, reading between these addresses what was cut off a mapped file gives zeros, and ends no process.
    """

    def __init__(self, begin: int, end: int) -> None: ...

    @staticmethod
    def go_on() -> None:
        """
        Before such a look: others (faulthandler) may have taken the signal since.
        """

def end_in_time(exit_code: int, patience_ms: int) -> None:
    """
    From now on SIGINT, SIGTERM and SIGHUP, beside what their handlers in Python do, end the process with this code where it has not ended by itself patience_ms after the first of them, and after this call.
    """

def end_without_python(exit_code: int, patience_ms: int) -> None:
    """
    As end_in_time, for a process that has nothing left to do but to end. Before, its handlers in Python of these signals are to be set to SIG_IGN: from this call on until the process is gone the signals have no other effect.
    """
