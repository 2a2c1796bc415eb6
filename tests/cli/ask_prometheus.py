# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""ask_prometheus.py PORT DASHBOARD: asks a Prometheus at 127.0.0.1 what it scraped of the stream `images`, and each
expression of the Grafana dashboard."""
import json
import sys
import time
import urllib.parse
import urllib.request

port, dashboard = sys.argv[1:]
failures = []


def ask(expression):
    """The series that the expression gives, as {labels: value}; None where it is refused or nothing answers."""
    query = urllib.parse.urlencode({"query": expression})
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{query}", timeout=10) as answer:
            told = json.load(answer)
    except OSError:
        return None
    if told["data"]["resultType"] == "scalar":
        return {(): float(told["data"]["result"][1])}
    return {tuple(sorted(one["metric"].items())): float(one["value"][1]) for one in told["data"]["result"]}


def until(what, expression, holds, seconds=60):
    end = time.monotonic() + seconds
    while True:
        found = ask(expression)
        if found and holds(found):
            return found
        if time.monotonic() > end:
            failures.append(f"{what}: `{expression}` gives {found}")
            return {}
        time.sleep(0.2)


until("the exporter is scraped", 'up{job="batchcast"}', lambda found: list(found.values()) == [1])
until("the stream is up", 'batchcast_stream_up{stream="images"}', lambda found: list(found.values()) == [1])
until("samples are made", "rate(batchcast_samples_total[10s])", lambda found: min(found.values()) > 0)
until(
    "two consumers have names, the third is other",
    "count(batchcast_consumer_samples_total) == 3",
    lambda found: 'other' in str(ask("batchcast_consumer_samples_total")),
)
until("time has a limiter", "sum(rate(batchcast_limited_seconds_total[10s]))", lambda found: min(found.values()) > 0.5)
until(
    "what consumers had is what the stream delivered",
    "sum(batchcast_consumer_samples_total) / sum(batchcast_delivered_samples_total)",
    lambda found: abs(min(found.values()) - 1) < 1e-6,
)

count = 0
for panel in json.load(open(dashboard))["panels"]:
    for target in panel["targets"]:
        expression = target["expr"].replace("$stream", ".*").replace("$__rate_interval", "10s")
        until(f"panel `{panel['title']}`", expression, lambda found: True, 20)
        count += 1
print(f"{count} expressions of the dashboard")
for failure in failures:
    print("FAILED:", failure)
sys.exit(1 if failures or count == 0 else 0)
