"""Profiles: the answer of an inspector, which an extension's process writes, and the file of py-spy."""

from __future__ import annotations

import orjson

from supervisor.profile.errors import ProfileError
from supervisor.profile.speedscope import decode, encode, from_node, hot_spots
from tests.fuzz import seeds
from tests.fuzz.target import Target, without_folder

NODE = {
    "nodes": [
        {"id": 1, "callFrame": {"functionName": "(root)", "url": "", "lineNumber": -1}, "children": [2, 3]},
        {"id": 2, "callFrame": {"functionName": "(idle)", "url": "", "lineNumber": -1}},
        {"id": 3, "callFrame": {"functionName": "", "url": "file:///e/main.js", "lineNumber": 6}, "children": [4]},
        {"id": 4, "callFrame": {"functionName": "spin", "url": "node:fs", "lineNumber": 2}},
    ],
    "startTime": 1000, "endTime": 8000, "samples": [2, 4, 4, 3], "timeDeltas": [1000, 2000, 1000, 2000],
}  # fmt: skip
FILE = {
    "shared": {"frames": [{"name": "main", "file": "/e/main.py", "line": 9}, {"name": "spin"}]},
    "profiles": [
        {"type": "sampled", "name": 'Thread 7 "MainThread"', "samples": [[0, 1], [0], []], "weights": [0.5, 1, 1]}
    ],
}


@without_folder
def inspector_profiles(data: bytes) -> None:
    """An answer becomes a file that can be read again, or is refused."""
    try:
        made = from_node(orjson.loads(data), "node")
    except (orjson.JSONDecodeError, ProfileError):
        return
    assert decode(encode(made)) == made
    assert len(hot_spots(made, {}, 1.0)) <= 5


@without_folder
def py_spy_files(data: bytes) -> None:
    """A file has hot spots, or is refused."""
    try:
        made = decode(data)
    except ProfileError:
        return
    assert len(hot_spots(made, {7: 0.5}, 2.0)) <= 5


TARGETS = (
    Target("inspector_profiles", lambda: [seeds.as_line(NODE)], inspector_profiles, 600, share=0.3),
    Target("py_spy_files", lambda: [seeds.as_line(FILE)], py_spy_files, 600, share=0.3),
)
