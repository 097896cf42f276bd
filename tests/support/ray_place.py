"""`zot batch --engine ray` in a test: a cluster on this machine, and a scripted model that all its nodes ask."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.support.batch_command import MODEL, BatchCommand
from tests.support.marked_processes import command_line, marked_pids
from tests.support.ray_cluster import RayCluster

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Running, Zot

OF_RAY = re.compile(r"/ray/|ray_cluster_program")
"""Processes of the cluster itself, by their command lines."""


def cluster_with_home(home: Path, nodes: int) -> RayCluster:
    """The nodes have a key of their own, and `home` as the home of zot."""
    return RayCluster(nodes, more_env={"ANTHROPIC_API_KEY": "k", "ZOT_HOME": str(home)})


class RayBatch(BatchCommand):
    """Its nodes are those of `cluster`, which was made by `cluster_with_home`."""

    def __init__(self, zot: Zot, server: MessagesServer, cluster: RayCluster) -> None:
        super().__init__(zot, server)
        self._cluster = cluster
        self._home = cluster.env["ZOT_HOME"]
        self._env = {name: value for name, value in cluster.env.items() if name.startswith("RAY_")}
        self._model = [f"--base-url={server.base_url}", "--provider=anthropic", f"--model={MODEL}"]

    def start(self, *flags: str | Path, **popen: Any) -> Running:
        more = ("--engine=ray", f"--address={self._cluster.address}", *flags)
        return super().start(*more, env=self._env, **popen)

    def on_nodes(self) -> list[str]:
        """The command lines of our processes on the nodes: node programs, templates, runs, and their own."""
        lines = map(command_line, marked_pids("ZOT_HOME", self._home))
        return [line for line in lines if line and not line.startswith("ray::") and not OF_RAY.search(line)]
