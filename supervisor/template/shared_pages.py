"""Prepares the memory of a template so that its forks cost less. A fork shares all pages until it writes to one: that
copies the page, which takes longer than most of what the fork does with it.

Linux and CPython only; elsewhere, and where the kernel refuses, forks cost more and work as well.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from contextlib import suppress

MADV_COLLAPSE = 25
HUGE_PAGE = 2 << 20
"""Bytes of a huge page; of another size on few machines, where the kernel refuses these."""
LEAST_BLOCK = 48
"""Bytes of memory that the smallest `bytes` object takes, in whole blocks."""
BYTES_HEAD = 33
_CLASS = re.compile(rb"^ *\d+ +(\d+) +\d+ +\d+ +(\d+) *$", re.MULTILINE)
"""A line of `sys._debugmallocstats`: the size of a block, and how many are free in pools that are in use."""
_fillers: list[object] = []


def fill_holes() -> None:
    """Takes all free blocks between the objects that there are. The new objects of a fork then lie side by side in
    pages of their own, not in a hole here and there of a thousand shared pages."""
    for size, free in _free_blocks():
        if size >= LEAST_BLOCK:
            _fillers.append([bytes(size - BYTES_HEAD) for _ in range(free)])
        elif size == 32:
            _fillers.append([float(number) for number in range(free)])
        elif size == 16:
            _fillers.append([object() for _ in range(free)])


def _free_blocks() -> list[tuple[int, int]]:
    """The sizes of blocks, each with the number of holes."""
    try:
        file, stderr = os.memfd_create("malloc"), os.dup(2)
    except (OSError, AttributeError):
        return []
    try:
        os.dup2(file, 2)
        sys._debugmallocstats()
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        text = os.pread(file, 1 << 20, 0)
        os.close(file)
    return [(int(size), int(free)) for size, free in _CLASS.findall(text)]


def use_huge_pages() -> None:
    """Has the kernel gather the memory in huge pages: a fork copies one entry for each in place of 512. A fork that
    writes to one copies 4 KiB of it, as ever."""
    if sys.platform != "linux":
        return
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    with suppress(OSError), open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        for line in file.read().splitlines():
            area, access, _offset, _device, _inode, *name = line.split(maxsplit=5)
            if access.startswith("rw") and (not name or name[0] == "[heap]"):
                start, end = (int(address, 16) for address in area.split("-"))
                start, end = -(-start // HUGE_PAGE) * HUGE_PAGE, end // HUGE_PAGE * HUGE_PAGE
                if start < end:
                    advise(start, end - start, MADV_COLLAPSE)
