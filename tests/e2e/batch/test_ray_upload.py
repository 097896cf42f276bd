"""A batch with an uploaded folder on a real Ray cluster."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from supervisor.template.protocol import is_available
from tests.support.batch_command import BatchCommand
from tests.support.ray_cluster import need_ray
from tests.support.ray_place import RayBatch, cluster_with_home
from tests.support.zot_process import wait_until

if TYPE_CHECKING:
    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Zot

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not is_available(), reason="this system has no templates")]


COMMAND = "bash echo two >> a.txt; test ! -e b.secret && test ! -e .git && test ! -e runs && echo fine > new"


def test_a_folder_is_uploaded_and_its_changes_come_back(
    zot: Zot, server: MessagesServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    need_ray()
    subprocess.run(["git", "init", "-q"], cwd=zot.cwd, check=True)
    for name, text in {".gitignore": "*.secret\n", "a.txt": "one\n", "b.secret": "never\n"}.items():
        (zot.cwd / name).write_text(text)
    with cluster_with_home(tmp_path_factory.mktemp("home"), 1) as cluster:
        batch = RayBatch(zot, server, cluster)
        batch.tasks({f"t{number}": COMMAND for number in range(3)})
        found = batch.run("--upload", ".", "--workspace", "copy", cold=True)
        assert (found.status, found.leftovers) == (0, []), found.stderr
        wait_until(lambda: not batch.on_nodes())
    diffs = [path.read_text() for path in zot.cwd.glob("runs/diffs/*")]
    assert len(diffs) == 3
    assert all("+two" in diff and "+fine" in diff and "secret" not in diff for diff in diffs)
    assert (zot.cwd / "a.txt").read_text() == "one\n"


def test_a_folder_that_cannot_be_uploaded_ends_the_batch_before_it_starts(zot: Zot) -> None:
    batch = BatchCommand(zot)
    batch.tasks({"t": "hi"})
    (zot.cwd / "link").symlink_to("/etc")
    found = batch.run("--engine=ray", "--address=127.0.0.2:1", "--upload=.", "--model=m", cold=True)
    assert found.status == 2
    assert f"--upload {zot.cwd}: link is a link to the absolute path /etc: change them" in found.stderr
