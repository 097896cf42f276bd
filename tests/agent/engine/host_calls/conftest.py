"""Headless runs in this process, with extensions that want something from the agent."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from agent.headless import Headless
from agent.options import Options
from tests.support import calling_dialect
from tests.support.scripted_model import ScriptedModel
from wire import events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@dataclass
class Ran:
    result: events.Result
    records: list[events.Record]
    stderr: str
    model: ScriptedModel
    headless: Headless
    notes: list[Any] = field(init=False)
    """The messages of the extensions' notes, read as JSON."""

    def __post_init__(self) -> None:
        self.notes = [json.loads(record.message) for record in self.of(events.ExtNotify)]

    def of(self, kind: type) -> list[Any]:
        return [record for record in self.records if isinstance(record, kind)]

    @property
    def users(self) -> list[tuple[str, str]]:
        """The sender of each prompt (empty: the user) and the first text in it."""
        return [
            ("" if message.extension is events.msgspec.UNSET else message.extension, message.content[0].text)
            for message in self.of(events.UserMessage)
        ]

    def warnings(self, extension: str) -> list[str]:
        return [
            record.message
            for record in self.of(events.Extension)
            if record.extension == extension and record.event == "warning"
        ]


@pytest.fixture(autouse=True)
def dialect() -> Iterator[None]:
    with calling_dialect.known():
        yield


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Ran]:
    def headless(
        *replies: Any,
        prompt: str = "go",
        programs: dict[str, str],
        seen: Any = None,
        may_end: bool = False,
        **options: Any,
    ) -> Ran:
        folders = [str(calling_dialect.caller(tmp_path, name, program)) for name, program in programs.items()]
        (tmp_path / "project").mkdir(exist_ok=True)
        records: list[events.Record] = []
        model = ScriptedModel(*replies)
        made: list[Headless] = []

        def on_record(record: events.Record) -> None:
            records.append(record)
            if seen is not None:
                seen(made[0], record)

        given = {
            "cwd": str(tmp_path / "project"), "home": tmp_path / "home", "model": "m", "reply_tokens": 100,
            "system": "s", "discover": False, "extensions": tuple(folders), **options,
        }  # fmt: skip
        with open(tmp_path / "stderr", "w+b") as stderr:
            run = Headless(
                Options(**given),
                version="1",
                make_provider=lambda _loop: model,
                readers=(on_record,),
                owns_process=False,
                stderr=stderr.fileno(),
            )
            made.append(run)
            result = run.run(prompt)
            stderr.seek(0)
            ran = Ran(result, records, stderr.read().decode(), model, run)
            faults = ("failed", "exited", "no_verdict")
            assert may_end or not [each for each in ran.of(events.Extension) if each.event in faults]
            return ran

    return headless
