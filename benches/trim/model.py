"""An nbdkit plugin that simulates the timing of a disk.

    nbdkit -U SOCKET -t 32 python model.py file=IMAGE model=fifo|fixed|parallel [log=FILE]

Requests are served in the order of their arrival by one server (`fifo`, `fixed`) or by whichever of
eight is free first (`parallel`); a request waits for its server and keeps it for its cost:

    read        0.1 ms + bytes at 1 GB/s
    write       0.05 ms + bytes at 1 GB/s
    discard     fifo, parallel: 1 ms + bytes at 300 MB/s;  fixed: 50 ms whatever its size

Not a model of any real drive: it shows whether a trim notices that others wait, and gives way.
"""
import builtins
import ctypes
import os
import threading
import time

import nbdkit

API_VERSION = 2
FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE = 1, 2
libc = ctypes.CDLL(None, use_errno=True)
given = {"model": "fifo", "log": os.devnull}
lock = threading.Lock()


def config(key, value):
    given[key] = value


def config_complete():
    global image, log, free_at
    image = os.open(given["file"], os.O_RDWR)
    log = builtins.open(given["log"], "a", buffering=1)
    if given["model"] not in ("fifo", "fixed", "parallel"):
        raise ValueError(f"model={given['model']}: fifo, fixed or parallel")
    free_at = [0.0] * (8 if given["model"] == "parallel" else 1)


def thread_model():
    return nbdkit.THREAD_MODEL_PARALLEL


def serve(cost_s):
    """Waits for a server and then for as long as the request takes."""
    now = time.monotonic()
    with lock:
        server = min(range(len(free_at)), key=free_at.__getitem__)
        free_at[server] = max(now, free_at[server]) + cost_s
        done = free_at[server]
    time.sleep(max(0, done - time.monotonic()))


def open(readonly):
    return 1


def get_size(handle):
    return os.fstat(image).st_size


def can_write(handle):
    return True


def can_trim(handle):
    return True


def can_zero(handle):
    return True


def can_flush(handle):
    return True


def can_fua(handle):
    return nbdkit.FUA_NATIVE


def can_multi_conn(handle):
    return True


def pread(handle, buffer, offset, flags):
    serve(1e-4 + len(buffer) / 1e9)
    os.preadv(image, [buffer], offset)


def pwrite(handle, buffer, offset, flags):
    serve(5e-5 + len(buffer) / 1e9)
    os.pwrite(image, buffer, offset)


def flush(handle, flags):
    pass


def punch(count, offset):
    mode = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE
    if libc.fallocate(image, mode, ctypes.c_long(offset), ctypes.c_long(count)):
        raise OSError(ctypes.get_errno(), "fallocate")


def zero(handle, count, offset, flags):
    serve(5e-5)
    punch(count, offset)


def trim(handle, count, offset, flags):
    began = time.time()
    serve(0.05 if given["model"] == "fixed" else 1e-3 + count / 300e6)
    punch(count, offset)
    log.write(f"{began:.3f} {offset} {count} {(time.time() - began) * 1e3:.1f} ms\n")
