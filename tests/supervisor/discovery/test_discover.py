"""Which extensions are found, which one wins a name, and in what order guards are asked."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.discovery.discover import Discovery, discover, read_manifest
from supervisor.discovery.found_extension import FoundExtension, Scope
from wire.manifest import Manifest


class Places:
    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.home = folder / "home"
        self.extensions = {Scope.PROJECT: self.project / ".zot" / "extensions", Scope.GLOBAL: self.home / "extensions"}
        self.elsewhere = folder / "elsewhere"

    def put(self, scope: Scope, folder: str, name: str | None = None, **fields: object) -> Path:
        made = self.extensions.get(scope, self.elsewhere) / folder
        made.mkdir(parents=True)
        (made / "extension.json").write_text(json.dumps({"name": name or folder, "exec": "./x", **fields}))
        return made

    def discover(self, *explicit: str | Path) -> Discovery:
        return discover(map(str, explicit), self.project, self.home)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def names(discovery: Discovery) -> list[str]:
    return [found.manifest.name for found in discovery.found]


def reasons(discovery: Discovery) -> dict[str, tuple[str, bool]]:
    return {skipped.folder.name: (skipped.reason, skipped.is_error) for skipped in discovery.skipped}


def test_no_extension_anywhere_is_no_error(places: Places):
    assert places.discover() == Discovery((), ())
    assert discover([], None, None) == Discovery((), ())


def test_explicit_then_project_then_global_and_by_name_within(places: Places):
    for folder in ("b", "a"):
        places.put(Scope.GLOBAL, f"g{folder}")
        places.put(Scope.PROJECT, f"p{folder}")
    late, early = places.put(Scope.EXPLICIT, "z"), places.put(Scope.EXPLICIT, "y")
    assert names(places.discover(late, early)) == ["z", "y", "pa", "pb", "ga", "gb"]


def test_priority_goes_before_all_else(places: Places):
    places.put(Scope.GLOBAL, "high", priority=5)
    places.put(Scope.PROJECT, "low", priority=-1)
    explicit = places.put(Scope.EXPLICIT, "plain")
    assert names(places.discover(explicit)) == ["high", "plain", "low"]


@given(st.permutations([(p, s, i, n) for p in (0, 1) for s in Scope for i in (0, 1) for n in "ab"]))
def test_the_order_is_total(keys: list[tuple[int, Scope, int, str]]):
    found = [
        FoundExtension(Path("/x"), Manifest(name, "x", priority=priority), scope, at)
        for priority, scope, at, name in keys
    ]
    ordered = [
        (extension.manifest.priority, extension.scope, extension.position)
        for extension in sorted(found, key=lambda extension: extension.order)
    ]
    assert ordered == sorted(ordered, key=lambda key: (-key[0], key[1], key[2]))


def test_the_first_scope_wins_a_name_without_a_warning(places: Places):
    places.put(Scope.GLOBAL, "g", "same")
    project = places.put(Scope.PROJECT, "p", "same")
    discovery = places.discover()
    assert [(found.folder, found.scope) for found in discovery.found] == [(project, Scope.PROJECT)]
    assert reasons(discovery) == {"g": (f"the name 'same' is taken by {project} (project)", False)}


def test_two_of_one_name_in_one_scope_are_an_error(places: Places):
    places.put(Scope.PROJECT, "a", "same")
    places.put(Scope.PROJECT, "b", "same")
    first, second = places.put(Scope.EXPLICIT, "x", "twin"), places.put(Scope.EXPLICIT, "y", "twin")
    discovery = places.discover(first, second)
    assert [found.folder.name for found in discovery.found] == ["x", "a"]
    assert {folder: is_error for folder, (_, is_error) in reasons(discovery).items()} == {"y": True, "b": True}


def test_the_same_folder_named_twice_starts_once(places: Places):
    folder = places.put(Scope.EXPLICIT, "x")
    assert names(places.discover(folder, folder)) == ["x"]


def test_a_disabled_extension_hides_no_other_and_starts_if_named(places: Places):
    disabled = places.put(Scope.PROJECT, "same", enabled=False)
    places.put(Scope.GLOBAL, "same")
    discovery = places.discover()
    assert [found.scope for found in discovery.found] == [Scope.GLOBAL]
    assert reasons(discovery) == {"same": ("disabled", False)}
    assert [found.scope for found in places.discover(disabled).found] == [Scope.EXPLICIT]


def test_a_broken_extension_says_why_and_hides_no_other(places: Places):
    broken = places.put(Scope.PROJECT, "same")
    (broken / "extension.json").write_text('{"name": "same"')
    places.put(Scope.PROJECT, "nameless", exec="")
    (places.extensions[Scope.PROJECT] / "empty").mkdir()
    (places.extensions[Scope.PROJECT] / "odd" / "extension.json").mkdir(parents=True)
    places.put(Scope.GLOBAL, "same")
    discovery = places.discover()
    assert [found.scope for found in discovery.found] == [Scope.GLOBAL]
    assert reasons(discovery) == {
        "same": ('parse manifest: extension.json:1:16: it ends in the middle (the line: {"name": "same")', True),
        "nameless": ("manifest: exec is required, or skills, or a theme.json", True),
        "empty": ("read manifest: no extension.json in it", True),
        "odd": ("read manifest: Is a directory", True),
    }


def test_those_without_a_program_are_apart_and_keep_their_names(places: Places):
    first = places.put(Scope.PROJECT, "same", exec="", skills=["a"])
    places.put(Scope.GLOBAL, "same")
    theme = places.put(Scope.GLOBAL, "theme", exec="")
    (theme / "theme.json").touch()
    places.put(Scope.GLOBAL, "last", skills=["b"], priority=9)
    places.put(Scope.GLOBAL, "off", exec="", skills=["b"], enabled=False)
    named = places.put(Scope.EXPLICIT, "named", exec="", skills=["c"], enabled=False)
    discovery = places.discover(named)
    assert names(discovery) == ["last"]
    assert [found.folder for found in discovery.without_program] == [named, first, theme]
    assert [found.manifest.name for found in discovery.usable] == ["named", "same", "last", "theme"]
    assert [found.argv for found in discovery.without_program] == [[], [], []]
    assert reasons(discovery)["same"] == (f"the name 'same' is taken by {first} (project)", False)
    assert set(reasons(discovery)) == {"same", "off"}


def test_a_copilot_extension_with_skills_is_still_one(places: Places):
    folder = places.put(Scope.PROJECT, "one", skills=["s"])
    (folder / "extension.json").write_text('{"skills": ["s"]}')
    (folder / "extension.mjs").write_text("x")
    assert read_manifest(folder).dialect == "copilot"
    (folder / "extension.mjs").unlink()
    (folder / "extension.json").write_text('{"name": "one", "skills": ["s"]}')
    assert read_manifest(folder).without_program


def test_a_path_that_leads_nowhere_says_so(places: Places, tmp_path: Path):
    (tmp_path / "file").write_text("")
    discovery = places.discover(tmp_path / "nothing", tmp_path / "file")
    assert [skipped.reason for skipped in discovery.skipped] == [
        "read manifest: no such folder",
        f"read manifest: it is a file; name its folder, {tmp_path}",
    ]


def test_links_to_folders_count_broken_ones_are_told_and_stray_files_do_not(places: Places):
    real = places.put(Scope.EXPLICIT, "real")
    places.extensions[Scope.PROJECT].mkdir(parents=True)
    (places.extensions[Scope.PROJECT] / "link").symlink_to(real)
    (places.extensions[Scope.PROJECT] / "dangling").symlink_to("nowhere")
    (places.extensions[Scope.PROJECT] / "loop").symlink_to("loop")
    (places.extensions[Scope.PROJECT] / "README.md").write_text("")
    discovery = places.discover()
    assert names(discovery) == ["real"]
    assert reasons(discovery) == {
        "dangling": (
            "is a link to nowhere, which does not exist; put the folder back, or zot ext remove dangling", True
        ),
        "loop": ("is a link to loop, which does not exist; put the folder back, or zot ext remove loop", True),
    }  # fmt: skip


def test_a_file_where_the_folder_should_be_is_no_folder(places: Places):
    (places.project / ".zot").mkdir(parents=True)
    (places.project / ".zot" / "extensions").write_text("")
    assert places.discover() == Discovery((), ())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_read_is_told(places: Places):
    places.put(Scope.PROJECT, "a")
    places.put(Scope.GLOBAL, "b").chmod(0)
    places.extensions[Scope.PROJECT].chmod(0)
    try:
        discovery = places.discover()
    finally:
        places.extensions[Scope.PROJECT].chmod(0o700)
        (places.extensions[Scope.GLOBAL] / "b").chmod(0o700)
    assert discovery.found == ()
    assert reasons(discovery) == {
        "extensions": ("cannot be read: Permission denied", True),
        "b": ("read manifest: Permission denied", True),
    }


def test_a_folder_that_the_system_refuses_is_told(places: Places, monkeypatch: pytest.MonkeyPatch):
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    places.put(Scope.GLOBAL, "b")
    monkeypatch.setattr(os, "scandir", refuse)
    discovery = places.discover()
    assert [(skipped.reason, skipped.is_error) for skipped in discovery.skipped] == [
        ("cannot be read: Permission denied", True)
    ] * 2


@pytest.mark.parametrize(
    ("exec_", "program"),
    [
        ("/bin/sh", "/bin/sh"),
        ("./x", "/f/x"),
        ("../x", "/f/../x"),
        ("bin/x", "/f/bin/x"),
        ("sh", None),
        ("no-such", "no-such"),
    ],
)
def test_how_exec_is_resolved(exec_: str, program: str | None):
    found = FoundExtension(Path("/f"), Manifest("a", exec_, args=("-c",)), Scope.EXPLICIT)
    import shutil

    assert found.argv[0] == os.path.normpath(program or shutil.which("sh")) or found.argv[0] == program
    assert found.argv[1:] == ["-c"]


@pytest.mark.parametrize(
    ("exec_", "seconds"), [("npx", 60.0), ("/usr/bin/uvx", 60.0), ("node", 10.0), ("./npx.sh", 10.0)]
)
def test_downloaders_have_longer_to_say_hello(exec_: str, seconds: float):
    assert FoundExtension(Path("/f"), Manifest("a", exec_), Scope.EXPLICIT).default_hello_s == seconds


def test_an_extension_whose_path_is_not_utf8_is_skipped(places: Places):
    folder = places.put(Scope.PROJECT, os.fsdecode(b"odd-\xff"), "odd")
    places.put(Scope.PROJECT, "good")
    found = places.discover()
    assert [each.manifest.name for each in found.found] == ["good"]
    assert [(each.folder, each.is_error) for each in found.skipped] == [(folder, True)]
    assert "not valid UTF-8" in found.skipped[0].reason
