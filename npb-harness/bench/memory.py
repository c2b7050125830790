"""Touches the machine's memory before measurements.

A new virtual machine gets each page from its host at the first touch. The first touch of a GiB took 0.9 to 3 s, every
later one 0.06 s (huge pages) to 0.6 s (small pages). A measurement that mixes both kinds of memory compares nothing. So
all memory that may be needed is touched once before the first measurement.

Some machines give freed memory back to their host within seconds (free page reporting). Then no memory can be kept
ready for a later run, and a growing log pays the host's price. The warning says so. `--log-reserve` moves this cost to
MPI_Init."""

from __future__ import annotations

import mmap
import time

STEP = 2 << 20
# Memory that is left to other programs and the page cache.
SHARE = 0.75


def available() -> int:
    """Bytes that are available without swapping. 0 if unknown."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    return 0


def touch(size: int) -> float:
    """Takes memory, writes to all of it and frees it. Returns the seconds."""
    zeroes = bytes(STEP)
    begin = time.monotonic()
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        if hasattr(mmap, "MADV_HUGEPAGE"):
            memory.madvise(mmap.MADV_HUGEPAGE)
        for at in range(0, size, STEP):
            memory[at:at + STEP] = zeroes
    return time.monotonic() - begin


def touch_available() -> str:
    """Touches most of the available memory and frees it. Returns a sentence with the cost."""
    size = int(available() * SHARE) // STEP * STEP
    if not size:
        return "memory was not touched before: its size is unknown"
    seconds = touch(size)
    sentence = f"{size / 2**30:.1f} GiB of memory were touched once, {seconds / (size / 2**30):.2f} s a GiB"
    time.sleep(5)
    sample = min(size, 1 << 30)
    again = touch(sample) / (sample / 2**30)
    if again > 0.4:
        sentence += f"; five seconds later {again:.2f} again: this machine gives freed memory back to its host"
    return sentence
