# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Ctrl-C, wherever a consumer waits, and what other threads do meanwhile."""

from __future__ import annotations

import signal
import threading
import time

import pytest

import batchcast as bc
import support

CALLS = {
    "next": ("synthetic:1", "c = attach()", "c.next()"),
    "next with a time-out": ("synthetic:1", "c = attach()", "c.next(timeout=60)"),
    "a loop": ("synthetic:1", "c = attach()", "for batch in c: pass"),
    "next of copies": ("synthetic:1", "c = attach(access='private')", "c.next()"),
    "next of a consumer that let go": (
        "synthetic:1",
        "c = attach(between_epochs='let_go')",
        "c.next()",
    ),
    "has_next_epoch of a rank": (
        "synthetic:1",
        "c = attach(group='g:0/1'); c.leave_epoch()",
        "c.has_next_epoch()",
    ),
    "attaching without a stream": (None, "", "attach()"),
    "attaching without a stream, for ever": (None, "", "attach(connect_timeout=None)"),
    "a group that forms": ("synthetic:1", "", "attach(group='g:0/2')"),
    "a start": (
        None,
        # A command that does not come to an end.
        "import os, stat; command = os.environ['BATCHCAST_DIR'] + '/slow'\n"
        "open(command, 'w').write('#!/bin/sh\\nexec sleep 60\\n'); os.chmod(command, 0o700)",
        "attach(start=bc.Start('synthetic:1', command=command))",
    ),
}


@pytest.mark.parametrize("what", CALLS)
def test_ctrl_c_ends(serve, child, what):
    source, before, call = CALLS[what]
    if source is not None:
        serve(source, wait_for=3)  # no sample comes
    process = child(
        f"""
import batchcast as bc, time
def attach(**options):
    return bc.Consumer("s", 64, **options)
{before}
print("ready")
try:
    {call}
except KeyboardInterrupt:
    print(time.monotonic())
"""
    )
    assert process.line() == "ready", process.finish()
    support.until(lambda: support.sleeps(process.pid))
    sent = time.monotonic()
    process.interrupt()
    line = process.line()
    assert line, process.finish()
    assert float(line) - sent < 0.2
    code, out, err = process.finish()
    assert (code, out, err) == (0, "", "")


def test_a_consumer_goes_on_after_ctrl_c(serve, child):
    serve("synthetic:1", samples=64, epochs=1, wait_for=2)
    process = child(
        """
import batchcast as bc
c = bc.Consumer("s", 64)
print("ready")
try:
    c.next()
except KeyboardInterrupt:
    print("interrupted", c.cursor)
    input()
    print([batch.position for batch in c])
"""
    )
    assert process.line() == "ready"
    support.until(lambda: support.sleeps(process.pid))
    process.interrupt()
    assert process.line() == "interrupted 0"
    with bc.Consumer("s", 64):
        process.tell()
        assert process.line() == "[0]"


def test_a_signal_handler_may_look_at_the_consumer_that_waits(serve):
    serve("synthetic:1", wait_for=2)
    seen = []
    with bc.Consumer("s", 64) as consumer:

        def handler(number, frame):
            seen.append(consumer.cursor)
            seen.append(consumer.checkpoint()["cursor"])
            seen.append(consumer.stats.samples)
            for change in (consumer.close, consumer.next, consumer.leave_epoch):
                with pytest.raises(bc.InvalidArgument, match="only be looked at"):
                    change()
            raise InterruptedError

        before = signal.signal(signal.SIGUSR1, handler)
        try:
            main = threading.main_thread().ident
            threading.Timer(0.02, lambda: signal.pthread_kill(main, signal.SIGUSR1)).start()
            with pytest.raises(InterruptedError):
                consumer.next()
        finally:
            signal.signal(signal.SIGUSR1, before)
    assert seen == [0, 0, 0]


def test_other_threads_run_while_a_consumer_waits(serve):
    serve("synthetic:1", wait_for=2)
    with bc.Consumer("s", 64) as consumer:
        counted = 0
        waits = threading.Thread(target=lambda: consumer.next())
        waits.start()
        deadline = time.monotonic() + 0.1
        while time.monotonic() < deadline:
            counted += 1
        assert counted > 1_000 and waits.is_alive()
        with pytest.raises(bc.InvalidArgument, match="another thread is in a call"):
            consumer.next()
        for use in (consumer.close, lambda: consumer.cursor, lambda: consumer.newest(1)):
            with pytest.raises(bc.InvalidArgument, match="another thread"):
                use()
        with bc.Consumer("s", 64):  # the second of those that the stream waits for
            waits.join()


def test_threads_that_fight_for_a_consumer_end_in_errors_at_worst(serve):
    serve("synthetic:1", samples=6400, epochs=0)
    positions: list[int] = []
    refused = []
    with bc.Consumer("s", 1) as consumer:

        def take():
            for _ in range(300):
                try:
                    batch = consumer.next()
                    if batch is not None:
                        positions.append(batch.position)
                except bc.InvalidArgument as error:
                    refused.append(error)

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(positions) == list(range(len(positions)))
    assert len(positions) + len(refused) <= 1200
