"""Memory that the machine has used before.

A virtual machine that was started a moment ago gets each page from its host when it is first touched: 0.9 to
3 s a GiB were measured, 0.06 (huge pages) to 0.6 (small ones) ever after. A measurement in memory of either
kind, by chance, compares nothing; so all of what may be needed is touched once, whoever is measured first.

Some give what was freed back to their host within seconds (free page reporting); then nothing can be kept ready
for a run that takes its memory later, and what a growing log costs is the host's price: the warning says so.
`--log-reserve` has it paid in MPI_Init.
"""

from __future__ import annotations

import mmap
import time

STEP = 2 << 20
# What is left to others, and for the page cache.
SHARE = 0.75


def available() -> int:
    """Bytes that can be had without swapping; 0 if nobody knows."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    return 0


def touch(size: int) -> float:
    """Takes memory, writes to all of it and gives it back: seconds."""
    zeroes = bytes(STEP)
    begin = time.monotonic()
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        if hasattr(mmap, "MADV_HUGEPAGE"):
            memory.madvise(mmap.MADV_HUGEPAGE)
        for at in range(0, size, STEP):
            memory[at:at + STEP] = zeroes
    return time.monotonic() - begin


def touch_available() -> str:
    """Touches most of what is available and gives it back; says what it cost."""
    size = int(available() * SHARE) // STEP * STEP
    if not size:
        return "memory was not touched before: nobody says how much there is"
    seconds = touch(size)
    said = f"{size / 2**30:.1f} GiB of memory were touched once, {seconds / (size / 2**30):.2f} s a GiB"
    time.sleep(5)
    sample = min(size, 1 << 30)
    again = touch(sample) / (sample / 2**30)
    if again > 0.4:
        said += f"; five seconds later {again:.2f} again: this machine gives freed memory back to its host"
    return said
