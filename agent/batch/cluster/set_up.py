"""The first frame for a node, made of the flags and the tasks of a batch."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agent.batch.run.begin import encode_request
from wire.batch.node_frames import SetUp
from wire.batch.task import Task

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agent.batch.request import BatchRequest
    from wire.batch.link import WorktreeBase
    from wire.batch.node_frames import FolderExtensions


def set_up(
    request: BatchRequest,
    tasks: Sequence[Task],
    *,
    version: str,
    token: str,
    bases: Iterable[WorktreeBase] = (),
    extensions: Iterable[FolderExtensions] = (),
) -> SetUp:
    """The frame, without the name of its node. It has no key: each node reads its own. With `upload`, links in the
    paths are looked at."""
    assert request.run.api_key is None, "a key stays on its machine"
    here, run = os.getcwd(), request.run
    cwd = os.path.join(here, run.cwd or "")
    folders = {
        path for task in tasks for path in (task.cwd or cwd, *(run.extensions if task.ext is None else task.ext))
    }
    files = {*_files_of_flags(request), *(path for task in tasks for path in _files_of(task))}
    upload = os.path.realpath(request.upload) if request.upload else ""
    places = {cwd, *folders, *map(os.path.dirname, files), *(() if run.home is None else (str(run.home),))}
    return SetUp(
        node="",
        version=version,
        token=token,
        request=bytes(encode_request(replace(run, cwd=cwd, trace=False))),
        share=request.share,
        run_memory=request.run_memory,
        folders=tuple(sorted(folders)),
        files=tuple(sorted(files)),
        models=_models(request, tasks),
        repositories=tuple(sorted((base.repository, base.commit) for base in bases)),
        extensions=tuple(sorted(extensions)),
        cwd=here,
        upload=upload,
        links=tuple(sorted(_links(upload, (os.path.join(here, path) for path in places)))) if upload else (),
    )


def _files_of(task: Task) -> Iterator[str]:
    yield from task.files
    yield from _paths(task.replay)
    if isinstance(task.output_schema, str):
        yield from _paths(task.output_schema)


def _files_of_flags(request: BatchRequest) -> Iterator[str]:
    run = request.run
    yield from (*run.mcp_configs, *run.images)
    yield from _paths(run.replay, run.output_schema)


def _paths(*given: str | None) -> Iterator[str]:
    """The paths among these values; a schema may be given itself, in place of its file."""
    return (path for path in given if path is not None and not path.lstrip().startswith("{"))


def _models(request: BatchRequest, tasks: Iterable[Task]) -> tuple[Task, ...]:
    """As in `SetUp.models`, without prompts, and without the values of variables. Replayed tasks need none."""
    found: dict[tuple[Any, ...], Task] = {}
    of_batch = next(filter(None, (request.task_max_cost_usd, request.max_cost_usd)), None)
    for task in tasks if request.run.replay is None else ():
        if task.replay is None:
            budget = of_batch if task.max_cost_usd is None else task.max_cost_usd
            key = (task.provider, task.model, task.base_url, budget is not None, frozenset(task.env))
            if key not in found:
                found[key] = Task(
                    id=task.id, prompt="-", provider=task.provider, model=task.model, base_url=task.base_url,
                    max_cost_usd=budget, env=dict.fromkeys(task.env, ""),
                )  # fmt: skip
    return tuple(found.values())


def _links(upload: str, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """As in `SetUp.links`."""
    for path in {os.path.normpath(path) for path in paths}:
        real = os.path.realpath(path)
        if real != path and os.path.commonpath((upload, real)) == upload:
            yield path, real
