# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Batches that a trainer keeps after it has left, or while the ring has to go on: nobody waits."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
import pytest

import batchcast as bc
import support


def goes_on(loops: int = 3) -> None:
    """Another trainer gets whole epochs, several rings long, without a wait for anybody."""
    with bc.Consumer("s", 64) as consumer:
        read = 0
        while read < loops * consumer.capacity:
            batch = consumer.next(timeout=10)
            read += 0 if batch is None else batch.size


def test_a_traceback_that_is_kept_holds_nobody_up(serve):
    serve("synthetic:1x64x64", samples=4096, memory="4MiB")
    kept = None
    try:
        with bc.Consumer("s", 32) as consumer:
            for batch in consumer:
                images = batch["image"]
                expected = images.copy()
                raise ValueError("pruned")
    except ValueError as error:
        kept = error
    del batch, consumer
    goes_on()
    np.testing.assert_array_equal(images, expected)
    assert kept.__traceback__.tb_frame.f_locals["images"] is images


def test_a_consumer_that_nobody_closed_holds_nobody_up(serve):
    serve("synthetic:1x64x64", samples=4096, memory="4MiB")
    batch = bc.Consumer("s", 32).next()
    expected = batch["image"].copy()
    goes_on()
    np.testing.assert_array_equal(batch["image"], expected)


def test_a_consumer_that_only_garbage_holds_holds_nobody_up(serve):
    serve("synthetic:1x64x64", samples=4096, memory="1MiB")

    def trial(number):
        consumer = bc.Consumer("s", 32)
        for index in range(40):
            consumer.next(timeout=60)
            if number == 0 and index == 2:
                raise ValueError("pruned")

    def run(number):
        error = None
        try:
            trial(number)
        except ValueError as raised:
            error = raised  # its traceback has this frame, which has it
        return error is None

    assert [run(number) for number in range(2)] == [False, True]


def test_the_loop_variable_of_a_loop_that_was_left(serve):
    serve("synthetic:1x64x64", samples=4096, memory="4MiB")
    with bc.Consumer("s") as consumer:
        consumer.batch_size = consumer.capacity * 2 // 3
        for loop in range(4):
            for batch in consumer:
                assert batch.epoch == loop
                expected = batch["image"].copy()
                break
            np.testing.assert_array_equal(batch["image"], expected)


def test_a_look_does_not_hold_up_the_loop(serve):
    serve("synthetic:1x64x64", samples=4096, memory="4MiB")
    with bc.Consumer("s", 100) as consumer:
        first = next(iter(consumer))
        expected = first["image"].copy()
        ids = [batch.sample_ids.copy() for batch in consumer]
        assert len(np.unique(np.concatenate(ids))) == 4096
        np.testing.assert_array_equal(first["image"], expected)


def test_polls_get_the_next_batch_although_one_is_kept(serve):
    serve("synthetic:1x64x64", samples=4096, memory="4MiB")
    with bc.Consumer("s") as consumer:
        consumer.batch_size = consumer.capacity * 2 // 3
        kept = consumer.next(timeout=10)
        expected = kept["image"].copy()
        until = time.monotonic() + 30
        batch = None
        while batch is None and time.monotonic() < until:
            try:
                batch = consumer.next(timeout=0)
            except TimeoutError:
                time.sleep(0.01)
        assert batch is not None and batch.position == kept.position + kept.size
        np.testing.assert_array_equal(kept["image"], expected)


def test_who_keeps_several_is_warned_once(serve):
    serve("synthetic:1x64x64", samples=4096, memory="4MiB")
    lines = []
    with bc.Consumer("s", 32, log=lambda level, text: lines.append((level, text))) as consumer:
        kept = [consumer.next() for _ in range(5)]
        consumer.leave_epoch()
        kept += [consumer.next() for _ in range(5)]
    warnings = [text for level, text in lines if level == "warning"]
    assert len(warnings) == 1 and "keeps 5 batches of stream `s`" in warnings[0]
    assert "tracebacks" in warnings[0] and "position 0" in warnings[0]
    goes_on()
    assert len({batch.position for batch in kept}) == 10
    for batch in kept:
        batch.check()


def test_what_is_kept_can_be_written_and_read_by_a_child(serve):
    serve("synthetic:1x64x64", samples=4096, memory="4MiB")
    with bc.Consumer("s", 32) as consumer:
        image = np.from_dlpack(consumer.next().field("image"))
    expected = image.copy()
    pid = os.fork()
    if pid == 0:
        os._exit(0 if (image == expected).all() else 1)
    assert os.waitpid(pid, 0)[1] == 0
    goes_on()
    np.testing.assert_array_equal(image, expected)


