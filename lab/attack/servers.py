"""Hostile HTTP servers on a port of the loopback interface."""

import gzip
import json
import socket
import threading
import time

MODES = [
    "silent", "closes", "drips", "endless-body", "endless-headers", "gzip-bomb", "redirects", "wrong-length",
    "deep-json", "million-tasks", "million-copies", "forged-names", "escape-names", "binary", "not-found", "wrong-types",
]


class Listener:
    """A context in which `serve` is called with each connection, in a thread of its own; its value is the port."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.ends = False
        self.connections = 0

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self.port

    def __exit__(self, *_):
        self.ends = True
        self.socket.close()

    def accept(self):
        while not self.ends:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()


class Server(Listener):
    """A context whose value is the URL."""

    def __init__(self, mode, forged, escapes):
        super().__init__()
        self.mode, self.forged, self.escapes = mode, forged, escapes

    def __enter__(self):
        return f"http://127.0.0.1:{super().__enter__()}"

    def serve(self, connection):
        try:
            with connection:
                while True:
                    request = b""
                    while b"\r\n\r\n" not in request:
                        piece = connection.recv(4096)
                        if not piece:
                            return
                        request += piece
                    if not self.answer(connection, request.split(b" ")[1].decode("latin-1")):
                        return
        except OSError:
            pass

    def send_json(self, connection, value):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        return True

    def root(self, name="c", version="7.4.2"):
        return {"name": name, "cluster_name": name, "cluster_uuid": "u", "version": {"number": version, "build_flavor": "default"}, "tagline": "You Know, for Search"}

    def answer(self, connection, path):
        """Answers one request; whether the connection stays open."""
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        match self.mode:
            case "silent":
                time.sleep(60)
            case "closes":
                connection.sendall(head)
            case "drips":
                connection.sendall(head + b"Content-Length: 1000000\r\n\r\n")
                for _ in range(600):
                    connection.sendall(b" ")
                    time.sleep(0.1)
            case "endless-body":
                connection.sendall(head + b"\r\n{\"a\":\"")
                while not self.ends:
                    connection.sendall(b"x" * 65536)
            case "endless-headers":
                connection.sendall(b"HTTP/1.1 200 OK\r\n")
                while not self.ends:
                    connection.sendall(b"X-A: " + b"x" * 1000 + b"\r\n")
            case "gzip-bomb":
                body = gzip.compress(b" " * (300 << 20), 1)
                connection.sendall(head + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            case "redirects":
                to = f"http://127.0.0.1:{self.port}/x".encode()
                connection.sendall(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + to + b"\r\n\r\n")
                return True
            case "wrong-length":
                connection.sendall(head + b"Content-Length: 99999999999999999999\r\n\r\n{}")
            case "deep-json":
                return self.send_json(connection, b"[" * 1_000_000)
            case "binary":
                return self.send_json(connection, bytes(range(256)) * 100)
            case "not-found":
                text = f"no{self.escapes}{self.forged}".encode()
                connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
                return True
            case "wrong-types":
                return self.send_json(connection, {"version": 7, "cluster_name": [], "nodes": "x", "tasks": {"a": None}})
            case "million-tasks":
                if path == "/":
                    return self.send_json(connection, self.root())
                if "pending_tasks" not in path:
                    return self.send_json(connection, {"nodes": {}})
                # Each of a kind of its own.
                task = b'{"insert_order":1,"priority":"P%d","source":"put-x%d","time_in_queue_millis":9}'
                tasks = b",".join(task % (number, number) for number in range(1_000_000))
                return self.send_json(connection, b'{"tasks":[%s]}' % tasks)
            case "million-copies":
                # A desired balance, of a version that does not count copies itself.
                if path == "/":
                    return self.send_json(connection, self.root(version="8.11.0"))
                if "desired_balance" not in path:
                    return self.send_json(connection, {"nodes": {}})
                copies = b",".join([b'{"state":"STARTED","node_is_desired":false}'] * 100)
                shards = b",".join(b'"%d":{"current":[%s]}' % (number, copies) for number in range(10_000))
                stats = {"computation_active": True} | {f"computation_{what}": 2**64 - 1 for what in ["submitted", "executed", "converged"]}
                return self.send_json(connection, b'{"stats":%s,"routing_table":{"i":{%s}}}' % (json.dumps(stats).encode(), shards))
            case "forged-names" | "escape-names":
                text = self.forged if self.mode == "forged-names" else self.escapes
                if path == "/":
                    return self.send_json(connection, self.root(f"prod{text}"))
                node = {"name": f"n{text}", "version": f"7.4.2{text}", "roles": ["data", f"x{text}"], "host": f"h{text}", "ip": "127.0.0.1"}
                return self.send_json(connection, {"cluster_name": f"prod{text}", "status": f"green{text}", "nodes": {f"id{text}": node}})
        return False
