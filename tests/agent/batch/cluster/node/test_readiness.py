"""A node that cannot run the tasks of a batch says why: all reasons at once, each with the way out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agent.batch.cluster.extension_facts import extension_facts
from agent.batch.cluster.node.places import Places
from agent.batch.cluster.node.readiness import differences, reasons_against, version_reason
from agent.options import RunRequest
from cli.version import VERSION
from tests.support.extension_folder import extension
from tests.support.git_repository import git, make_repository
from wire.batch.node_frames import ExtensionFact, SetUp
from wire.batch.task import Task

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.node_driver import NodeDriver


def reasons(tmp_path: Path, *, run: RunRequest | None = None, upload: str = "", **given: object) -> list[str]:
    set_up = SetUp(node="n1", version=VERSION, token="t", request=b"{}", **given)  # type: ignore[arg-type]
    places = Places(upload=upload, copy=str(tmp_path), standin="/nowhere")
    return reasons_against(set_up, places, run or RunRequest(discover=False), tmp_path / "home")


def test_another_version_is_refused_with_both() -> None:
    assert version_reason("1", "1") == ""
    assert version_reason("2", "1") == "zot is 1 here and 2 where the batch runs: install the same version"


def test_folders_and_files_that_are_missing_are_named(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "file").write_text("x")
    folders, files = ("/missing", str(tmp_path / "there"), str(tmp_path / "file")), ("/lacking", str(tmp_path / "file"))
    assert reasons(tmp_path, folders=folders, files=files) == [
        "/missing: there is no such folder here: mount it, or send its content with --upload",
        f"{tmp_path / 'file'}: there is no such folder here: mount it, or send its content with --upload",
        "/lacking: there is no such file here: mount its folder, or send it with --upload",
    ]


def test_what_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may read everything
    assert reasons(tmp_path, folders=(str(tmp_path),), files=(str(tmp_path / "file"),)) == [
        f"{tmp_path}: this user may not read the folder here: change its mode",
        f"{tmp_path}/file: this user may not read the file here: change its mode",
    ]


def test_paths_of_the_uploaded_folder_are_looked_for_in_the_copy(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    found = reasons(tmp_path, upload="/elsewhere", folders=("/elsewhere/p", "/elsewhere/q"))
    assert found == [f"{tmp_path}/q: there is no such folder here: mount it, or send its content with --upload"]


def test_repositories_without_the_commit_and_folders_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "file").touch()
    head = git(make_repository(tmp_path / "r"), "rev-parse", "HEAD").strip()
    (tmp_path / "plain").mkdir()
    wanted = (
        (str(tmp_path / "r"), head),
        (str(tmp_path / "r"), "f" * 40),
        (str(tmp_path / "plain"), head),
        ("/missing", head),
    )
    found = reasons(tmp_path, repositories=wanted)
    assert found[0] == f"{tmp_path}/r: --workspace worktree: the commit ffffffffffff is missing here: git fetch it"
    assert "plain: --workspace worktree: not a git repository" in found[1]
    assert found[2] == (
        "/missing: --workspace worktree: there is no such folder: clone the repository here, or mount it"
    )
    assert len(found) == 3


def fact(name: str, content: str = "1", trust: str = "") -> ExtensionFact:
    return ExtensionFact(name, content, trust)


def test_extensions_are_compared_name_by_name() -> None:
    wanted = [
        fact("same"),
        fact("lost"),
        fact("other"),
        fact("distrusted"),
        fact("off", trust="no"),
        fact("on", trust="no"),
    ]
    found = [fact("same"), fact("other", "2"), fact("distrusted", trust="not trusted (never seen)"), fact("more"),
             fact("untrusted", trust="no"), fact("on")]  # fmt: skip
    assert list(differences(wanted, found)) == [
        "extension distrusted does not run here: not trusted (never seen)",
        "extension lost is missing here: install it, or leave it out with --no-ext",
        "extension other has another content here: install the same version",
        "extension more runs here and not where the batch runs: remove it, or leave it out with --no-ext",
        "extension on runs here and not where the batch runs: remove it, or leave it out with --no-ext",
    ]
    assert list(differences(wanted[:1], wanted[:1])) == []


def test_an_extension_with_another_content_is_refused(tmp_path: Path) -> None:
    folder = extension(tmp_path, "echo")
    run = RunRequest(extensions=(str(folder),), discover=False)
    facts = extension_facts(run, tmp_path / "home")
    assert reasons(tmp_path, run=run, extensions=facts) == []
    (folder / "more.txt").write_text("x")
    (found,) = reasons(tmp_path, run=run, extensions=facts)
    assert found == "extension echo has another content here: install the same version"


def test_all_reasons_come_in_one_frame_and_the_node_does_nothing_more(
    make_driver: Callable[..., NodeDriver], tmp_path: Path
) -> None:
    driver = make_driver()
    found = driver.refused(
        folders=("/missing",), files=("/lacking",), extensions=(fact("lost"),), share=("nobody",),
    )  # fmt: skip
    assert [line.partition(":")[0] for line in found] == [
        "/missing", "/lacking", "extension lost is missing here", "--share",
    ]  # fmt: skip
    driver.start(Task(id="a", prompt="x"))
    assert driver.end() == "the node program ended (exit 0)"
    assert len(driver.frames) == 1


@pytest.mark.parametrize(
    ("given", "env", "word"),
    [
        ({"version": "9"}, {}, "zot is"),
        ({"request": b"[]"}, {}, "the flags of the batch cannot be read"),
        ({"request": b'{"unknown":1}'}, {}, "the flags of the batch cannot be read"),
        ({}, {"TMPDIR": "/missing"}, ""),
    ],
)
def test_set_ups_that_do_not_fit(
    make_driver: Callable[..., NodeDriver], given: dict[str, object], env: dict[str, str], word: str
) -> None:
    driver = make_driver(env=env)
    if not word:
        driver.ready(**given)  # another folder is found
    else:
        (found,) = driver.refused(**given)
        assert found.startswith(word)
    assert driver.end() == "the node program ended (exit 0)"
