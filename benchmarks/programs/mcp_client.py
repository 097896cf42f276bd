"""The official client of Python with MCP servers on stdio. It starts ARGV COUNT times, gets the tools of all of them,
and prints one line of JSON: the seconds that took, its own CPU seconds meanwhile, its memory (RSS) in bytes, its pid,
and the pids of the servers. Then it reads a number of calls from stdin, calls tool `echo` of the first server that
often, and writes the nanoseconds of each as a `uint64`; again and again, until the end of its input.

argv: COUNT ARGV…
"""

import array
import asyncio
import json
import os
import sys
import time
from pathlib import Path

import mcp  # type: ignore[import-not-found, unused-ignore]

TEXT = "git status --short && git diff --stat"


def rss():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def servers():
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


async def connected(parameters, ready, over):
    async with mcp.Client(parameters, mode="legacy") as client:
        await client.list_tools()
        ready.put_nowait(client)
        await over.wait()


async def answer(client):
    clock = time.perf_counter_ns
    for line in sys.stdin:
        samples = array.array("Q")
        for _ in range(int(line)):
            start = clock()
            result = await client.call_tool("echo", {"text": TEXT})
            samples.append(clock() - start)
            assert not result.is_error
        sys.stdout.buffer.write(samples.tobytes())
        sys.stdout.buffer.flush()


async def main():
    count, *argv = sys.argv[1:]
    parameters = mcp.StdioServerParameters(command=argv[0], args=argv[1:])
    ready, over = asyncio.Queue(), asyncio.Event()
    began, cpu = time.perf_counter(), time.process_time()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(int(count)):
            tasks.create_task(connected(parameters, ready, over))
        clients = [await ready.get() for _ in range(int(count))]
        taken = {"ready_s": time.perf_counter() - began, "cpu_s": time.process_time() - cpu, "rss": rss()}
        print(json.dumps({**taken, "pid": os.getpid(), "servers": servers()}), flush=True)
        await answer(clients[0])
        over.set()


asyncio.run(main())
