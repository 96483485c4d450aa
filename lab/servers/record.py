#!/usr/bin/env python3
"""Passes GETs on to a cluster and keeps each answer, by page, for the tests that play them back.

    record.py URL DIR      prints its own URL; ends when its standard input does

Only answers with status 200 are kept. The names are those of crates/cluster/tests/it/play.rs.
"""

import http.server
import pathlib
import sys
import threading
import urllib.error
import urllib.request

PAGES = {
    "/": "root",
    "/_cluster/health": "health",
    "/_cluster/pending_tasks": "pending_tasks",
    "/_cluster/settings": "settings",
}


def page(target):
    path, _, query = target.partition("?")
    if path in PAGES:
        return PAGES[path]
    if path.startswith("/_cluster/state/"):
        return "state"
    if path.startswith("/_nodes/stats/"):
        return "node_stats"
    if path.endswith("/hot_threads"):
        return "hot_threads"
    if path.startswith("/_nodes/"):
        return "nodes"
    if path.startswith("/_all/_settings/"):
        return "closed" if "expand_wildcards=closed" in query else "open"
    sys.exit(f"a page that nobody knows: {target}")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        try:
            with urllib.request.urlopen(self.server.upstream + self.path) as answer:
                status, body = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, body = error.code, error.read()
        if status == 200:
            (self.server.directory / page(self.path)).write_bytes(body)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


upstream, directory = sys.argv[1:]
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.upstream = upstream
server.directory = pathlib.Path(directory)
server.directory.mkdir(parents=True, exist_ok=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
sys.stdin.read()
