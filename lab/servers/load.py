#!/usr/bin/env python3
"""Writes to and searches an index continuously until SIGTERM, and verifies every response.

    load.py URL INDEX LOG

LOG gets a line for every operation: start and end (seconds since the epoch), kind, and "ok" or the
error. The last line printed is a summary in JSON: the number of documents that the server
acknowledged, and the sum of their field `n`.

- Each document is indexed and immediately read back by id: it must be the same.
- A search must cover every shard and find at least what was acknowledged before the last refresh.
- Frequent refreshes and flushes cause files to be written, synced, merged and deleted all the time.
"""

import http.client
import json
import signal
import sys
import threading
import time
import urllib.parse

REFRESH_EVERY = 10
FLUSH_EVERY = 40
PATIENCE_S = 60

server = urllib.parse.urlsplit(sys.argv[1])
index = sys.argv[2]
log = open(sys.argv[3], "a", buffering=1, encoding="utf-8")
log_lock = threading.Lock()
stop = threading.Event()
# Documents that every search from now on must find.
visible = 0
totals = {"documents": 0, "sum": 0, "operations": 0, "failures": 0}


class Wrong(Exception):
    pass


def ask(connection, method, path, body=None):
    text = None if body is None else json.dumps(body)
    connection.request(method, f"/{index}{path}", text, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    data = answer.read()
    if answer.status not in (200, 201):
        raise Wrong(f"status {answer.status}: {data[:200]!r}")
    return json.loads(data)


def operation(connection, kind, work):
    """Runs and logs one operation; returns True if it succeeded."""
    began = time.time()
    try:
        work(connection)
        outcome = "ok"
    except (Wrong, OSError, http.client.HTTPException, ValueError, KeyError) as error:
        outcome = f"{type(error).__name__}: {error}".replace("\n", " ")
        connection.close()
    with log_lock:
        log.write(f"{began:.6f} {time.time():.6f} {kind} {outcome}\n")
        totals["operations"] += 1
        totals["failures"] += outcome != "ok"
    return outcome == "ok"


def check_shards(answer):
    if answer["_shards"]["failed"] != 0:
        raise Wrong(f"failed shards: {answer['_shards']}")


def write(connection):
    global visible
    number = 0
    while not stop.is_set():
        number += 1
        document = {"n": number, "text": f"document {number} " + "lorem ipsum " * 50}

        def put(connection):
            answer = ask(connection, "PUT", f"/_doc/{number}", document)
            if answer["result"] != "created":
                raise Wrong(f"not created: {answer}")

        def get(connection):
            if ask(connection, "GET", f"/_doc/{number}")["_source"] != document:
                raise Wrong(f"document {number} differs")

        def refresh(connection):
            check_shards(ask(connection, "POST", "/_refresh"))

        def flush(connection):
            check_shards(ask(connection, "POST", "/_flush?force=true&wait_if_ongoing=true"))

        if operation(connection, "index", put):
            totals["documents"] += 1
            totals["sum"] += number
        operation(connection, "get", get)
        if number % REFRESH_EVERY == 0 and operation(connection, "refresh", refresh):
            visible = totals["documents"]
        if number % FLUSH_EVERY == 0:
            operation(connection, "flush", flush)
        stop.wait(0.01)


def search(connection):
    query = {
        "size": 1,
        "query": {"match": {"text": "lorem"}},
        "aggs": {"documents": {"value_count": {"field": "n"}}},
    }

    def find(connection):
        wanted = visible
        answer = ask(connection, "POST", "/_search", query)
        check_shards(answer)
        if answer["timed_out"]:
            raise Wrong("the search timed out")
        found = answer["aggregations"]["documents"]["value"]
        if found < wanted:
            raise Wrong(f"{found} documents found, expected {wanted}")

    while not stop.is_set():
        operation(connection, "search", find)
        stop.wait(0.02)


def main():
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    threads = []
    for work in (write, search):
        connection = http.client.HTTPConnection(server.hostname, server.port, timeout=PATIENCE_S)
        threads.append(threading.Thread(target=work, args=(connection,)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(totals))


main()
