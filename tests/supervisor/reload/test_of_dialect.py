"""The plan for each extension of a reload that the agent has asked for, decided from what was found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from supervisor.discovery.discover import DISABLED, Discovery
from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.discovery.skipped_extension import SkipCause, SkippedExtension, SkipReason
from supervisor.reload.plan import Keep, KnownExtension, Plan, Replace, Skip, Start, Stop, plan_dialect
from wire.manifest import parse_manifest

PARENT = Path("/project/extensions")
USERS = Path("/home/extensions")


def found(name: str, parent: Path = PARENT, dialect: str = "mcp", scope: Scope = Scope.PROJECT) -> FoundExtension:
    fields: dict[str, Any] = {"name": name, "exec": "x", "dialect": dialect}
    return FoundExtension(parent / name, parse_manifest(json.dumps(fields).encode()), scope)


def plans(
    known: list[FoundExtension],
    discovered: list[FoundExtension],
    skipped: list[SkippedExtension] | None = None,
    held: dict[str, str] | None = None,
) -> dict[str, Plan]:
    made = plan_dialect(
        "mcp",
        [KnownExtension(each) for each in known],
        Discovery(tuple(discovered), tuple(skipped or ())),
        parents=(PARENT, USERS),
        held=held or {},
    )
    assert len({name for name, _ in made}) == len(made)
    return dict(made)


def test_only_extensions_of_the_dialect_get_a_plan():
    one, other, new, new_other = found("one"), found("other", dialect="zot"), found("new"), found("n2", dialect="zot")
    assert plans([one, other], [one, other, new, new_other]) == {"one": Replace(one), "new": Start(new)}
    assert plans([other], []) == {}
    assert plans([other], [], [SkippedExtension(other.folder / "x", SkipReason("bad"))]) == {}


@pytest.mark.parametrize("why", [SkipReason("never seen", SkipCause.NEVER_SEEN), SkipReason("read manifest: nothing")])
def test_a_version_that_may_not_run_replaces_nothing_and_lets_no_other_in(why: SkipReason):
    running = found("guard")
    skipped = SkippedExtension(running.folder, why, untrusted=running if why.is_waiting else None)
    kept = Keep("not trusted (never seen)" if why.is_waiting else "read manifest: nothing", why.is_waiting)
    assert plans([running], [], [skipped]) == {"guard": kept}
    users = found("guard", USERS, scope=Scope.GLOBAL)
    assert plans([running], [users], [skipped]) == {"guard": kept}, "trusted, but not what runs"


@pytest.mark.parametrize("how", ["gone", "disabled"])
def test_what_guards_is_not_stopped(how: str):
    guard, tool = found("guard"), found("tool")
    skipped = (
        [SkippedExtension(each.folder, DISABLED, is_error=False) for each in (guard, tool)] if how == "disabled" else []
    )
    made = plans([guard, tool], [], skipped, held={"guard": "it guards tool_call"})
    why = "its folder is gone" if how == "gone" else "it is disabled"
    assert made == {
        "guard": Keep(f"{why}, but it guards tool_call: only a person may stop it"),
        "tool": Stop(why),
    }


def test_what_a_person_has_stopped_is_neither_started_nor_complained_about():
    guard = found("guard")
    known = [KnownExtension(guard, is_stopped=True, is_halted=True)]
    made = plan_dialect("mcp", known, Discovery((guard,), ()), parents=(PARENT,), held={"guard": "it may guard"})
    assert made == [("guard", Stop("it was stopped by zot ext stop; zot ext start guard starts it again"))]


def test_a_name_of_another_kind_is_not_taken():
    zots, new = found("guard", USERS, dialect="zot", scope=Scope.GLOBAL), found("guard")
    assert plans([zots], [new]) == {"guard": Skip("an extension of another kind has its name")}


def test_an_extension_does_not_turn_into_one_of_another_dialect():
    running = found("guard")
    made = plans([running], [found("guard", dialect="zot")], held={"guard": "it guards tool_call"})
    assert isinstance(made["guard"], Keep)


def test_what_waits_for_trust_is_told_and_what_is_broken_elsewhere_is_not():
    waits = found("waits", Path("/else"))
    skipped = [
        SkippedExtension(waits.folder, SkipReason("never seen", SkipCause.NEVER_SEEN), untrusted=waits),
        SkippedExtension(PARENT / "broken", SkipReason("read manifest: nothing")),
        SkippedExtension(Path("/elsewhere/broken"), SkipReason("read manifest: nothing")),
    ]
    assert plans([], [], skipped) == {
        "waits": Skip("not trusted (never seen)", is_waiting=True),
        "broken": Skip("read manifest: nothing"),
    }
