"""Provokes messages about sessions."""

from __future__ import annotations

import fcntl
import json
from typing import TYPE_CHECKING

from tests.support.situations.stage import Stage, situation

if TYPE_CHECKING:
    from pathlib import Path


def kept(stage: Stage) -> Path:
    """The session of a run."""
    stage.answered()
    (path,) = (stage.zot.home / "sessions").glob("*/*.jsonl")
    return path


def spoilt(stage: Stage) -> Path:
    """A session with a line that cannot be read."""
    path = kept(stage)
    with path.open("a") as file:
        file.write("{\n")
    return path


def session(stage: Stage, *words: str | Path) -> str:
    return stage.zot.run("session", *words).stderr


@situation("zot: there is no session of … to resume: …")
def nothing_to_go_on_with(stage: Stage) -> str:
    return stage.answered("-c").stderr


@situation("zot: …: another run uses this session; …")
def two_runs(stage: Stage) -> str:
    with kept(stage).open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return stage.answered("-c").stderr


@situation("zot: …: this line cannot be read and is skipped: …")
def going_on_with_a_spoilt_one(stage: Stage) -> str:
    spoilt(stage)
    return stage.answered("-c").stderr


@situation("zot: the session is no longer recorded: …")
def no_folder(stage: Stage) -> str:
    stage.zot.home.mkdir(exist_ok=True)
    (stage.zot.home / "sessions").write_text("a file")
    return stage.answered().stderr


@situation("zot session …: '3a3e' may be …; give more of it, or the path")
def short_id(stage: Stage) -> str:
    folder = kept(stage).parent
    for number in (1, 2):
        meta = {"type": "meta", "meta": {"id": f"3a3e000{number}", "cwd": str(stage.zot.cwd)}}
        (folder / f"{number}.jsonl").write_text(json.dumps(meta) + "\n")
    return session(stage, "show", "3a3e")


@situation("zot session …: …: no session: it has neither a … row nor messages")
def no_session(stage: Stage) -> str:
    return session(stage, "show", stage.file("notes.jsonl", "{}\n"))


@situation("zot session rm: …: in use: a run writes to it; stop that run first")
def removed_while_in_use(stage: Stage) -> str:
    path = kept(stage)
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return session(stage, "rm", "--yes", path)


@situation("zot: … is there already; --force replaces it (see zot session export --help)")
def exported_twice(stage: Stage) -> str:
    return session(stage, "export", kept(stage), "-o", stage.file("page.html", "mine"))


@situation("… lines of the session file cannot be read and are skipped: …")
def showing_a_spoilt_one(stage: Stage) -> str:
    path = spoilt(stage)
    with path.open("a") as file:
        file.write("{\n")
    return stage.zot.run("session", "show", path).text
