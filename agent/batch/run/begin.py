"""Makes the request for a run of a task, from the flags of the batch and the task. Pure, but for `attach_files`, which
reads the files that go with the prompt."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import asdict, replace

from agent.batch.tasks.repeat import variables
from agent.options import RunRequest
from agent.request_checks import UsageError
from supervisor.home.safe_files import read_file, read_start
from wire.image_types import HEAD_BYTES, image_type
from wire.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, MutableMapping

    from wire.batch.task import Task

FILE_LIMIT = 512 * 1024
"""Bytes of one file of text."""
FILES_LIMIT = 1024 * 1024
"""Bytes of all files of text of a task: about 300,000 tokens."""
UNUSED: dict[str, Any] = {
    "keep_session": False, "continue_last": False, "resume": None, "session": None, "fork": False,
    "stats": None, "metrics": None, "openmetrics": False, "otel": False, "otel_content": False, "record": None,
    "watch": False, "timeout": None,
}  # fmt: skip
"""Fields that no run of a batch has: the batch itself keeps its time, its events take the place of a session, and
it exports the spans."""


_DEFAULTS = asdict(RunRequest())


# --- the request, as JSON -----------------------------------------------------------------------------------


def encode_request(request: RunRequest) -> msgspec.Raw:
    """As in `Begin.request`."""
    given = {name: value for name, default in _DEFAULTS.items() if (value := getattr(request, name)) != default}
    return msgspec.Raw(msgspec.json.encode(given, enc_hook=os.fspath))


def decode_request(raw: msgspec.Raw) -> RunRequest:
    """Reads the output of `encode_request`. Raises `msgspec.DecodeError`."""
    given = msgspec.json.decode(raw, type=dict[str, Any])
    for name, value in given.items():
        if isinstance(value, list):
            given[name] = type(_DEFAULTS[name])(value)
    home = given.pop("home", None)
    return RunRequest(**given, home=None if home is None else Path(home))


# --- the task -----------------------------------------------------------------------------------------------


def run_request(flags: RunRequest, task: Task) -> RunRequest:
    """The request for this task. Its fields replace those of the flags; lists are not joined. Images come from
    `files`."""
    said: dict[str, Any] = {
        "cwd": task.cwd,
        "model": task.model,
        "base_url": task.base_url,
        "system_prompt": task.system_prompt,
        "extensions": task.ext,
        "tools": None if task.tools is None else frozenset(task.tools),
        "max_steps": task.max_steps,
        "max_cost_usd": task.max_cost_usd,
        "replay": task.replay,
        "output_schema": _schema(task.output_schema),
    }
    given = {name: value for name, value in said.items() if value is not None}
    if task.provider is not None:
        given |= {"provider": task.provider}
        if task.provider != flags.provider:  # a key goes to its own provider only
            given |= {"api_key": None, "api_key_file": None, "base_url": task.base_url}
    if task.replay is not None:
        given |= {"provider": None}
    return replace(flags, **UNUSED, **given)


def _schema(given: dict[str, Any] | str | None) -> str | None:
    return msgspec.json.encode(given).decode() if isinstance(given, dict) else given


def set_environment(environ: MutableMapping[str, str], task: Task) -> None:
    """Sets the variables of the task, and those of a repetition. Raises `UsageError`."""
    for name, value in task.env.items():
        if not name or "=" in name or "\0" in name + value:
            raise UsageError(
                f"env: no environment can have the variable {printable(name)!r}: its name is empty or has '=', or"
                " there is a zero byte in it"
            )
        environ[name] = value
    environ.update(variables(task))


# --- files --------------------------------------------------------------------------------------------------


def attach_files(request: RunRequest, task: Task) -> tuple[RunRequest, str]:
    """The request with the images of the task, and the prompt with its files of text in front. Raises `UsageError`."""
    images, texts = [], []
    for path in task.files:
        try:
            if image_type(read_start(Path(path), HEAD_BYTES)):
                images.append(path)
            else:
                texts.append((path, read_file(Path(path), FILE_LIMIT).decode()))
        except UnicodeDecodeError:
            raise UsageError(
                f"files: {printable(path)}: neither an image nor text in UTF-8; name it in the prompt, so that the"
                " model uses its tools"
            ) from None
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            raise UsageError(f"files: {printable(path)}: cannot be read: {_reason(error)}") from None
    return replace(request, images=(*request.images, *images)), prompt_with_files(texts, task.prompt)


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def prompt_with_files(texts: Iterable[tuple[str, str]], prompt: str) -> str:
    """The prompt with files, each a path and its text, in front. Raises `UsageError` if they are too long together."""
    texts = list(texts)
    size = sum(len(text.encode()) for _, text in texts)
    if size > FILES_LIMIT:
        raise UsageError(
            f"files: the files of text have {size:,} bytes together; the limit is {FILES_LIMIT:,}. Name them in the"
            " prompt, so that the model reads what it needs"
        )
    blocks = [
        f'<file path="{path}">\n{text}{"" if text.endswith(chr(10)) else chr(10)}</file>\n' for path, text in texts
    ]
    return "\n".join([*blocks, prompt])