def test_nothing_is_copied_as_the_interpreter_ends(serve):
    serve("synthetic:1x64x64", samples=4096, memory="4MiB")
    code = """
import batchcast as bc
lines = []
consumer = bc.Consumer("s", 32, log=lambda level, text: print(level, text, flush=True))
kept = [consumer.next() for _ in range(5)]
print("ends", flush=True)
"""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert "ends" in run.stdout and "keeps" not in run.stdout + run.stderr
    goes_on()


def test_a_thousand_kept_trials(serve):
    def usage() -> tuple[int, int, int]:
        with open("/proc/self/status") as status:
            lines = dict(line.split(":", 1) for line in status)
        with open("/proc/self/maps") as maps:
            shared = sum("memfd:" in line for line in maps)
        return int(lines["RssAnon"].split()[0]), len(os.listdir("/proc/self/fd")), shared

    serve("synthetic:1x64x64", samples=4096, memory="4MiB")
    kept = []

    def trial() -> None:
        with bc.Consumer("s", 16, join="now") as consumer:
            kept.append(consumer.next()["image"])

    trial()
    bytes_each = kept[0].nbytes
    trials = 1000 if os.environ.get("BATCHCAST_TEST_SCALE", "1") == "1" else 200
    before = usage()
    for _ in range(trials):
        trial()
    after = usage()
    assert after[1:] == before[1:]
    # A page at either end of each of the three fields, and Python's own objects.
    most_kib = trials * (bytes_each // 1024 + 3 * 8 + 16) + 20_000
    assert after[0] - before[0] < most_kib
    assert len({image.tobytes() for image in kept}) > 1
    goes_on()


def test_a_trainer_that_waits_says_for_whom(serve, child):
    serve("synthetic:1x64x64", samples=4096, memory="4MiB")
    other = child(
        """
import batchcast as bc
consumer = bc.Consumer("s", 32, name="holder")
batch = consumer.next()
print("holds", flush=True)
input()
"""
    )
    assert other.line() == "holds"
    lines: list[str] = []
    with bc.Consumer("s", 32, log=lambda level, text: lines.append(text)) as consumer:
        until = time.monotonic() + 60
        while time.monotonic() < until and not any("has waited" in line for line in lines):
            try:
                consumer.next(timeout=3)
            except bc.Timeout:
                pass
    (line,) = [line for line in lines if "has waited" in line]
    assert "consumer `holder`" in line and f"process {other.pid}" in line
    other.tell()


def test_one_that_waits_for_others_to_come_says_how_many_are_missing(serve):
    serve("synthetic:1x64x64", samples=4096, memory="4MiB", wait_for=3)
    lines: list[str] = []
    with bc.Consumer("s", 32, log=lambda level, text: lines.append(text)) as consumer:
        until = time.monotonic() + 60
        while time.monotonic() < until and not any("has waited" in line for line in lines):
            try:
                consumer.next(timeout=3)
            except bc.Timeout:
                pass
    (line,) = [line for line in lines if "has waited" in line]
    assert line.endswith("waits until 2 more trainers come (wait_for).")


def test_two_of_one_process_that_hold_each_other_up_are_called_so(serve):
    serve("synthetic:1x64x64", samples=4096, memory="4MiB")
    lines: list[str] = []
    with bc.Consumer("s", 32, name="first") as first:
        batch = first.next()
        with bc.Consumer("s", 32, log=lambda level, text: lines.append(text)) as consumer:
            until = time.monotonic() + 60
            while time.monotonic() < until and not any("has waited" in line for line in lines):
                try:
                    consumer.next(timeout=3)
                except bc.Timeout:
                    pass
        del batch
    (line,) = [line for line in lines if "has waited" in line]
    assert "consumer `first` of this same process, which" in line
    assert "`with` or close()" in line and "between_epochs `let_go`" in line


def test_who_fetches_one_ahead_is_not_warned(serve):
    """As Accelerate's loaders do: a batch in use, and the next one."""
    serve("synthetic:1x64x64", samples=4096, memory="4MiB")
    lines = []
    with bc.Consumer("s", 32, log=lambda level, text: lines.append((level, text))) as consumer:
        for _ in range(2):
            kept = [consumer.next() for _ in range(2)]
            consumer.leave_epoch()
            for batch in kept:
                batch.check()
            del batch, kept
        assert [text for level, text in lines if level == "warning"] == []
        kept = [consumer.next() for _ in range(3)]
        consumer.leave_epoch()
    assert "keeps 3 batches" in [text for level, text in lines if level == "warning"][0]
    del kept
