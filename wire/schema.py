"""JSON Schemas of all messages and of the manifest, generated from their definitions.

`python -m wire.schema` writes them to `wire/schemas`. With `--check` it names the schemas that are out of date, and
exits with 1 if there are any.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Union

import msgspec

from wire import control, events, frames, stats
from wire.batch import control as batch_control
from wire.batch import journal_lines, records
from wire.batch.outcome import Outcome
from wire.batch.task import Task
from wire.dialects import attach
from wire.manifest import Manifest
from wire.rpc import ext_lines, requests, responses, sessions
from wire.settings.mcp_server import McpFormat
from wire.settings.models_file import ModelsFile
from wire.traces import black_box
from wire.traces.alert import Alert
from wire.traces.incident import Incident

FOLDER = Path(__file__).with_name("schemas")
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def definitions() -> dict[str, tuple[Any, str]]:
    """The type and the title of every published schema, by its name."""
    found: dict[str, tuple[Any, str]] = {
        "manifest": (Manifest, "extension.json"),
        "mcp": (McpFormat, ".mcp.json and mcp.json: MCP servers"),
        "models": (ModelsFile, "models.json: the user's models and providers"),
    }
    for direction, union in (("from-extension", frames.FromExtension), ("from-host", frames.FromHost)):
        found[f"frame.{direction}"] = (union, f"any frame {direction.replace('-', ' ')}")
        for cls in union.__args__:
            published, _ = found.setdefault(f"frame.{_tag(cls)}", (cls, f"frame {_tag(cls)}"))
            if published is not cls:  # both sides say a frame of this type
                found[f"frame.{_tag(cls)}.{direction}"] = (cls, f"frame {_tag(cls)} {direction.replace('-', ' ')}")
    found["event"] = (events.AnyRecord, "any record of the event stream")
    for cls in events.AnyRecord.__args__:
        found[f"event.{_tag(cls)}"] = (cls, f"record {_tag(cls)}")
    found["result"] = found["event.result"]
    found["stats"] = (stats.StatsLine, "any line of a stats file")
    found["alert"] = (Alert, "what a rule of on_event in config.json gets")
    found["incident"] = (Incident, "any line of zot events --json")
    found["black_box"] = (black_box.BoxLine, "any line of a black box")
    found["control.request"] = (control.Request, "any line that a client of the control socket says")
    found["control.reply"] = (control.Reply, "any line that a host says on its control socket")
    found["attach.run"] = (attach.FromRun, "any line of a run on the attach socket of a host")
    found["attach.host"] = (attach.FromHost, "any line of a host on its attach socket")
    any_request: Any = Union[tuple(requests.COMMANDS.values())]  # noqa: UP007  (of a table)
    found["rpc.request"] = (any_request, "any line that a client of zot rpc says")
    found["rpc.ext"] = (ext_lines.ExtLine, "any line of zot rpc to an extension in the client program")
    found["rpc.response"] = (responses.Response[Any], "response of zot rpc; data as in rpc.response.COMMAND")
    found["session"] = (sessions.Session, "any line of zot session list --json")
    found["session.branch"] = (sessions.Branch, "any line of zot session tree --json")
    found["session.found"] = (sessions.Found, "any line of zot session search --json")
    found["session.export"] = (sessions.Export, "a session as JSON: zot session export --format json")
    found["batch.task"] = (Task, "any line of a tasks file of zot batch")
    found["batch.journal"] = (journal_lines.AnyLine, "any line of a batch's journal, without its checksum")
    found["batch.result"] = (Outcome, "any line of zot batch results: how a task ended")
    found["batch.control.request"] = (batch_control.Request, "any line of zot batch ctl to a running batch")
    found["batch.control.reply"] = (batch_control.Reply, "any line of a running batch to zot batch ctl")
    found["batch.record"] = (records.AnyRecord, "any record of zot batch --json that is not of a run")
    for command, request in requests.COMMANDS.items():
        kind: Any = responses.Response[request.data]  # type: ignore[name-defined]
        found[f"rpc.response.{command}"] = (kind, f"response to {command}")
    return found


def generate(name: str) -> dict[str, Any]:
    """One schema. Raises `KeyError` for a name that is not published."""
    kind, title = definitions()[name]
    return {"$schema": DIALECT, "title": title, **msgspec.json.schema(kind, schema_hook=_any_json)}


def render(name: str) -> str:
    """The text of a schema file. Raises `KeyError` for a name that is not published."""
    return json.dumps(generate(name), indent=2, ensure_ascii=False, sort_keys=False) + "\n"


def stale() -> list[str]:
    """Names of the schema files that differ from the definitions, are missing, or should not exist."""
    wanted = {f"{name}.json": render(name) for name in definitions()}
    present = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
    return sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name))


def _tag(cls: Any) -> str:
    return str(cls.__struct_config__.tag)


def _any_json(kind: type) -> dict[str, Any]:
    if kind is msgspec.Raw:
        return {}
    raise NotImplementedError(kind)


def main(arguments: list[str]) -> int:
    if "--check" in arguments:
        outdated = stale()
        for name in outdated:
            print(f"wire/schemas/{name} is out of date: run python -m wire.schema", file=sys.stderr)  # noqa: T201
        return 1 if outdated else 0
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.json"):
        path.unlink()
    for name in definitions():
        (FOLDER / f"{name}.json").write_text(render(name), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
