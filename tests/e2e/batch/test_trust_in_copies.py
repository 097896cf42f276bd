"""A guard of the project guards in each task, in a copy of the project too; without it no task begins."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.template.protocol import is_available
from tests.support.batch_command import BatchCommand
from tests.support.extension_folder import CHILDREN
from tests.support.install_sources import manifest_in
from tests.support.mcp_files import write_servers
from tests.support.project_extension import put
from tests.support.replay_script import Script
from wire.batch.outcome import TaskStatus
from wire.events import Extension
from wire.exit_codes import Status

if TYPE_CHECKING:
    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Zot
    from wire.batch.outcome import Outcome

pytestmark = pytest.mark.skipif(not is_available(), reason="this system has no templates")
GUARD = ".zot/extensions/guard"


@pytest.fixture
def batch(zot: Zot, server: MessagesServer) -> BatchCommand:
    """In a project with a guard that blocks every turn, and denies on failure."""
    made = BatchCommand(zot, server)
    made.extensions = []
    put(zot, "blocker", "turn_start", "no", name="guard", on_failure="deny")
    return made


def outcome(batch: BatchCommand, *flags: str, **task: Any) -> Outcome:
    """How the only attempt of a task has ended, in a new folder."""
    shutil.rmtree(batch.rundir, ignore_errors=True)
    batch.tasks({"t": {"prompt": "x", **task}})
    batch.run("-q", *flags)
    (found,) = batch.attempts("t")
    return found


def failed(batch: BatchCommand) -> dict[str, str]:
    found = (each for each in batch.events("t") if isinstance(each, Extension))
    return {each.extension: each.message for each in found if each.event == "failed"}


def trust(zot: Zot, name: str = "guard") -> None:
    assert zot.run("ext", "trust", name).status == 0


@pytest.mark.parametrize("workspace", ["shared", "copy"])
def test_a_trusted_guard_guards_with_every_workspace(zot, batch, workspace):
    trust(zot)
    ended = outcome(batch, "--workspace", workspace)
    assert (ended.status, failed(batch)) == (TaskStatus.BLOCKED, {})


@pytest.mark.parametrize("workspace", ["shared", "copy"])
def test_without_trust_of_a_guard_that_denies_no_task_begins(zot, batch, workspace):
    ended = outcome(batch, "--workspace", workspace)
    assert ended.status is TaskStatus.REQUIRED_EXTENSION
    where = f" in {zot.cwd}" if workspace == "copy" else ""
    reason = f"not trusted (never seen{where}): not started; zot ext trust guard, or --trust-project"
    assert ended.reason == f"extension guard denies where it fails and is {reason}"
    assert ended.steps == 0


@pytest.mark.slow
def test_data_of_a_guard_is_no_change_in_a_copy_either(zot, batch):
    folder = zot.cwd / GUARD
    (folder / "extension.json").write_text(json.dumps({**manifest_in(folder), "data": ["*.log"]}))
    trust(zot)
    (folder / "run.log").write_text("1")
    ended = outcome(batch, "--workspace", "copy", setup=f"echo 2 > {GUARD}/other.log")
    assert (ended.status, failed(batch)) == (TaskStatus.BLOCKED, {})
    ended = outcome(batch, "--workspace", "copy", setup=f"ln -s run.sh {GUARD}/other.log")
    assert ended.status is TaskStatus.REQUIRED_EXTENSION


def test_a_guard_that_setup_has_changed_is_refused_and_the_task_fails(zot, batch):
    trust(zot)
    ended = outcome(batch, "--workspace", "copy", setup=f"echo >> {GUARD}/rules.py")
    assert ended.status is TaskStatus.REQUIRED_EXTENSION
    assert f"not trusted (it is not what was trusted in {zot.cwd})" in ended.reason


@pytest.mark.slow
def test_a_link_in_the_copy_leads_to_what_is_trusted_or_not(zot, batch):
    shutil.move(zot.cwd / ".zot/extensions/guard", zot.cwd / "tools")
    (zot.cwd / ".zot/extensions/guard").symlink_to("../../tools")
    trust(zot)
    assert outcome(batch, "--workspace", "copy").status is TaskStatus.BLOCKED
    other = zot.folder / "other"
    shutil.copytree(zot.cwd / "tools", other)
    ended = outcome(batch, "--workspace", "copy", setup=f"rm {GUARD}; ln -s {other} {GUARD}")
    assert (ended.status, "never seen" in ended.reason) == (TaskStatus.REQUIRED_EXTENSION, True)


@pytest.mark.slow
def test_trust_that_is_revoked_holds_in_no_later_copy(zot, batch):
    trust(zot)
    batch.tasks({"t": {"prompt": "x", "setup": "exit 1"}})
    batch.run("-q", "--workspace", "copy")
    assert zot.run("ext", "trust", "--revoke", "guard").status == 0
    batch.tasks({"t": "x"})
    batch.run("-q", "--workspace", "copy", "--redo", "failed")
    assert batch.attempts("t")[-1].status is TaskStatus.REQUIRED_EXTENSION


def test_a_copy_of_another_name_is_trusted_only_as_the_copy_of_a_batch(zot, batch):
    trust(zot)
    copy = zot.folder / "copy"
    shutil.copytree(zot.cwd, copy)
    assert outcome(batch, cwd=str(copy)).status is TaskStatus.REQUIRED_EXTENSION


@pytest.mark.slow
def test_a_server_of_the_project_is_trusted_in_the_copy(zot, batch):
    shutil.rmtree(zot.cwd / GUARD)
    shutil.copy(CHILDREN / "mcp" / "reference.sh", zot.cwd / "server.sh")
    write_servers(zot.cwd / ".mcp.json", one={"command": "sh", "args": ["server.sh"]})
    trust(zot, "one")
    outcome(batch, "--workspace", "copy")
    assert failed(batch) == {}
    ended = outcome(batch, "--workspace", "copy", setup="echo >> server.sh")
    assert ended.status is TaskStatus.OK
    assert f"not trusted (it is not what was trusted in {zot.cwd})" in failed(batch)["one"]


@pytest.mark.slow
def test_a_run_without_its_untrusted_guard_does_not_begin(zot, batch):
    run = zot.replay(Script(zot.cwd).answer("Hi"), "--no-session").check(Status.REQUIRED_EXTENSION)
    assert run.result.reason.startswith("extension guard denies where it fails and is not trusted (never seen)")
    assert zot.run("host").status == Status.REQUIRED_EXTENSION.exit_code
    zot.replay(Script(zot.cwd).answer("Hi"), "--no-session", "--no-ext").check(Status.OK)


@pytest.mark.slow
@pytest.mark.parametrize(
    "setup",
    [
        f"rm -r {GUARD}",
        f"""sed -i 's/"deny"/"allow"/' {GUARD}/extension.json""",
        f"""sed -i 's/{{/{{"enabled": false, /' {GUARD}/extension.json""",
        f"echo > {GUARD}/extension.json",
    ],
)
def test_a_guard_that_setup_has_removed_or_disarmed_is_missed_and_the_task_fails(zot, batch, setup):
    trust(zot)
    ended = outcome(batch, "--workspace", "copy", setup=setup)
    assert ended.status is TaskStatus.REQUIRED_EXTENSION
    assert "guard" in ended.reason


@pytest.mark.slow
@pytest.mark.parametrize("linked", [".zot", ".zot/extensions", GUARD])
def test_a_guard_to_which_a_link_led_out_of_the_project_is_missed_and_the_task_fails(zot, batch, linked):
    place = zot.cwd / linked
    place.rename(zot.cwd.parent / "elsewhere")
    place.symlink_to(os.path.relpath(zot.cwd.parent / "elsewhere", place.parent))
    trust(zot)
    assert outcome(batch).status is TaskStatus.BLOCKED
    ended = outcome(batch, "--workspace", "copy")
    assert ended.status is TaskStatus.REQUIRED_EXTENSION
    assert f"it is in {zot.cwd}, and in this copy " in ended.reason


@pytest.mark.slow
def test_a_second_guard_of_the_same_name_is_missed_in_no_copy(zot, batch):
    shutil.copytree(zot.cwd / GUARD, zot.cwd / ".zot" / "extensions" / "second")
    trust(zot)
    assert outcome(batch, "--workspace", "copy").status is TaskStatus.BLOCKED


@pytest.mark.slow
def test_an_extension_that_a_run_need_not_have_is_told_if_its_copy_lacks_it(zot, batch):
    shutil.rmtree(zot.cwd / GUARD)
    put(zot, "blocker", "turn_start", "no", name="guard")
    trust(zot)
    ended = outcome(batch, "--workspace", "copy", setup=f"rm -r {GUARD}")
    assert ended.status is TaskStatus.OK
    assert failed(batch)["guard"].startswith(f"it is in {zot.cwd}, and in this copy missing: ")
    assert outcome(batch, "--workspace", "copy", "--no-ext").status is TaskStatus.OK
    named = outcome(batch, "--workspace", "copy", "--ext", str(zot.cwd / GUARD), setup=f"rm -r {GUARD}")
    assert (named.status, failed(batch)) == (TaskStatus.BLOCKED, {})
