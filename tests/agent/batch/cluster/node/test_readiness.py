"""A node that cannot run the tasks of a batch says why: all reasons at once, each with the way out."""

from __future__ import annotations

import os
from socket import gethostname
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from agent.batch.cluster.extension_facts import folder_extensions
from agent.batch.cluster.node.places import Places
from agent.batch.cluster.node.readiness import differences, reasons_against, version_reason
from agent.options import RunRequest
from cli.version import VERSION
from tests.support.extension_folder import extension, folder
from tests.support.git_repository import git, make_repository
from wire.batch.node_frames import ExtensionFact, FolderExtensions, SetUp
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
        "extension lost is missing here, or disabled: install it, or leave it out with --no-ext",
        "extension other has another content here: install the same version",
        "extension more runs here and not where the batch runs: remove it, or leave it out with --no-ext",
        "extension on runs here and not where the batch runs: remove it, or leave it out with --no-ext",
    ]
    assert list(differences(wanted[:1], wanted[:1])) == []


def test_an_extension_with_another_content_is_refused(tmp_path: Path) -> None:
    folder = extension(tmp_path, "echo")
    run = RunRequest(cwd=str(tmp_path), extensions=(str(folder),), discover=False)
    facts = folder_extensions(run, [Task(id="a", prompt="x", cwd=str(tmp_path))], tmp_path / "home")
    assert reasons(tmp_path, run=run, extensions=facts) == []
    (folder / "more.txt").write_text("x")
    (found,) = reasons(tmp_path, run=run, extensions=facts)
    assert found == "extension echo has another content here: install the same version"


def test_folders_of_tasks_are_compared_one_by_one(tmp_path: Path) -> None:
    """A difference in all of them is one reason; a folder that is missing is told of by itself."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    folder(tmp_path / "two" / ".zot" / "extensions", "more", ["true"])
    lost = (fact("lost"),)
    wanted = [FolderExtensions(str(tmp_path / name), (), lost) for name in ("one", "two", "missing")]
    run = RunRequest(cwd=str(tmp_path / "one"), trust_project=True)
    assert reasons(tmp_path, run=run, extensions=tuple(wanted)) == [
        "extension lost is missing here, or disabled: install it, or leave it out with --no-ext",
        f"{tmp_path}/two: extension more runs here and not where the batch runs: remove it, or leave it out with"
        " --no-ext",
    ]


def test_an_extension_that_the_user_of_the_node_has_disabled_is_not_run(tmp_path: Path) -> None:
    mine = folder(tmp_path / "home" / "extensions", "mine", ["true"])
    run, task = RunRequest(cwd=str(tmp_path)), Task(id="a", prompt="x", cwd=str(tmp_path))
    facts = folder_extensions(run, [task], tmp_path / "home")
    assert reasons(tmp_path, run=run, extensions=facts) == []
    manifest = mine / "extension.json"
    manifest.write_text(manifest.read_text().replace("{", '{"enabled": false, ', 1))
    assert reasons(tmp_path, run=run, extensions=facts) == [
        "extension mine is missing here, or disabled: install it, or leave it out with --no-ext"
    ]


ASKING = Task(id="a", prompt="-")


@pytest.fixture
def without_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "OPENROUTER_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("without_key")
def test_a_node_without_a_credential_says_where_which_and_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = gethostname()
    found = reasons(tmp_path, models=(ASKING, replace(ASKING, provider="openrouter", model="x/y")))
    assert found == [
        f"provider anthropic: no credential for https://api.anthropic.com on {host}: run zot login there, or set"
        " ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN where ray start is called there",
        f"provider openrouter: no credential for https://openrouter.ai/api on {host}: run zot login openrouter there,"
        " or set OPENROUTER_API_KEY where ray start is called there",
    ]
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    assert len(reasons(tmp_path, models=(ASKING, replace(ASKING, model="m")))) == 0


@pytest.mark.usefixtures("without_key")
def test_tasks_that_bring_a_key_or_go_elsewhere_need_none_of_the_node(tmp_path: Path) -> None:
    own = replace(ASKING, env={"ANTHROPIC_API_KEY": ""})
    assert reasons(tmp_path, models=(own, replace(ASKING, base_url="http://127.0.0.1:9"))) == []
    assert len(reasons(tmp_path, models=(own, replace(ASKING, env={"OTHER": ""})))) == 1


@pytest.mark.usefixtures("without_key")
def test_the_file_of_the_key_is_the_nodes_own(tmp_path: Path) -> None:
    run = RunRequest(discover=False, provider="anthropic", api_key_file=str(tmp_path / "key"))
    (found,) = reasons(tmp_path, run=run, models=(ASKING, replace(ASKING, model="m")))
    assert found == (
        f"--api-key-file {tmp_path}/key: cannot be read: No such file or directory: each node reads its own key: put"
        f" one there on {gethostname()}, or leave the flag out"
    )
    assert reasons(tmp_path, run=run) == [], "no task asks a model"
    (tmp_path / "key").write_text("secret")
    (tmp_path / "key").chmod(0o600)
    assert reasons(tmp_path, run=run, models=(ASKING,)) == []
    (found,) = reasons(tmp_path, run=run, models=(replace(ASKING, provider="openrouter", model="x/y"),))
    assert found.startswith("provider openrouter: no credential"), "the key of a flag is for the provider of the flags"


def test_a_provider_or_a_price_that_the_node_does_not_know(tmp_path: Path) -> None:
    asked = (replace(ASKING, provider="nosuch"), replace(ASKING, model="odd", max_cost_usd=1.0))
    first, second = reasons(tmp_path, models=asked)
    assert "nosuch" in first
    assert first.endswith(f" (on {gethostname()})")
    assert second.startswith("the price of the model 'odd' is unknown, so max_cost_usd cannot be checked")


def test_all_reasons_come_in_one_frame_and_the_node_does_nothing_more(
    make_driver: Callable[..., NodeDriver], tmp_path: Path
) -> None:
    driver = make_driver()
    lost = FolderExtensions(str(driver.cwd), (), (fact("lost"),))
    found = driver.refused(folders=("/missing",), files=("/lacking",), extensions=(lost,), share=("nobody",))
    assert [line.partition(":")[0] for line in found] == [
        "/missing", "/lacking", "extension lost is missing here, or disabled", "--share",
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
