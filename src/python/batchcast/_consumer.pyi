from collections.abc import Callable, Iterator, Mapping, Sequence
import os
from typing import Any, Literal

import numpy
import numpy.typing

import batchcast


version: str = '0.1.0'

def _note_command(path: str) -> None: ...

def _note_python(path: str) -> None: ...

class Start:
    """
    What `batchcast serve` is started with where no producer serves the stream.

        bc.Start("imagefolder:/data/train", recipe="imagenet-train", memory="4GiB")

    The samples: a stream with others is refused with RecipeMismatch

    source: The dataset, as on the command line.
    recipe: A preset's name or the path of a TOML file; without, each part is a field, unchanged.
    seed: Seed of the order and of all draws; 0 by default.

    The process: a stream that is already served keeps its own

    memory: Upper limit for the samples in host memory, as bytes or a text.
    epochs: Epochs to make; 0: endless.
    wait_for: The first sample waits for this many trainers.
    idle_exit: The producer ends once no trainer has been there for this many seconds; None: without
        limit.
    arguments: Further words of `batchcast serve`; those that say what samples are count with them.
    command: The file to run, instead of the package's own.

    Texts, which become tokens first: they say which samples there are

    tokenizer: A folder with tokenizer.json, or a tokenizer's name on the Hub.
    chat_template: A file with the template of chats, instead of the tokenizer's; trl: TRL's for
        training.
    corpus: The folder that keeps what was tokenised; by default below $XDG_CACHE_HOME.
    """

    def __init__(self, source: str, recipe: str | os.PathLike[str] | None = None, seed: int | None = None, memory: int | str = "256MiB", epochs: int = 0, wait_for: int = 0, idle_exit: float | None = 30.0, arguments: Sequence[str] = (), command: str | os.PathLike[str] | None = None, tokenizer: str | os.PathLike[str] | None = None, chat_template: str | os.PathLike[str] | None = None, corpus: str | os.PathLike[str] | None = None) -> None: ...

    @property
    def source(self) -> str: ...

    @property
    def recipe(self) -> str: ...

    @property
    def seed(self) -> int | None: ...

    @property
    def memory(self) -> int:
        """In bytes."""

    @property
    def epochs(self) -> int: ...

    @property
    def wait_for(self) -> int: ...

    @property
    def idle_exit(self) -> float: ...

    @property
    def arguments(self) -> tuple[str, ...]: ...

    @property
    def command(self) -> str: ...

    @property
    def tokenizer(self) -> str: ...

    @property
    def chat_template(self) -> str: ...

    @property
    def corpus(self) -> str: ...

    def __reduce__(self) -> tuple[type[Start], tuple[Any, ...]]: ...

    def __repr__(self) -> str: ...

class _Memory:
    """Memory of a batch, under a numpy array."""

