"""The plan of a reload for each extension, decided from what was found. Without processes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from supervisor.discovery.discover import DISABLED, Discovery
from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.discovery.kind import ExtensionKind
from supervisor.discovery.skipped_extension import SkippedExtension, SkipReason
from supervisor.reload.plan import Keep, KnownExtension, Replace, Skip, Start, Stop, plan_all, plan_one
from wire.manifest import ManifestError, parse_manifest

if TYPE_CHECKING:
    from pathlib import Path


def manifest(name: str = "a", **fields: Any) -> Any:
    return parse_manifest(json.dumps({"name": name, "exec": "x", **fields}).encode())


def known(tmp_path: Path, name: str = "a", scope: Scope = Scope.GLOBAL, *, is_stopped: bool = False) -> KnownExtension:
    return KnownExtension(FoundExtension(tmp_path / name, manifest(name), scope), is_stopped)


def test_an_extension_is_kept_stopped_or_replaced_by_its_manifest(tmp_path: Path):
    extension, named = known(tmp_path), known(tmp_path, scope=Scope.EXPLICIT)
    assert plan_one(extension, ManifestError("bad")) == Keep("bad")
    assert isinstance(plan_one(extension, manifest("b")), Keep)
    assert isinstance(plan_one(extension, manifest(enabled=False)), Stop)
    assert isinstance(plan_one(named, manifest(enabled=False)), Replace), "one that is named starts also if disabled"
    assert plan_one(extension, manifest(priority=3)) == Replace(replace(extension.found, manifest=manifest(priority=3)))


def test_one_that_has_no_program_now_is_stopped(tmp_path: Path):
    extension, bundle = known(tmp_path), parse_manifest(b'{"name": "a", "skills": ["s"]}')
    assert plan_one(extension, bundle) == Stop("its manifest has no exec now")
    there = Discovery((), (), (replace(extension.found, manifest=bundle),))
    assert plan_all([extension], there) == [("a", Stop("its manifest has no exec now"))]
    assert plan_all([], there) == [], "there is nothing to start"
    assert plan_all([], Discovery((extension.found,), ())) == [("a", Start(extension.found))]


def test_one_that_a_user_has_stopped_stays_so_unless_it_is_named(tmp_path: Path):
    extension = replace(known(tmp_path), is_stopped=True, is_halted=True)
    stays = Stop("it was stopped by zot ext stop; zot ext start a starts it again")
    for discovery in (Discovery((extension.found,), ()), Discovery((), ())):
        assert plan_all([extension], discovery) == [("a", stays)], "whatever its folder has now"
    assert plan_one(extension, manifest(), is_named=False) == stays
    assert plan_one(extension, manifest()) == Replace(extension.found)


def test_a_folder_whose_extension_has_another_name_is_not_a_new_one(tmp_path: Path):
    extension = known(tmp_path)
    renamed = replace(extension.found, manifest=manifest("b"))
    ((name, plan),) = plan_all([extension], Discovery((renamed,), ()))
    assert (name, type(plan)) == ("a", Keep)


@given(st.lists(st.sampled_from(["found", "error", "disabled", "gone"])), st.integers(0, 3))
def test_each_extension_gets_one_plan(fates: list[str], new: int):
    from pathlib import Path

    running = [known(Path("/x"), f"e{number}") for number in range(len(fates))]
    by_fate = {
        fate: [extension.found for extension, other in zip(running, fates, strict=True) if other == fate]
        for fate in set(fates)
    }
    fresh = [known(Path("/x"), f"n{number}").found for number in range(new)]
    skipped = [SkippedExtension(found.folder, SkipReason("bad")) for found in by_fate.get("error", ())]
    skipped += [SkippedExtension(found.folder, DISABLED, is_error=False) for found in by_fate.get("disabled", ())]
    plans = plan_all(running, Discovery((*by_fate.get("found", ()), *fresh), tuple(skipped)))
    names = [name for name, _ in plans]
    assert len(names) == len(set(names)) == len(running) + new
    kinds = {"found": Replace, "error": Keep, "disabled": Stop, "gone": Stop}
    for (_, plan), fate in zip(plans, fates, strict=False):
        assert type(plan) is kinds[fate]
    assert all(type(plan) in (Start, Skip) for _, plan in plans[len(fates) :])


def server(tmp_path: Path, name: str = "s", **fields: Any) -> FoundExtension:
    file = tmp_path / ".mcp.json"
    return FoundExtension(tmp_path, manifest(name, **fields), Scope.PROJECT, mcp_file=file, workspace=tmp_path)


def test_a_server_of_a_file_is_replaced_as_its_entry_is_now(tmp_path: Path):
    old, new = server(tmp_path), server(tmp_path, exec="y")
    assert plan_one(KnownExtension(old), new) == Replace(new)
    assert isinstance(plan_one(KnownExtension(old), server(tmp_path, enabled=False)), Stop)
    assert plan_one(KnownExtension(old), ManifestError("bad")) == Keep("bad")


def test_servers_of_one_file_are_told_apart(tmp_path: Path):
    one, two, file = server(tmp_path, "one"), server(tmp_path, "two"), tmp_path / ".mcp.json"
    running = [KnownExtension(one), KnownExtension(two)]
    bad = SkippedExtension(file / "two", SkipReason("bad"), ExtensionKind.MCP, mcp_file=file)
    assert plan_all(running, Discovery((one,), (bad,))) == [("one", Replace(one)), ("two", Keep("bad"))]
    assert plan_all(running, Discovery((one,), ())) == [("one", Replace(one)), ("two", Stop(f"it is not in {file}"))]


def test_a_file_that_cannot_be_read_stops_no_server(tmp_path: Path):
    file = tmp_path / ".mcp.json"
    whole = SkippedExtension(file, SkipReason(f"{file}:1:2: this is no JSON"), ExtensionKind.MCP_FILE, mcp_file=file)
    plans = dict(plan_all([KnownExtension(server(tmp_path))], Discovery((), (whole,))))
    assert plans["s"] == Keep(whole.reason)
    assert plans[".mcp.json"] == Skip(whole.reason)
