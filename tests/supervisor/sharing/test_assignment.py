"""Which extensions a run takes from its host, row by row."""

from __future__ import annotations

import os
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest
from msgspec import Raw
from msgspec.structs import replace

from supervisor.discovery.found_extension import FoundExtension, ProjectCopy, Scope
from supervisor.sharing.assignment import NEVER_STALLED, Assignment, Terms, assign
from supervisor.sharing.offers import describe, granted_values
from wire.dialects.attach import PROTOCOL, Attached, Offered
from wire.manifest import Manifest, parse_manifest
from wire.settings.mcp_file import parse_mcp

if TYPE_CHECKING:
    from collections.abc import Mapping

PLACE = "/extensions/one"
CWD = "/project"
SALT = "salt"
ENVIRON = {"A_TOKEN": "secret", "B": "b"}


def manifest(name: str = "one", **fields: Any) -> Manifest:
    return parse_manifest(msgspec.json.encode({"name": name, "exec": "x", "sessions": "shared", **fields}))


def found(place: str = PLACE, scope: Scope = Scope.GLOBAL, **fields: Any) -> FoundExtension:
    return FoundExtension(Path(place), manifest(**fields), scope)


def offered(at: FoundExtension | None = None, **fields: Any) -> Offered:
    at = at or found()
    made = Offered(
        at.manifest.name,
        "shared",
        at.scope.recorded,
        os.path.realpath(at.folder),
        Raw(msgspec.json.encode(at.manifest)),
        describe(at),
        granted=granted_values(at, ENVIRON, SALT),
    )
    return replace(made, **fields)


def decided(
    mine: FoundExtension | None, offer: Offered, *, environ: dict[str, str] | None = None, **terms: Any
) -> Assignment:
    attached = Attached(PROTOCOL, "1.0", 7, CWD, SALT, (offer,))
    given = Terms(**{"cwd": CWD, **terms})
    return assign([] if mine is None else [mine], attached, given, ENVIRON if environ is None else environ)


class Row(NamedTuple):
    mine: FoundExtension | None
    offer: Offered
    hosted: bool
    said: str = ""
    refused: str = ""
    terms: Mapping[str, Any] = MappingProxyType({})


PROJECT = found(scope=Scope.PROJECT)
CHANGED = "its files have changed since the host started it"
OTHER = "its manifest is another one than the host has started"
ROWS = {
    "the same": Row(found(), offered(), True),
    "the host's alone": Row(None, offered(), True),
    "the host's alone with --no-ext": Row(
        None, offered(), False, "shares nothing with this run", terms={"discovers": False}
    ),
    "found with --no-ext": Row(found(), offered(), True, terms={"discovers": False}),
    "private at the host": Row(
        found(),
        offered(sessions="private", why="as it is"),
        False,
        "host 7 shares nothing with this run (one: as it is)",
    ),
    "in another folder": Row(
        found("/mine/one"), offered(), False, f"extension one: this run's own is used, not that of host 7 ({PLACE})"
    ),
    "of this project": Row(PROJECT, offered(PROJECT), True),
    "of another project": Row(
        None,
        offered(PROJECT),
        False,
        "host 7 works in /project: 1 extension of that project (one) not shared with /else",
        terms={"cwd": "/else"},
    ),
    "of another project, and found": Row(
        PROJECT,
        offered(PROJECT),
        False,
        "1 extension of that project (one) not shared with /else",
        terms={"cwd": "/else"},
    ),
    "of the original of a copied project": Row(
        found("/copy/one", scope=Scope.PROJECT),
        offered(found("/project/one", scope=Scope.PROJECT)),
        True,
        terms={"cwd": "/copy", "copy": ProjectCopy("/copy", "/project")},
    ),
    "with changed files": Row(found(), offered(is_changed=True), False, refused=f"extension one: {CHANGED}"),
    "with another manifest": Row(found(args=["new"]), offered(), False, refused=f"extension one: {OTHER}"),
    "with changed files and --host-version": Row(
        found(), offered(is_changed=True), True, terms={"takes_host_version": True}
    ),
    "with another manifest and --host-version": Row(
        found(args=["new"]), offered(), True, terms={"takes_host_version": True}
    ),
    "with changed files at a host that nobody named": Row(
        found(), offered(is_changed=True), False, f"extension one: {CHANGED}", terms={"is_asked_for": False}
    ),
    "another number of sessions is no other extension": Row(found(sessions="private", start="lazy"), offered(), True),
}


