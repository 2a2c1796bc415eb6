# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: numpy torch-2.11
"""Trainers that outlive their stream's producer."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time

import numpy as np
import pytest

import batchcast as bc
import support

SHAPE = "synthetic:3x8x8"


def test_a_consumer_goes_on_with_the_next_producer(serve, tmp_path):
    wanted = support.dump(SHAPE, 0, 600, tmp_path, samples=200, seed=3)
    options = dict(samples=200, seed=3, memory="1MiB", ahead=0)
    served = serve(SHAPE, **options)
    with bc.Consumer("s", 64) as consumer:
        at = 0
        for epoch in range(3):
            for number, batch in enumerate(consumer):
                assert batch.size == (64 if number < 3 else 8)
                np.testing.assert_array_equal(batch["image"], wanted["image"][at : at + batch.size])
                at += batch.size
                if number == 1:
                    served.kill()
                    served = serve(SHAPE, **options)
        assert at == 600
        assert consumer.stats.samples == 600


def test_arrays_of_a_dead_producers_ring_stay(serve, tmp_path):
    wanted = support.dump(SHAPE, 0, 200, tmp_path, samples=200)["image"]
    served = serve(SHAPE, samples=200, memory="1MiB")
    with bc.Consumer("s", 50) as consumer:
        arrays = [batch["image"] for batch in itertools.islice(consumer, 4)]
        served.kill()
        while consumer.cursor % 1_000 and consumer.next(timeout=0.1) is not None:
            pass
        with pytest.raises(bc.Timeout):
            while True:
                consumer.next(timeout=0.1)
        np.testing.assert_array_equal(np.concatenate(arrays), wanted)
        serve(SHAPE, samples=200, memory="1MiB")
        consumer.next()
        np.testing.assert_array_equal(np.concatenate(arrays), wanted)


def test_errors_instead(serve):
    served = serve("synthetic:1", samples=64, memory="1MiB", wait_for=2)
    with bc.Consumer("s", 64, on_producer_gone="error") as consumer:
        served.kill()
        with pytest.raises(bc.ProducerGone, match="`s`"):
            consumer.next()
    with pytest.raises(bc.InvalidArgument, match="on_producer_gone"):
        bc.Consumer("s", 64, on_producer_gone="wiat")


def next_or_none(consumer):
    try:
        return consumer.next()
    except bc.ProducerGone:
        return None


def test_a_wait_has_an_end_and_a_reason(serve):
    served = serve("synthetic:1", samples=64, memory="1MiB", wait_for=2)
    told = []
    with bc.Consumer(
        "s", 64, name="t", gone_timeout=0.8, log=lambda level, text: told.append((level, text))
    ) as consumer:
        served.kill()
        with pytest.raises(bc.ProducerGone, match=r"within 0\.8 s \(gone_timeout\)"):
            consumer.next()
        warning = next(text for level, text in told if level == "warning")
        assert "`t` waits 0.8 s for the next one" in warning
        assert "Start the producer again" in warning
        with pytest.raises(bc.Timeout):
            consumer.next(timeout=0.05)
        serve("synthetic:1", samples=64, memory="1MiB")
        while (batch := next_or_none(consumer)) is None:
            pass  # it takes longer than that to start
        assert batch.size == 64
        assert "goes on at position 0" in told[-1][1]


def test_a_loop_goes_on_after_producer_gone(serve):
    served = serve("synthetic:1", samples=64, memory="1MiB", wait_for=2)
    with bc.Consumer("s", 64, gone_timeout=0.2, log=lambda *words: None) as consumer:
        loop = iter(consumer)
        served.kill()
        for _ in range(2):
            with pytest.raises(bc.ProducerGone):
                next(loop)
        serve("synthetic:1", samples=64, memory="1MiB")
        while (batch := next_of(loop)) is None:
            pass  # it takes longer than that to start
        assert (batch.position, batch.size) == (0, 64)
        assert next(loop, None) is None  # its epoch is over


def next_of(loop):
    try:
        return next(loop)
    except bc.ProducerGone:
        return None


def test_a_loop_says_each_time_that_its_producer_is_gone(serve):
    served = serve("synthetic:1", samples=64, memory="1MiB", wait_for=2)
    with bc.Consumer("s", 64, on_producer_gone="error") as consumer:
        loop = iter(consumer)
        served.kill()
        for _ in range(2):
            with pytest.raises(bc.ProducerGone):
                next(loop)


def test_a_trainer_with_start_starts_the_next_producer(directory):
    start = bc.Start("synthetic:1", idle_exit=5, arguments=["--samples", "64"])
    with bc.Consumer("s", 64, start=start) as consumer:
        consumer.next()
        first = int((directory / "s" / "lock").read_text())
        os.kill(first, signal.SIGKILL)
        at = 64

        def goes_on():
            nonlocal at
            if (batch := consumer.next()) is not None:
                assert batch.position == at
                at += 64
            lock = directory / "s" / "lock"
            return lock.exists() and lock.read_text().strip() not in ("", str(first))

        support.until(goes_on)
        for _ in range(200):  # all that the first one can have published, and more
            goes_on()


def test_ctrl_c_ends_the_wait(serve, child):
    served = serve("synthetic:1", samples=64, memory="1MiB", wait_for=2)
    process = child(
        """
import batchcast as bc
c = bc.Consumer("s", 64, log=lambda *words: None)
print("ready")
try:
    c.next()
except KeyboardInterrupt:
    print("interrupted", c.cursor, flush=True)
    print(c.next().size, c.cursor)
"""
    )
    assert process.line() == "ready"
    served.kill()
    time.sleep(0.3)
    support.until(lambda: support.sleeps(process.pid))
    process.interrupt()
    assert process.line() == "interrupted 0"
    serve("synthetic:1", samples=64, memory="1MiB")
    assert process.line() == "64 64"
    assert process.finish() == (0, "", "")


def test_a_forked_child_is_no_trainer(serve, child):
    served = serve("synthetic:1", samples=64, memory="1MiB", wait_for=2)
    process = child(
        """
import batchcast as bc, os
c = bc.Consumer("s", 64, log=lambda *words: None)
print("ready")
try:
    c.next(timeout=1)
except bc.Timeout:
    pass
pid = os.fork()  # while it waits for the next producer
if pid == 0:
    try:
        c.next()
    except bc.Forked:
        print("forked", flush=True)
    del c
    os._exit(0)
os.waitpid(pid, 0)
print(c.next().size)
"""
    )
    assert process.line() == "ready"
    served.kill()
    assert process.line() == "forked"
    serve("synthetic:1", samples=64, memory="1MiB")
    assert process.line() == "64"
    assert process.finish() == (0, "", "")


def test_other_threads_run_meanwhile(serve):
    served = serve("synthetic:1", samples=64, memory="1MiB", wait_for=2)
    with bc.Consumer("s", 64, log=lambda *words: None) as consumer:
        served.kill()
        waits = threading.Thread(target=lambda: consumer.next())
        waits.start()
        support.until(lambda: support.is_in_a_call(consumer))
        for _ in range(1_000):
            time.sleep(0)
        assert waits.is_alive()
        serve("synthetic:1", samples=64, memory="1MiB")
        waits.join()
        assert consumer.cursor == 64
