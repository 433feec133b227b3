"""A bad line between two network namespaces: two taps, and frames that are late, slow and sometimes lost.

line.py NAMESPACE NAMESPACE DELAY_MS LOSS_PER_MILLION MBIT_PER_SECOND. Each end is the interface `far0`. The words `cut`
and `mend` on the standard input cut the line and mend it; its end ends the line.
"""

import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import sys
import time

TUNSETIFF = 0x400454CA
TAP_WITHOUT_HEADER = 0x0002 | 0x1000
NETWORK_NAMESPACE = 0x40000000
# More than this in the line, and a router drops.
LONGEST_QUEUE = 0.3


def end(namespace):
    """A tap in a network namespace."""
    descriptor = os.open("/run/netns/" + namespace, os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, NETWORK_NAMESPACE) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    os.close(descriptor)
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH", b"far0", TAP_WITHOUT_HEADER))
    return tap


def main():
    ends = [end(name) for name in sys.argv[1:3]]
    delay, loss, rate = float(sys.argv[3]) / 1000, float(sys.argv[4]) / 1e6, float(sys.argv[5]) * 1e6 / 8
    print("ready", flush=True)
    free, waiting, number, is_cut = [0.0, 0.0], [], 0, False
    while True:
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, _, side, frame = heapq.heappop(waiting)
            try:
                os.write(ends[1 - side], frame)
            except OSError:
                pass
        wait = max(0.0, waiting[0][0] - now) if waiting else None
        readable, _, _ = select.select(ends + [0], [], [], wait)
        now = time.monotonic()
        if 0 in readable:
            words = os.read(0, 100)
            if not words:
                return
            is_cut = b"cut" in words
            waiting.clear()
        for side, tap in enumerate(ends):
            if tap not in readable:
                continue
            for _ in range(64):
                try:
                    frame = os.read(tap, 65536)
                except BlockingIOError:
                    break
                leaves = max(now, free[side]) + len(frame) / rate
                if is_cut or leaves - now > LONGEST_QUEUE or random.random() < loss:
                    continue
                free[side] = leaves
                number += 1
                heapq.heappush(waiting, (leaves + delay, number, side, frame))


main()
