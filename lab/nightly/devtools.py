"""Chromium by its DevTools protocol, with the standard library alone."""

import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path


class Browser:
    """A headless Chromium that can reach nobody."""

    def __init__(self, program="chromium"):
        self.profile = tempfile.mkdtemp(prefix="nightly-chromium-")
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
             "--host-resolver-rules=MAP * ~NOTFOUND", "--disable-component-update", "--no-first-run",
             "--disable-background-networking", f"--user-data-dir={self.profile}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port_file = Path(self.profile, "DevToolsActivePort")
        for _ in range(600):
            if port_file.exists() and port_file.read_text().strip():
                break
            time.sleep(0.1)
        self.port = int(port_file.read_text().splitlines()[0])

    def tab(self):
        ask = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(ask, timeout=60) as answer:
            return Tab(json.load(answer)["webSocketDebuggerUrl"])

    def close(self):
        self.process.terminate()
        self.process.wait(30)
        shutil.rmtree(self.profile, ignore_errors=True)


class Tab:
    """A page: `call` asks, `events` holds what it said meanwhile."""

    def __init__(self, url):
        host, path = url.removeprefix("ws://").split("/", 1)
        name, port = host.split(":")
        self.socket = socket.create_connection((name, int(port)), timeout=600)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\n"
                             f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
                             "Sec-WebSocket-Version: 13\r\n\r\n").encode())
        self.stream = self.socket.makefile("rb")
        while self.stream.readline().strip():
            pass
        self.number, self.events = 0, []

    def call(self, method, **parameters):
        self.number += 1
        self._send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = self._receive()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def wait(self, method):
        while not any(event["method"] == method for event in self.events):
            self.events.append(self._receive())

    def value(self, script):
        """The value of a script; a function's is called."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def press(self, key, code):
        for kind in ["rawKeyDown", "keyUp"]:
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                      nativeVirtualKeyCode=code)
            if key == "Enter" and kind == "rawKeyDown":
                self.call("Input.dispatchKeyEvent", type="char", key=key, text="\r", windowsVirtualKeyCode=code)

    def _send(self, text):
        data, mask = text.encode(), os.urandom(4)
        size = len(data)
        if size < 126:
            head = struct.pack("!BB", 0x81, 0x80 | size)
        elif size < 1 << 16:
            head = struct.pack("!BBH", 0x81, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", 0x81, 0x80 | 127, size)
        self.socket.sendall(head + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(data)))

    def _receive(self):
        text = b""
        while True:
            first, second = self._read(2)
            size = second & 127
            if size == 126:
                size, = struct.unpack("!H", self._read(2))
            elif size == 127:
                size, = struct.unpack("!Q", self._read(8))
            text += self._read(size)
            if first & 0x0f in (9, 10):
                text = b""
            elif first & 0x80:
                return json.loads(text)

    def _read(self, size):
        data = self.stream.read(size)
        if len(data) < size:
            raise RuntimeError("the browser ended")
        return data
