# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: numpy torch-1.13
"""Ctrl-C, wherever a consumer waits, and what other threads do meanwhile."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

import batchcast as bc
import support

WAITS = """
import batchcast as bc, os, time

def attach(stream="s", **options):
    return bc.Consumer(stream, 64, **options)

# A command that does not come to an end.
command = os.environ["BATCHCAST_DIR"] + "/slow"
with open(command, "w") as script:
    script.write("#!/bin/sh\\nexec sleep 60\\n")
os.chmod(command, 0o700)

def loop(consumer):
    for batch in consumer:
        pass

def next_epoch_of_a_rank():
    consumer = attach(group="whole:0/1")
    consumer.leave_epoch()
    return consumer.has_next_epoch

waits = {
    "next": lambda: attach().next,
    "next with a time-out": lambda: lambda mine=attach(): mine.next(timeout=60),
    "a loop": lambda: lambda mine=attach(): loop(mine),
    "next of copies": lambda: attach(access="private").next,
    "next of a consumer that let go": lambda: attach(between_epochs="let_go").next,
    "whether an epoch follows": next_epoch_of_a_rank,
    "attaching without a stream": lambda: lambda: attach("none"),
    "attaching without a stream, for ever": lambda: lambda: attach("none", connect_timeout=None),
    "attaching to a silent producer": lambda: lambda: attach("silent"),
    "a group that forms": lambda: lambda: attach(group="forms:0/2"),
    "a start": lambda: lambda: attach("none", start=bc.Start("synthetic:1", command=command)),
}
for name, prepare in waits.items():
    wait = prepare()
    print(name)
    try:
        wait()
        print("came to an end")
    except KeyboardInterrupt:
        print(time.monotonic())
    del wait
print("all")
"""


def test_ctrl_c_ends_every_wait(serve, child):
    serve("synthetic:1", wait_for=20)  # no sample comes
    silent = serve("synthetic:1", stream="silent")
    support.until(lambda: "silent" in os.listdir(os.environ["BATCHCAST_DIR"]))
    bc.Consumer("silent").close()
    silent.process.send_signal(signal.SIGSTOP)
    process = child(WAITS)
    delays = {}
    while (name := process.line()) != "all":
        assert name, process.finish()
        support.until(lambda: support.sleeps(process.pid))
        # A moment later it may sleep for another reason; in the wait it sleeps again and again.
        time.sleep(0.02)
        watch = support.Stopwatch(process.pid)
        process.interrupt()
        delays[name] = watch.seconds(float(process.line()))
    assert len(delays) == 11
    assert max(delays.values()) < 0.2, delays
    assert process.finish() == (0, "", "")


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

            def interrupt():
                support.until(lambda: support.is_in_a_call(consumer))
                signal.pthread_kill(main, signal.SIGUSR1)

            interrupts = threading.Thread(target=interrupt)
            interrupts.start()
            with pytest.raises(InterruptedError):
                consumer.next()
            interrupts.join()
        finally:
            signal.signal(signal.SIGUSR1, before)
    assert seen == [0, 0, 0]


def test_other_threads_run_while_a_consumer_waits(serve):
    serve("synthetic:1", wait_for=2)
    with bc.Consumer("s", 64) as consumer:
        waits = threading.Thread(target=lambda: consumer.next())
        waits.start()
        support.until(lambda: support.is_in_a_call(consumer))
        for _ in range(1_000):
            time.sleep(0)  # lets go of the GIL, and gets it again
        assert waits.is_alive() and support.is_in_a_call(consumer)
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
