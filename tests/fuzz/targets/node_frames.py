"""Frames between a batch and its nodes; at a node the orders of runs, and the credentials of their requests."""

from __future__ import annotations

from typing import Any

import msgspec
import orjson

from agent.batch.cluster.node.node_requests import without_credentials
from agent.batch.cluster.node.node_runs import BAD_ORDER
from agent.batch.cluster.node.places import Places
from agent.batch.run.begin import encode_request
from agent.options import RunRequest
from tests.fuzz.target import Target, without_folder
from wire.batch import link, node_frames
from wire.batch.node_frames import FrameError, encode, from_node_reader, to_node_reader
from wire.batch.outcome import TaskStatus
from wire.batch.task import Task, encode_task

FRAMES = (
    node_frames.SetUp(
        node="n1", version="1", token="t", request=b"{}", folders=("/p",), repositories=(("/r", "abc"),),
        extensions=(node_frames.FolderExtensions("/p", (), (node_frames.ExtensionFact("a", "b", ""),)),), run_memory=1,
        models=(Task(id="a", prompt="-", provider="p"),), links=(("/l", "/up/l"),),
    ),
    node_frames.Start(run="1-1", begin=b"{}\n"),
    node_frames.Send(run="1-1", data=b"x\n"),
    node_frames.Read(run="1-1", is_on=False),
    node_frames.Kill(run="1-1"),
    node_frames.Grant(run="1-1", request="1-1.1"),
    node_frames.Withdraw(run="1-1", request="1-1.1"),
    node_frames.Ready(jobs=2, most_jobs=3, host="h", serving=b"{}"),
    node_frames.Refused(reasons=("r",)),
    node_frames.Told(run="1-1", line=link.encode(link.RunEnded(status=TaskStatus.OK))),
    node_frames.File(run="1-1", name="diffs/a.diff", data=b"x", is_first=True, is_last=True),
    node_frames.Exited(run="1-1", code=-9, cpu_s=0.5, rss_peak=1),
    node_frames.Memory(runs={"1-1": 1}, shared=2),
)  # fmt: skip
PLACES = Places(upload="/up", copy="/copy", standin="/tmp/s", cwd="/up/w", links=(("/l", "/up/l"),))


def some_frames() -> list[bytes]:
    return [*map(encode, FRAMES), b"".join(map(encode, FRAMES))]


def read(data: bytes, *cuts: int) -> tuple[list[Any], str]:
    """The frames of both kinds in the bytes, cut at these places, and the faults."""
    found: list[Any] = []
    faults = ""
    for reader in (to_node_reader(), from_node_reader()):
        try:
            for start, end in zip((0, *cuts), (*cuts, len(data)), strict=True):
                found += reader.feed(data[start:end])
        except FrameError as error:
            faults += str(error)
    return found, faults


@without_folder
def frames(data: bytes) -> None:
    """Each frame can be written again, or a fault says what is wrong; wherever the bytes are cut."""
    found, faults = whole = read(data)
    assert "\n" not in faults
    for frame in found:
        encode(frame)
    assert read(data, len(data) // 3, len(data) // 2) == whole


def some_orders() -> list[bytes]:
    task = Task(id="a", prompt="x", cwd="/up/p", files=("/up/f",), ext=("/up/e",), replay="/up/c", output_schema={})
    run = RunRequest(cwd="/up", extensions=("/up/e",), mcp_configs=("/m",), images=("/i",), output_schema="{}")
    begin = link.Begin(
        task=msgspec.Raw(encode_task(task).rstrip()), attempt=1, run="1-1", request=encode_request(run), token="t.1",
        version="1", workspace="/rundir/workspaces/a", base=link.WorktreeBase("/up", "abc", "/up/.git"),
    )  # fmt: skip
    return [link.encode(begin)]


@without_folder
def orders(data: bytes) -> None:
    """An order of a run can be read by the run, or not at all."""
    try:
        begin = link.decode_from_batch(data)
        if isinstance(begin, link.Begin):
            made = PLACES.with_host(PLACES.begin(begin, "t.n"), "/socket")
            assert link.decode_from_batch(link.encode(made)) == made
            assert made.workspace in ("", *[f"/tmp/s/workspaces/{begin.workspace.rpartition('/')[2]}"])
    except BAD_ORDER:
        pass


def some_configurations() -> list[bytes]:
    line = {
        "type": "configure",
        "provider": "anthropic",
        "api_key": "secret",
        "base_url": "https://me:secret@h/v1?k=secret",
    }
    return [orjson.dumps(line), orjson.dumps({**line, "api_key": None, "auth_token": "secret"})]


@without_folder
def configurations(data: bytes) -> None:
    """There is a JSON object."""
    assert isinstance(orjson.loads(without_credentials(data, "salt")), dict)


TARGETS = (
    Target("node_frames", some_frames, frames, in_suite=200),
    Target("node_orders", some_orders, orders, in_suite=200, share=0.5),
    Target("node_configurations", some_configurations, configurations, in_suite=200, share=0.5),
)
