"""Puts the places of a node into what the driver says: the copy of an uploaded folder, the stand-in for RUNDIR, the
node's own host. Pure."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from agent.batch.run.begin import decode_request, encode_request
from agent.batch.workspace.copy import WORKSPACES
from wire.batch.task import decode_task, encode_task

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent.options import RunRequest
    from wire.batch.link import Begin, WorktreeBase
    from wire.batch.task import Task


class Places(msgspec.Struct, frozen=True):
    """All are absolute paths; those of the driver are so, too."""

    upload: str
    """The uploaded folder at the driver; empty without one."""
    copy: str
    """The node's copy of it."""
    standin: str
    """The folder in place of RUNDIR, without links."""
    cwd: str = ""
    """The working folder of the driver."""
    links: tuple[tuple[str, str], ...] = ()
    """As in `wire.batch.node_frames.SetUp.links`."""
    trusted_content: tuple[str, ...] = ()
    """As in `RunRequest.trusted_content`: of what runs at the driver."""

    def here(self, path: str) -> str:
        """The path at the node of one at the driver, absolute: the same, unless it is in the uploaded folder."""
        if not path:
            return path
        path = os.path.join(self.cwd, path)
        if not self.upload:
            return path
        plain = os.path.normpath(path)
        for link, real in sorted(self.links, reverse=True):  # the longest first
            if (inside := _within(link, plain)) is not None:
                plain = os.path.join(real, inside)
                break
        inside = _within(os.path.normpath(self.upload), plain)
        return path if inside is None else os.path.join(self.copy, inside).rstrip("/")

    def request(self, run: RunRequest) -> RunRequest:
        """The flags of a run here. The file of a key is the node's own, and never one that was uploaded."""
        key = run.api_key_file
        return replace(
            run,
            trace=False, batch_trace=None, batch_alerts=None, trusted_content=self.trusted_content,
            cwd=self.here(run.cwd or self.cwd) or None,
            api_key_file=key and os.path.join(self.cwd, key),
            home=None if run.home is None else Path(self.here(str(run.home))),
            extensions=self._all(run.extensions), mcp_configs=self._all(run.mcp_configs), images=self._all(run.images),
            output_schema=self._schema(run.output_schema),
            **self._given(run, "replay"),
        )  # fmt: skip

    def task(self, task: Task) -> Task:
        return replace(
            task,
            files=self._all(task.files), ext=None if task.ext is None else self._all(task.ext),
            output_schema=self._schema(task.output_schema),
            **self._given(task, "cwd", "replay"),
        )  # fmt: skip

    def begin(self, begin: Begin, token: str) -> Begin:
        """The order for a run here. `token` is the mark of the node's processes. Raises `TaskError`,
        `msgspec.DecodeError`."""
        run = self.request(decode_request(begin.request))
        number = begin.token.rpartition(".")[2]
        workspace = begin.workspace and os.path.join(self.standin, WORKSPACES, os.path.basename(begin.workspace))
        return replace(
            begin,
            task=Raw(encode_task(self.task(decode_task(bytes(begin.task)))).rstrip(b"\n")),
            request=encode_request(run),
            token=f"{token}.{number}",
            workspace=workspace,
            base=None if begin.base is None else self._base(begin.base),
        )

    @staticmethod
    def with_host(begin: Begin, socket: str) -> Begin:
        """The order for a run that uses the node's host."""
        run = replace(decode_request(begin.request), host=socket, is_host_of_batch=True)
        return replace(begin, request=encode_request(run))

    def _base(self, base: WorktreeBase) -> WorktreeBase:
        return replace(base, repository=self.here(base.repository), common=self.here(base.common))

    def _all(self, paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(map(self.here, paths))

    def _schema(self, schema: Any) -> Any:
        """A file, or the schema itself."""
        is_path = isinstance(schema, str) and not schema.lstrip().startswith("{")
        return self.here(schema) if is_path else schema

    def _given(self, struct: msgspec.Struct, *names: str) -> dict[str, str]:
        found = ((name, getattr(struct, name)) for name in names)
        return {name: self.here(value) for name, value in found if value is not None}


def _within(folder: str, path: str) -> str | None:
    """The path in the folder, empty for the folder itself; None if it is not in it. Both are normal paths."""
    if path == folder:
        return ""
    return path[len(folder) :].lstrip("/") if path.startswith(f"{folder.rstrip('/')}/") else None
