"""The first frame for a node, made of the flags and the tasks of a batch. Pure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.batch.run.begin import encode_request
from wire.batch.node_frames import SetUp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agent.batch.request import BatchRequest
    from wire.batch.link import WorktreeBase
    from wire.batch.node_frames import ExtensionFact
    from wire.batch.task import Task


def set_up(
    request: BatchRequest,
    tasks: Sequence[Task],
    *,
    version: str,
    token: str,
    bases: Iterable[WorktreeBase] = (),
    extensions: Iterable[ExtensionFact] = (),
) -> SetUp:
    """The frame, without the name of its node. It has no key: each node reads its own."""
    assert request.run.api_key is None, "a key stays on its machine"
    cwd = request.run.cwd or os.getcwd()
    return SetUp(
        node="",
        version=version,
        token=token,
        request=bytes(encode_request(replace(request.run, cwd=cwd, trace=False))),
        share=request.share,
        run_memory=request.run_memory,
        folders=tuple(sorted({path for task in tasks for path in (task.cwd or cwd, *(task.ext or ()))} | {cwd})),
        files=tuple(sorted({*_files_of_flags(request), *(path for task in tasks for path in _files_of(task))})),
        repositories=tuple(sorted((base.repository, base.commit) for base in bases)),
        extensions=tuple(sorted(extensions)),
        upload=request.upload or "",
    )


def _files_of(task: Task) -> Iterator[str]:
    yield from task.files
    yield from _paths(task.replay)
    if isinstance(task.output_schema, str):
        yield from _paths(task.output_schema)


def _files_of_flags(request: BatchRequest) -> Iterator[str]:
    run = request.run
    yield from (*run.mcp_configs, *run.images)
    yield from _paths(run.replay, run.api_key_file, run.output_schema)


def _paths(*given: str | None) -> Iterator[str]:
    """The paths among these values; a schema may be given itself, in place of its file."""
    return (path for path in given if path is not None and not path.lstrip().startswith("{"))
