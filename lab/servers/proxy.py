#!/usr/bin/env python3
"""A loopback proxy in front of a cluster: adds TLS and credentials, and injects faults requested in the URL.

    proxy.py URL [--certificate FILE] [--credentials FILE] [--keep DIR] [--root]

It prints its own URL and exits at the end of its standard input. Requests are forwarded, and the
server's responses returned.

- --certificate: a PEM file with key and certificate; without it the proxy speaks plain HTTP.
- --credentials: a file whose first line is USER:PASSWORD. Requests without them (Basic) get 401.
- --keep: stores each response with status 200 there by page, for the tests that replay them.
- --root: answers `GET /` out of the node's own information, as the module rest-root does, which Elasticsearch's
  archives for integration tests lack since 8.0.

The base path /PAGE=FAULT (several separated by commas; `all` is every page) makes that page fail.
The page names are those of crates/cluster/tests/it/play.rs. Faults:

    500, 503 ...   this status, with a body like that of the servers
    slow           the response, one second late
    silence        no response, as long as the client waits
    drip           one byte of the response per second
    half           half of the response, then the connection is closed
    half-json      half of the response, declared as complete
    gigabyte       1 GiB of JSON that begins like the response
"""

import argparse
import base64
import hmac
import http.server
import json
import pathlib
import re
import ssl
import sys
import threading
import time
import urllib.error
import urllib.request

PAGES = {
    "/": "root",
    "/_cluster/health": "health",
    "/_cluster/pending_tasks": "pending_tasks",
    "/_cluster/settings": "settings",
    "/_internal/desired_balance": "desired_balance",
}
GIGABYTE = 1 << 30


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
    sys.exit(f"unknown page: {target}")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body, length=None):
        self.send_response(status)
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="cluster"')
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def complain(self, status, kind, reason):
        body = {"error": {"root_cause": [], "type": kind, "reason": reason}, "status": status}
        self.answer(status, json.dumps(body).encode())

    def wait_for_client(self):
        """Waits until the client disconnects."""
        self.connection.settimeout(None)
        try:
            while self.connection.recv(4096):
                pass
        except OSError:
            pass
        self.close_connection = True

    def in_trouble(self, trouble, status, body):
        if trouble is None or trouble == "slow":
            time.sleep(1 if trouble else 0)
            self.answer(status, body)
        elif trouble.isdigit():
            self.complain(int(trouble), "made_up_exception", "as it was asked for")
        elif trouble == "silence":
            self.wait_for_client()
        elif trouble == "drip":
            self.answer(status, b"", len(body))
            for byte in body:
                self.wfile.write(bytes([byte]))
                time.sleep(1)
        elif trouble == "half":
            self.answer(status, body[: len(body) // 2], len(body))
            self.close_connection = True
        elif trouble == "half-json":
            self.answer(status, body[: len(body) // 2])
        elif trouble == "gigabyte":
            # Appends a member to the real response's object, so that the parser has to read all of it.
            start, end = body.rstrip()[:-1] + b', "more": "', b'"}'
            self.answer(status, start, GIGABYTE)
            left = GIGABYTE - len(start) - len(end)
            piece = b"x" * (1 << 20)
            while left:
                self.wfile.write(piece[:left])
                left -= min(left, len(piece))
            self.wfile.write(end)
        else:
            sys.exit(f"unknown fault: {trouble}")

    def upstream(self, target):
        try:
            with urllib.request.urlopen(self.server.upstream + target) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def root(self):
        answer = json.loads(self.upstream("/_nodes/_local/none")[1])
        node = next(iter(answer["nodes"].values()))
        version = {
            "number": node["version"],
            "build_flavor": node["build_flavor"],
            "build_type": node["build_type"],
            "build_hash": node["build_hash"],
            "build_snapshot": False,
        }
        body = {
            "name": node["name"],
            "cluster_name": answer["cluster_name"],
            "version": version,
            "tagline": "You Know, for Search",
        }
        return json.dumps(body).encode()

    def do_GET(self):
        wanted = self.server.authorization
        if wanted and not hmac.compare_digest(self.headers.get("Authorization", ""), wanted):
            self.complain(401, "security_exception", "missing or wrong credentials")
            return
        base, troubles = re.match(r"((?:/[a-z_]+=[^/]*)?)(?=/)", self.path)[0], {}
        if base:
            troubles = dict(each.split("=") for each in base[1:].split(","))
        target = self.path[len(base) :]
        if target == "/" and self.server.answers_root:
            status, body = 200, self.root()
        else:
            status, body = self.upstream(target)
        if status == 200 and self.server.directory:
            (self.server.directory / page(target)).write_bytes(body)
        trouble = troubles.get(page(target), troubles.get("all")) if troubles else None
        try:
            self.in_trouble(trouble, status, body)
        except OSError:
            # The client has closed the connection.
            self.close_connection = True

    def forward(self):
        """Forwards a request that is no question, without faults."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kept = {name: self.headers[name] for name in ("Content-Type", "Accept") if self.headers[name]}
        request = urllib.request.Request(self.server.upstream + self.path, body or None, kept, method=self.command)
        try:
            with urllib.request.urlopen(request) as answer:
                self.answer(answer.status, answer.read())
        except urllib.error.HTTPError as error:
            self.answer(error.code, error.read())

    do_POST = do_PUT = do_DELETE = forward

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def finish_request(self, request, client_address):
        # Here rather than in accept(), so that a stalled handshake does not block other clients.
        if self.tls:
            try:
                request = self.tls.wrap_socket(request, server_side=True)
            except OSError:
                return
        try:
            super().finish_request(request, client_address)
        finally:
            if self.tls:
                request.close()


def main():
    options = argparse.ArgumentParser()
    options.add_argument("url")
    options.add_argument("--certificate")
    options.add_argument("--credentials", type=pathlib.Path)
    options.add_argument("--keep", type=pathlib.Path)
    options.add_argument("--root", action="store_true")
    options = options.parse_args()
    server = Server(("127.0.0.1", 0), Handler)
    server.upstream = options.url
    server.directory = options.keep
    server.answers_root = options.root
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    server.authorization = None
    if options.credentials:
        line = options.credentials.read_text(encoding="utf-8").split("\n")[0]
        server.authorization = "Basic " + base64.b64encode(line.encode()).decode()
    server.tls = None
    if options.certificate:
        server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.tls.load_cert_chain(options.certificate)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    scheme = "https" if server.tls else "http"
    print(f"{scheme}://127.0.0.1:{server.server_address[1]}", flush=True)
    sys.stdin.read()


main()
