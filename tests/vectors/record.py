"""Writes the conformance vectors from the examples: `python -m tests.vectors.record [NAME...]`.

Each example is started, its scripts are played, and what was really said becomes `tests/vectors/NAME.jsonl`. With
`--check` nothing is written: it says which files are out of date, and exits 1 if there are any.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from supervisor.harness.comparison import ANY
from supervisor.harness.harness import Harness
from supervisor.harness.messages import hello_ack
from supervisor.harness.script import Side, read_script, write_line
from supervisor.harness.script_runner import find_extension, play

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples" / "extensions"
NEEDS_JQ = {"hello", "rate-limiter"}


class Source(NamedTuple):
    """A script of an example, and the vector that it becomes."""

    folder: Path
    script: Path
    vector: Path


class VectorError(Exception):
    """The example does not say what its script expects, or says something that no vector can hold."""


def sources() -> list[Source]:
    """`tests/conversation.jsonl` of NAME becomes `NAME.jsonl`; another script, `NAME.SCRIPT.jsonl`. The Go
    examples have none: they are compared with the vectors of their twins in other languages."""
    found = []
    folders = [folder for folder in sorted(EXAMPLES.iterdir()) if not (folder / "go.mod").exists()]
    for folder in [*folders, HERE / "everything"]:
        for script in sorted((folder / "tests").glob("*.jsonl")):
            name = folder.name if script.stem == "conversation" else f"{folder.name}.{script.stem}"
            found.append(Source(folder, script, HERE / f"{name}.jsonl"))
    return found


def lacks(folder: Path) -> str:
    """The programs that this machine lacks to run it; empty if it has all."""
    manifest = find_extension(folder).manifest
    needed = ["jq"] if folder.name in NEEDS_JQ else []
    if "/" not in manifest.exec:
        needed.append(manifest.exec)
    return " and ".join(f"no {program}" for program in needed if shutil.which(program) is None)


def vector_of(source: Source) -> bytes:
    """The conversation in the order of the script, whatever the timing was: the greeting, then each line of the script,
    the extension's as it was really said, then the end. Raises `VectorError`."""
    script = read_script(source.script)
    with Harness() as room:
        outcome = play(room, find_extension(source.folder), script)
    if outcome.failure is not None:
        raise VectorError("\n".join([f"{source.script}:", *outcome.failure.lines(), *outcome.stderr]))
    heard = [said.frame for said in outcome.said if said.side is Side.EXTENSION and said.frame is not None]
    expected = sum(1 for step in script.steps if step.side is Side.EXTENSION)
    greeting, answers = heard[: len(heard) - expected - 1], iter(heard[len(heard) - expected - 1 : -1])
    places = outcome.places
    ack = places.hide(hello_ack(places))
    about = {"title": script.about.title, "example": source.folder.name}
    lines = [
        msgspec.json.encode({"about": about}) + b"\n",
        write_line(Side.EXTENSION, greeting[0], places),
        write_line(Side.HOST, ack),
        *(write_line(Side.EXTENSION, frame, places) for frame in greeting[1:]),
    ]
    for step in script.steps:
        if step.side is Side.HOST:
            lines.append(write_line(Side.HOST, step.frame))
        else:
            lines.append(write_line(Side.EXTENSION, settled(step.frame, places.hide(next(answers)))))
    lines += [write_line(Side.HOST, {"type": "shutdown"}), write_line(Side.EXTENSION, heard[-1], places)]
    return b"".join(lines)


def settled(expected: Any, said: Any) -> Any:
    """`said` with `${any}` where the script has it: there the text differs each time."""
    if isinstance(expected, str) and ANY in expected:
        if not isinstance(said, str):
            raise VectorError(f"{ANY} stands for {said!r}, which is no text: a vector could not be valid")
        return expected
    if isinstance(expected, dict) and isinstance(said, dict):
        return {name: settled(expected.get(name), value) for name, value in said.items()}
    if isinstance(expected, list) and isinstance(said, list):
        return [settled(wanted, heard) for wanted, heard in zip(expected, said, strict=True)]
    return said


def main(arguments: list[str]) -> int:
    names = {name for name in arguments if not name.startswith("-")}
    status = 0
    for source in sources():
        if names and source.folder.name not in names:
            continue
        if missing := lacks(source.folder):
            print(f"left alone  {source.vector.name}: {missing}")
            continue
        fresh = vector_of(source)
        if source.vector.exists() and source.vector.read_bytes() == fresh:
            print(f"up to date  {source.vector.name}")
        elif "--check" in arguments:
            print(f"OUT OF DATE {source.vector.name}: run python -m tests.vectors.record {source.folder.name}")
            status = 1
        else:
            source.vector.write_bytes(fresh)
            print(f"written     {source.vector.name}")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
