#!/usr/bin/env python3
"""A server that takes 2 ms to answer and stalls for 100 ms each second, on a port of loopback, which it prints."""

import asyncio
import time

PERIOD_S = 1.0
STALL_S = 0.1
SERVICE_S = 0.002
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"


async def answer(reader, writer):
    try:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            into_s = time.monotonic() % PERIOD_S
            await asyncio.sleep(max(SERVICE_S, STALL_S - into_s))
            writer.write(ANSWER)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
