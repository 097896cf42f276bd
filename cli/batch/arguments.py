"""The arguments of a batch's command line, as values for the batch and its views."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from agent.batch.request import BatchRequest
from agent.batch.tasks.select import Selection, SelectionError, filter_from, shard_from, slice_from
from agent.providers.key_file import KeyFileError, read_key
from cli.batch.output.stderr import ProgressStyle
from cli.choices import CommandLineError
from cli.run.request import FlagError, request_from
from wire.flags.batch import OF_EACH_RUN, OF_THE_BATCH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent.options import RunRequest
    from wire.flags.flag import Flag

STDIN = "-"
DEFAULT_SEED = 0


class BatchArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The request for a batch, the place of its tasks, and the choice of output."""

    request: BatchRequest
    folder: str
    """RUNDIR as the user has written it."""
    tasks: str
    """A file, or `-`."""
    template: str | None = None
    selection: Selection
    show: ProgressStyle = ProgressStyle.AUTO
    as_json: bool = False
    has_events: bool = True
    """Whether `as_json` includes the events of the runs."""
    resumes: bool = False
    """Whether the folder must already hold a batch."""
    is_dry_run: bool = False
    """Whether nothing is run, and what would be is printed."""


def arguments_from(given: Mapping[str, Any]) -> BatchArguments:
    """Makes the arguments. `given` has the parameters of `command.batch`. Raises `CommandLineError`."""
    tasks = given["tasks"]
    if tasks == STDIN and given["api_key_file"] == STDIN:
        raise CommandLineError("the tasks and --api-key-file are both -: stdin can be only one of them")
    if given["score"] is not None and not given["score"].strip():
        raise CommandLineError("--score is empty: name the command")
    if given["no_events"] and not given["json"]:
        raise CommandLineError("--no-events has no effect without --json")
    try:
        run = request_from({flag.name: given[flag.name] for flag in OF_EACH_RUN} | {"no_session": True})
    except FlagError as error:
        raise CommandLineError(str(error)) from None
    own = {flag.field or flag.name: _value(flag, given) for flag in OF_THE_BATCH if given[flag.name] is not None}
    request = BatchRequest(
        redo=tuple(given["redo"] or ()), folder=folder_from(given["output"]), run=absolute_paths(run), **own
    )
    request = replace(request, upload=_absolute(request.upload))
    return BatchArguments(
        request=request,
        folder=given["output"],
        tasks=tasks,
        template=given["template"],
        selection=_selection(given),
        show=show_from(no_progress=given["no_progress"], quiet=given["quiet"]),
        as_json=given["json"],
        has_events=not given["no_events"],
        resumes=given["resume"],
        is_dry_run=given["dry_run"],
    )


def _value(flag: Flag, given: Mapping[str, Any]) -> Any:
    """The value of the flag's field: a flag `--no-…` makes it false."""
    return not given[flag.name] if flag.name.startswith("no_") else given[flag.name]


def absolute_paths(run: RunRequest) -> RunRequest:
    """Relative paths of flags start at the folder of the command; the runs work in the folders of their tasks. A key on
    stdin is read here: the runs have another stdin. Raises `CommandLineError`."""
    if run.api_key_file == STDIN and run.api_key is None:
        try:
            run = replace(run, api_key=read_key(STDIN)[0], api_key_file=None)
        except KeyFileError as error:
            raise CommandLineError(str(error)) from None
    schema = run.output_schema
    is_schema_itself = schema is not None and schema.lstrip().startswith("{")
    key = run.api_key_file
    return replace(
        run,
        replay=_absolute(run.replay),
        output_schema=schema if is_schema_itself else _absolute(schema),
        extensions=tuple(os.path.abspath(folder) for folder in run.extensions),
        mcp_configs=tuple(os.path.abspath(file) for file in run.mcp_configs),
        api_key_file=key if key == STDIN else _absolute(key),
    )


def _absolute(path: str | None) -> str | None:
    return path if not path else os.path.abspath(path)


def _selection(given: Mapping[str, Any]) -> Selection:
    if given["seed"] is not None and not given["shuffle"]:
        raise CommandLineError("--seed has no effect without --shuffle")
    seed = DEFAULT_SEED if given["seed"] is None else given["seed"]
    try:
        return Selection(
            slice=None if given["slice"] is None else slice_from(given["slice"]),
            filters=tuple(filter_from(text) for text in given["filter"] or ()),
            shuffle_seed=seed if given["shuffle"] else None,
            limit=given["limit"],
            repeat=given["repeat"],
            shard=None if given["shard"] is None else shard_from(given["shard"]),
        )
    except SelectionError as error:
        raise CommandLineError(str(error)) from None


def folder_from(text: str) -> Path:
    """The absolute path of a folder that is given. Raises `CommandLineError` for an empty one."""
    if not text.strip():
        raise CommandLineError("RUNDIR is empty: name the folder of the batch")
    return Path(text).absolute()


def show_from(*, no_progress: bool, quiet: bool) -> ProgressStyle:
    return ProgressStyle.NOTHING if quiet else ProgressStyle.LINES if no_progress else ProgressStyle.AUTO
