"""Whether the flags of a batch go together with its engine, and which tasks the copies of `--upload` do not have."""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING

from agent.request_checks import UsageError
from wire.suggestions import join_names
from wire.text import counted, noun_for, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.batch.request import BatchRequest
    from wire.batch.task import Task

RAY = "--engine ray"
AUTO = "auto"
"""The address of the cluster that runs on this machine."""
HIGHEST_PORT = 65535
NAMED = 3
"""Maximum number of tasks or folders that a line names."""
_ADDRESS = re.compile(r"(?:ray://)?(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})")
_WITHOUT_PORT = re.compile(r"(?:ray://)?(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])")


def check_engine(request: BatchRequest) -> None:
    """Raises `UsageError` for flags that have no effect or no meaning with the engine. Looks at no cluster."""
    if request.engine == "local":
        for flag, value in (("--address", request.address), ("--upload", request.upload)):
            if value is not None:
                raise UsageError(f"{flag} has no effect without {RAY}: add it, or leave {flag} out")
        return
    if fault := _of_flags(request) or address_fault("--address", request.address) or _of_upload(request):
        raise UsageError(fault)


def _of_flags(request: BatchRequest) -> str:
    if request.run.api_key is not None:
        return (
            f"{RAY}: a key does not travel, so --api-key and a key on stdin are for this machine only: set the key's"
            " variable, such as ANTHROPIC_API_KEY, where the nodes run, or give --api-key-file with a path that each"
            " node has"
        )
    if request.batch_api:
        return f"{RAY} and --batch-api exclude each other: nothing runs on a node; leave {RAY} out"
    if request.run.host is not None:
        return (
            f"{RAY} and --host exclude each other: a host serves the runs of its machine only; --share has one process"
            " of an extension on each node"
        )
    return ""


def address_fault(source: str, address: str | None) -> str:
    """Why this is no address of a cluster; "" if it is one, or None. `source` is the flag or the variable."""
    if address is None or address == AUTO:
        return ""
    if not address.strip():
        return f"{source} is empty: give ray://HOST:PORT or HOST:PORT, or leave it out"
    known = _ADDRESS.fullmatch(address)
    if known is not None and 1 <= int(known[1]) <= HIGHEST_PORT:
        return ""
    shown = one_line(address, 100)
    if address == "local":
        return f"{source} local would be a cluster of this machine alone: leave --engine ray out"
    if address.startswith(("http://", "https://")):
        return f"{source} {shown}: the dashboard of a cluster takes no tasks: give HOST:6379, the port of ray start"
    if known is None and _WITHOUT_PORT.fullmatch(address):
        port = 10001 if address.startswith("ray://") else 6379
        return f"{source} {shown}: the port is missing; Ray's own is {port}: {shown}:{port}"
    if known is not None:
        return f"{source} {shown}: a port is a number from 1 to {HIGHEST_PORT}"
    return f"{source} {shown}: no address of a cluster: give ray://HOST:PORT, HOST:PORT or {AUTO}"


def _of_upload(request: BatchRequest) -> str:
    folder = request.upload
    if folder is None:
        return ""
    if not folder:
        return "--upload is empty: name the folder that each node gets a copy of, or leave it out"
    if request.workspace == "worktree":
        return (
            "--upload and --workspace worktree exclude each other: the copies on the nodes are no git repositories;"
            " --workspace copy makes a diff of each task, too"
        )
    shown = f"--upload {one_line(folder, 200)}"
    try:
        mode = os.stat(folder).st_mode
    except FileNotFoundError:
        return f"{shown}: no such folder"
    except (OSError, ValueError) as error:
        return f"{shown}: {getattr(error, 'strerror', None) or error}"
    if not stat.S_ISDIR(mode):
        return f"{shown}: not a folder"
    return "" if os.access(folder, os.R_OK | os.X_OK) else f"{shown}: Permission denied"


def outside_upload(request: BatchRequest, tasks: Sequence[Task]) -> str:
    """Returns a line about the tasks whose folder is not in that of `--upload`; "" if all are in it, or without
    `--upload`. Follows links."""
    if request.upload is None:
        return ""
    root = os.path.realpath(request.upload)
    is_inside: dict[str, bool] = {}
    outside: dict[str, list[str]] = {}
    for task in tasks:
        folder = task.cwd or request.run.cwd or os.getcwd()
        if folder not in is_inside:
            is_inside[folder] = os.path.commonpath((root, os.path.realpath(folder))) == root
        if not is_inside[folder]:
            outside.setdefault(folder, []).append(task.id)
    if not outside:
        return ""
    ids = [task for found in outside.values() for task in found]
    word = "works" if len(ids) == 1 else "work"
    folders = [one_line(folder, 200) for folder in outside]
    return (
        f"{counted(len(ids), 'task')} ({join_names(ids, NAMED)}) {word} outside of --upload: each node must have"
        f" {noun_for(len(folders), 'folder')} {join_names(folders, NAMED)}"
    )