@pytest.mark.parametrize("name", ROWS)
def test_an_extension_is_taken_or_started(name: str) -> None:
    row = ROWS[name]
    made = decided(row.mine, row.offer, **row.terms)
    assert [each.name for each in made.hosted] == ["one"] * row.hosted
    assert made.private == (() if row.hosted or row.mine is None else (row.mine,))
    assert row.said in "\n".join(made.lines)
    assert bool(made.lines) is bool(row.said)
    assert row.refused in made.refusal
    assert bool(made.refusal) is bool(row.refused)
    if row.refused:
        assert made.refusal.startswith("host 7 runs another version: ")
        assert made.refusal.endswith("; run zot ext reload NAME --host 7, or add --host-version to use the host's")
    if row.hosted:
        assert made.hosted[0].own is row.mine


def test_variables_that_differ_or_are_missing_there_are_named_without_their_values() -> None:
    mine = found(env=["A_TOKEN", "B", "C"])
    offer = offered(mine)
    assert decided(mine, offer).lines == ()
    made = decided(mine, offer, environ={"A_TOKEN": "another", "B": "b", "C": "new"})
    assert made.lines == ("extension one: A_TOKEN, C differ from those of host 7, which count",)
    assert len(made.hosted) == 1
    assert "secret" not in repr(offer)
    assert decided(mine, offer, environ={}).lines == ()


def test_the_host_keeps_what_concerns_the_process() -> None:
    mine = found(
        workers=3, watchdog_s=1, restart={"max": 9}, limits={"rss_mb": 5}, on_failure="deny", priority=4, required=True,
        timeouts={"intercept": 2},
    )  # fmt: skip
    (hosted,) = decided(mine, offered(mine)).hosted
    known = hosted.found.manifest
    assert (known.workers, known.watchdog_s, known.stall_after, known.limits.rss_mb) == (1, None, NEVER_STALLED, None)
    assert known.restart.policy == "temporary"
    assert (known.on_failure, known.priority, known.required, known.timeouts.intercept) == ("deny", 4, True, 2)
    assert hosted.found.order == mine.order


def test_an_entry_of_an_mcp_file_is_known_by_its_file_and_name() -> None:
    def server(file: str, command: str = "x") -> FoundExtension:
        (entry,) = parse_mcp(b'{"mcpServers": {"desk": {"command": "%s"}}}' % command.encode()).entries
        fields = msgspec.convert({**entry.manifest_fields, "dialect": "mcp"}, Manifest)
        return FoundExtension(Path("/project"), fields, Scope.GLOBAL, mcp_file=Path(file), mcp_entry=entry)

    def offer(of: FoundExtension) -> Offered:
        return replace(offered(of), folder=f"{of.mcp_file}/{of.manifest.name}")

    mine = server("/home/mcp.json")
    assert decided(mine, offer(mine)).hosted[0].own is mine
    assert decided(mine, offer(server("/other/mcp.json"))).private == (mine,)
    assert OTHER in decided(mine, offer(server("/home/mcp.json", "y"))).refusal


def test_two_refusals_are_one_line() -> None:
    two = found("/extensions/two", name="two")
    attached = Attached(PROTOCOL, "1.0", 7, CWD, SALT, (offered(is_changed=True), offered(two, is_changed=True)))
    made = assign([found(), two], attached, Terms(CWD), ENVIRON)
    assert made.refusal.count(CHANGED) == 2
    assert "\n" not in made.refusal
