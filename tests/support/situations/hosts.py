"""Situations of a host and of the commands that talk to one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.host_process import Hosted
from tests.support.situations.stage import situation

if TYPE_CHECKING:
    from tests.support.situations.stage import Stage


@situation("2 hosts are running; name one by its pid: …")
def two_hosts(stage: Stage) -> str:
    extension = stage.extension("echo")
    with stage.zot.start("host", "-e", extension) as one, stage.zot.start("host", "-e", extension) as other:
        for each in (one, other):
            Hosted(stage.zot, each).client.close()
        return stage.zot.run("top", "--once").stderr


@situation("zot: no such extension: '…'; did you mean '…'?")
def misspelt_extension(stage: Stage) -> str:
    with stage.zot.start("host", "-e", stage.extension("echo")) as running:
        Hosted(stage.zot, running).client.close()
        return stage.zot.run("ext", "restart", "ecko").stderr