class Field:
    """
    One field of all samples of a batch, for all that take arrays: numpy, torch, JAX, CuPy.

    It speaks DLPack (`torch.from_dlpack(field)`) and numpy's and CUDA's array interfaces, all
    without a copy. What is made of it keeps the batch's samples until the last array is gone.
    """

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """The type of its elements."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of samples, or of rows on an axis, then the shape of one."""

    def __len__(self) -> int: ...

    @property
    def __array_interface__(self) -> dict[str, Any]: ...

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...

    def __array__(self, dtype: numpy.typing.DTypeLike | None = None, copy: bool | None = None) -> numpy.typing.NDArray[Any]: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...

    def __dlpack__(self, *, stream: Any = None, max_version: tuple[int, int] | None = None, dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
        """
        A capsule over the field's memory. With a max_version of 1 or above it says whether
        that is read-only; the older kind cannot.
        """

    def _writable_capsule(self) -> Any: ...

    def __repr__(self) -> str: ...

class Batch:
    """
    Consecutive samples of one epoch: a read-only mapping of field names to numpy arrays.

        images, labels = batch["image"], batch["label"]

    The arrays show the stream's memory, without a copy, and are read-only unless the batch is
    `writable`. The samples stay until the batch and every array, tensor and field made of it are
    gone, in any order, also after the consumer. Until then the producer cannot overwrite them.
    A field on a GPU is a Field, for torch.from_dlpack and CuPy. A field on an axis is a Ragged:
    the rows of all samples, and the offsets at which each sample's begin.
    """

    def __getitem__(self, name: str, /) -> Any: ...

    def __contains__(self, name: object, /) -> bool: ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[str]: ...

    def keys(self) -> list[str]:
        """The names of its fields, without `sample_id`."""

    def values(self) -> list[Any]: ...

    def items(self) -> list[tuple[str, Any]]: ...

    def get(self, name: str, default: Any = None) -> Any: ...

    @property
    def size(self) -> int:
        """Number of samples; with a window, of runs."""

    @property
    def position(self) -> int:
        """Position of its first sample in the stream."""

    @property
    def row(self) -> int:
        """
        With a window: the row of the sample at `position` that it begins with.
        """

    @property
    def epoch(self) -> int:
        """The epoch that it belongs to."""

    @property
    def padding(self) -> int:
        """
        With tail="pad": how many of its samples, the last ones, repeat others. With a window,
        rows.
        """

    @property
    def writable(self) -> bool:
        """
        Whether its memory is private to this consumer, so that its arrays can be written to.
        """

    @property
    def keeps_writes(self) -> bool:
        """
        Whether a write of this process into its host memory, by any code, stays with this
        process. Else such a write ends it.
        """

    @property
    def placement(self) -> str:
        """Where its fields are: "host" or "cuda:0"."""

    @property
    def sample_ids(self) -> numpy.typing.NDArray[numpy.uint64]:
        """The dataset's index of each sample."""

    def field(self, name: str) -> Field:
        """The field of that name, for DLPack; `sample_id` is one as well."""

    def offsets(self, name: str | None = None) -> numpy.typing.NDArray[numpy.int64]:
        """
        Of a field on an axis: sample i has the rows from offsets[i] to offsets[i + 1]. With a
        window, without a name: the same of its rows, run after run, without the extra ones. A
        copy.
        """

    def use(self, stream: int) -> None:
        """
        Names a further CUDA stream, by its number, that reads the batch: the samples are kept
        until that stream has come to the point where the last array was dropped.
        """

    def check(self) -> None:
        """
        Raises Revoked if the producer evicted this consumer: the samples may have been
        overwritten.
        """

    def release(self) -> None:
        """
        Releases the samples now, as far as this object is concerned, and raises Revoked as
        `check` does. Arrays that were made of it keep them.
        """

    def share(self) -> Batch:
        """Another object for the same samples, which lives independently."""

    def _writable_capsules(self, fields: tuple[int | str, ...], bools_as_bytes: bool = False, /) -> tuple[Any, ...]: ...

    def __repr__(self) -> str: ...

class _Loop:
    """An epoch's batches."""

    def __iter__(self) -> object: ...

    def __next__(self) -> Batch: ...

    def next(self, timeout: float | None) -> Batch: ...

    def hold(self, timeout: float | None) -> Batch:
        """As `next`, but gives the same batch again until `delivered` is set."""

    @property
    def delivered(self) -> bool:
        """
        Set to True once the batch that `hold` gave is passed on. An assignment, since
        signal handlers run after calls.
        """

    @delivered.setter
    def delivered(self, arg: bool, /) -> None: ...

    @property
    def over(self) -> bool:
        """Whether it gives no further batch."""

    @property
    def epoch(self) -> int | None:
        """The epoch of what `hold` gave; None before."""

class Consumer:
    """
    One trainer's part in a stream.

        with bc.Consumer("imagenet", batch_size=256) as consumer:
            while consumer.has_next_epoch():
                for batch in consumer:
                    step(batch["image"], batch["label"])

    Attaching waits for the producer, `connect_timeout` seconds at most, or starts it (`start`). Each
    `for` is one epoch; leaving it early skips what is left of that epoch. The loop's variable
    holds a batch until the next one is there: a ring has to have room for both.

    One thread at a time uses a consumer; a process can have several. Calls that wait let other threads
    run, and Ctrl-C ends them. After fork the child cannot use it (Forked). Batches may outlive it.

    The stream

    stream: Name of the stream.
    batch_size: Samples of a batch, at most the ring's capacity.
    budget: Of a stream with axes: as many whole samples as have no more rows than this, such as
        tokens=16384; `batch_size` is then the most samples, if it is given.
    oversize: What becomes of a sample beyond the `budget`: `error`; `alone`, a batch by itself;
        `truncate`, its first rows alone; `drop`, it is left out.
    window: Of a stream with axes: batches of a number of runs of consecutive rows, cut through
        samples, such as tokens=2048x8; they have the fields of that axis alone.
    extra: With a `window`: rows that each run shows besides, which are the first of the next; with
        1, inputs and targets are views of one batch.
    name: Name in lists of consumers; by default that of the script or program, of a rank its
        group's.

    Its course

    pace: `lockstep`: the producer waits, and no sample is missed; `free`: it does not wait.
    join: Where to begin: `rewind`, at this epoch's start if a ring has it or a head can open there,
        else at the next's; `next_epoch`; `now`, within an epoch; `at`, the position `cursor`.
    cursor: Position to begin at, with `join` at.
    cursor_row: With `join` at and a `window`: the row inside the sample at `cursor`.
    between_epochs: `hold`: the producer waits between two loops as well; `let_go`: only inside a
        loop.
    tail: What becomes of the samples at an epoch's end that fill no batch: `keep` gives a short
        batch, `drop` none, `pad` repeats samples.
    group: Take one rank's part of each batch of a group: NAME:RANK/WORLD; auto: as torchrun,
        Lightning, mpirun or srun say. It begins once all ranks are there.

    Memory

    access: `shared`: batches show the stream's own memory; `private`: they are copies, which may be
        written to.
    placement: Where the batches are: host, or a GPU that the stream is served on, such as cuda:0;
        cuda: the GPU of this process.
    pin: Take batches in page-locked host memory, for copies to a GPU.
    pin_device: With `pin`: the GPU that batches are copied to.

    Waiting

    on_miss: What `pace` free does when samples are missed.
    connect_timeout: Seconds to wait for the stream to come up; None: without limit.
    spin_us: Microseconds to look for samples before sleeping, at most.
    on_producer_gone: When the producer dies in a stream that can be made again: `wait` for the next
        one, and go on with the next sample; `error`.
    gone_timeout: Seconds to wait for the next producer; by default 300 with `start`, else 30; None:
        without limit.

    Surroundings

    directory: Where to look for the stream, instead of the usual places.
    allow_uids: Users, besides this one and root, whose producers are trusted.
    observes: Only look, with `newest`: the producer does not wait, and `wait_for` does not count
        it.
    explain_faults: Keep writes into batches private, or explain them, by a SIGSEGV handler.
    log: Called as log(level, text) with what is no error; without, warnings go to stderr.
    start: A batchcast.Start: what to serve where no producer serves the stream.
    """

    def __init__(self, stream: str, batch_size: int = 64, *, budget: str | tuple[str, int] | None = None, oversize: Literal["error", "alone", "truncate", "drop"] = "error", window: str | tuple[str, int, int] | None = None, extra: int = 0, name: str | None = None, pace: Literal["lockstep", "free"] = "lockstep", join: Literal["rewind", "next_epoch", "now", "at"] = "rewind", cursor: int = 0, cursor_row: int = 0, between_epochs: Literal["hold", "let_go"] = "hold", tail: Literal["keep", "drop", "pad"] = "keep", group: str | tuple[str, int, int] | None = None, access: Literal["shared", "private"] = "shared", placement: str = "host", pin: bool = False, pin_device: int = 0, on_miss: Literal["skip", "error"] = "skip", connect_timeout: float | None = 30.0, spin_us: int = 50, on_producer_gone: Literal["wait", "error"] = "wait", gone_timeout: float | None = None, directory: str | os.PathLike[str] | None = None, allow_uids: Sequence[int] = (), observes: bool = False, explain_faults: bool = True, log: Callable[[str, str], object] | None = None, start: Start | None = None) -> None: ...

    def next(self, timeout: float | None = None) -> Batch | None:
        """
        The next batch; None at the end of an epoch, after which the next call begins another.
        Raises Timeout if none came within that many seconds.
        """

    def _hold(self) -> Batch | None:
        """As `next`, but gives the same batch again until `_delivered` is set."""

    @property
    def _delivered(self) -> bool:
        """
        As that of a loop: set to True once the batch that `_hold` gave is passed on.
        """

    @_delivered.setter
    def _delivered(self, arg: bool, /) -> None: ...

    def _peek(self, timeout: float | None) -> Batch:
        """
        The batch that `_hold` gave, while that is not delivered; else a copy of the next one,
        of the following epoch where this one has no more. Changes nothing.
        """

    def has_next_epoch(self) -> bool:
        """Whether another epoch follows; waits until that is known."""

    def batches_of_epoch(self) -> int | None:
        """
        How many batches the whole epoch has that the next batch belongs to; of a rank, its
        batches. None where the producer does not know: with a budget or a window, lengths.
        """

    def newest(self, samples_max: int) -> Batch | None:
        """
        A copy of the newest samples that the ring holds, at most `samples_max`; None while
        there are none. It leaves the consumer where it is.
        """

    def leave_epoch(self) -> None:
        """Skips what is left of the current epoch."""

    def _move_to(self, cursor: int, row: int = 0) -> bool:
        """
        Moves to another position without leaving the stream. False, and it stays, where only a
        consumer that attaches again may have it. Raises Refused, StreamFinished: it stays, too.
        """

    def close(self) -> None:
        """
        Leaves the stream. Batches that are held stay good. A second call does nothing.
        """

    def check(self) -> None:
        """
        Raises Revoked if the producer evicted this consumer, GroupBroken if that was for its
        group.
        """

    def set_cuda_stream(self, stream: int) -> None:
        """
        The CUDA stream, by its number, on which batches are used from the next one on, for
        batches that are on a GPU or pinned.
        """

    def __enter__(self) -> Consumer: ...

    def __exit__(self, *exception: object) -> None: ...

    def __iter__(self) -> Iterator[Batch]: ...

    def checkpoint(self) -> dict[str, int | str]:
        """
        Where it is, as plain values to store beside the model: to go on there, pass `cursor`
        and `cursor_row` with join="at". See check_same_samples.
        """

    def __repr__(self) -> str: ...

    @property
    def batch_size(self) -> int:
        """Samples in a batch; can be set, for the next batches."""

    @batch_size.setter
    def batch_size(self, size: int, /) -> None: ...

    @property
    def budget(self) -> tuple[str, int] | None:
        """
        The axis and the rows that a batch has at most; None without. Can be set, for the next
        batches.
        """

    @budget.setter
    def budget(self, budget: tuple[str, int] | str | None, /) -> None: ...

    @property
    def window(self) -> tuple[str, int, int] | None:
        """
        The axis, the rows of a run and the runs of a batch; None without. Can be set, for the
        next batches, which begin where the last one ended.
        """

    @window.setter
    def window(self, window: tuple[str, int, int] | str | None, /) -> None: ...

    @property
    def cursor_row(self) -> int:
        """
        With a window: inside the sample at `cursor`, the row after the last one
        delivered.
        """

    @property
    def cursor(self) -> int:
        """Position after the last sample delivered: what to save, for join="at"."""

    @property
    def epoch(self) -> int:
        """The epoch that the next batch belongs to."""

    @property
    def name(self) -> str:
        """Its name where consumers are listed."""

    @property
    def pure(self) -> bool:
        """Whether the stream's recipe determines every byte of its samples."""

    @property
    def identity(self) -> str:
        """
        32 hexadecimal digits that a pure stream has in common only with those of the same
        samples at the same positions; empty without one.
        """

    @property
    def samples_per_epoch(self) -> int:
        """Samples in an epoch; 0 where that is not known beforehand."""

    @property
    def cursors_per_epoch(self) -> int:
        """
        The same of all nodes, where the stream has the ranks of one (`--shard blocks`): so far
        are the cursors apart of two epochs' beginnings.
        """

    @property
    def _job_world(self) -> int: ...

    @property
    def capacity(self) -> int:
        """Samples that the ring spans: no batch can be larger."""

    @property
    def notes(self) -> str:
        """What the producer said on joining."""

    @property
    def placement(self) -> str:
        """Where its batches are: "host" or "cuda:0"."""

    @property
    def stream(self) -> str:
        """The name of its stream."""

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""

    @property
    def group(self) -> batchcast.Group | None:
        """
        The group that it is a rank of, by its numbers where "auto" was asked for.
        """

    @property
    def schema(self) -> tuple[batchcast.FieldSpec, ...]:
        """
        The stream's fields in order: name, dtype and shape of one sample. The shape of a field
        on an axis begins with the axis's name.
        """

    @property
    def recipe(self) -> dict[str, Any]:
        """The stream's recipe; empty without one."""

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """
        What its labels stand for, as its source names them; None without names.
        """

    @property
    def stats(self) -> batchcast.ConsumerStats:
        """What it got so far, and how long it waited."""

def _option_names() -> list[str]:
    """The names of Consumer's arguments."""

def check_same_samples(saved: Mapping[str, Any], served: Mapping[str, Any], log: Callable[[str, str], object] | None = None) -> None:
    """
    Raises RecipeMismatch unless both checkpoints (Consumer.checkpoint) are of streams with the
    same sample at each position. A stream that is not pure is known by its name, fields and
    epoch length alone: a warning goes to log where another producer serves it. Without log, to
    stderr.
    """
