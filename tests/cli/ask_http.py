# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""ask_http.py PORT PATH [TOKEN [METHOD [HOST]]]: one request to 127.0.0.1. The body goes to stdout, the status and
the headers, one a line, to stderr."""
import http.client
import sys

port, path, token, method, host = (sys.argv[1:] + ["", "", "", ""])[:5]
connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=20)
connection.putrequest(method or "GET", path, skip_host=bool(host))
if host:
    connection.putheader("Host", host)
if token:
    connection.putheader("Authorization", "Bearer " + token)
if method == "POST":
    connection.putheader("Content-Length", "2")
connection.endheaders(b"{}" if method == "POST" else None)
answer = connection.getresponse()
print(answer.status, *(f"{name}: {value}" for name, value in answer.getheaders()), sep="\n", file=sys.stderr)
sys.stdout.buffer.write(answer.read())
