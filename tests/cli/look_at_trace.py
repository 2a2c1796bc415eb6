# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""look_at_trace.py FILE [BEFORE AFTER LATE]: whether a trace is whole, and spans of each track nest.

BEFORE and AFTER are what `ls --json` said right before and after it, LATE what it said a second later: seconds of the
stages agree.
"""
import collections
import json
import os
import sys

with open(sys.argv[1]) as file:
    trace = json.load(file)
assert os.path.getsize(sys.argv[1]) <= 100_000_000
names = {}
tracks = collections.defaultdict(list)
for event in trace["traceEvents"]:
    if event["ph"] == "M":
        names[event["name"], event["pid"], event["tid"]] = event["args"]["name"]
        continue
    assert event["ph"] == "X" and event["dur"] > 0 and event["ts"] >= 0, event
    tracks[event["pid"], event["tid"]].append(event)
for (process, thread), spans in tracks.items():
    assert ("process_name", process, 0) in names and ("thread_name", process, thread) in names
    open_until = []
    for span in sorted(spans, key=lambda span: (span["ts"], -span["dur"])):
        while open_until and open_until[-1] <= span["ts"] + 1e-3:
            open_until.pop()
        end = span["ts"] + span["dur"]
        assert not open_until or end <= open_until[-1] + 1e-3, (names["thread_name", process, thread], span)
        open_until.append(end)
if len(sys.argv) == 2:
    sys.exit()

first, last, late = (json.load(open(path))[0] for path in sys.argv[2:5])
assert {"worker 1", "worker 2", "quick", "slow"} <= set(names.values()), names


def seconds(*kinds):
    return sum(span["dur"] for spans in tracks.values() for span in spans if span["name"] in kinds) / 1e6


# Between the two looks there is more time than in the trace, in which each of two may have done the same. What
# each of two had begun before the trace is counted as a whole at its end, and is no span. What lasts at the second look
# is not counted yet, and is one.
traced_s = max(span["ts"] + span["dur"] for spans in tracks.values() for span in spans) / 1e6
outside_s = last["uptime_seconds"] - first["uptime_seconds"] - traced_s
assert outside_s > 0 and traced_s > 1, (outside_s, traced_s)


# Within the trace a worker's time is in no span where that had not ended, or where other processes had the processor
# between two spans.
of_workers_s = last["workers"] * traced_s
in_no_span_s = of_workers_s - seconds("making", "waiting")
assert in_no_span_s < of_workers_s / 4, (in_no_span_s, of_workers_s)


def workers_agree(what, key):
    """What workers say is old, by how much is not known; a second later it has all of the trace. No kind of span may
    have more time than that, and all of them together have the workers' whole time."""
    traced, most = seconds(what), late[key] - first[key]
    print(what, traced, most)
    assert traced <= most + 0.05, (what, traced, most)


def agrees(what, traced, grew, outside_s):
    begun_s = max((span["dur"] for spans in tracks.values() for span in spans if span["name"] == what), default=0) / 1e6
    print(what, traced, grew, outside_s, begun_s)
    before_and_after = 2 * (max(outside_s, 0) + begun_s) + 0.05
    assert grew - before_and_after <= traced <= grew + 2 * (max(-outside_s, 0) + begun_s) + 0.05, (what, traced, grew)


def grew_of(key):
    before_of = {one["id"]: one[key] for one in first["consumers"]}
    return sum(one[key] - before_of[one["id"]] for one in last["consumers"])


workers_agree("making", "making_seconds")
workers_agree("waiting", "waiting_seconds")
agrees("waits for samples", seconds("waits for samples"), grew_of("wait_seconds"), outside_s)
agrees("the ring waits for it", seconds("the ring waits for it"), grew_of("waited_for_seconds"), outside_s)
released = sum(span["args"]["released"] for spans in tracks.values() for span in spans if span["name"] == "step")
assert 0 < released <= grew_of("samples") + 2 * 32, released
