"""Hashes of tasks with all that they depend on, to find out at a later start what has changed meanwhile."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from agent.model.access import hide_credentials

if TYPE_CHECKING:
    from agent.batch.request import BatchRequest
    from wire.batch.task import Task

SIGNS = 32
"""Hex digits of a digest."""
VERSION = 1
"""Changes when digests are made in another way."""
RUN_FIELDS = (
    "provider", "model", "base_url", "system_prompt", "append_system_prompt", "reasoning", "replay", "tools",
    "extensions", "discover", "trust_project", "strict_guards", "cwd", "max_steps", "max_cost_usd", "max_tokens",
    "timeout", "output_schema", "images", "skills", "user_skills", "context_files", "auto_compact",
)  # fmt: skip
"""The flags that have always counted."""
NOT_COUNTED = (
    "api_key", "api_key_file", "record", "extension_wait", "watch", "stream_before_guards", "keep_session",
    "continue_last", "resume", "session", "fork", "stats", "metrics", "openmetrics", "home", "host", "host_version",
    "is_host_of_batch", "trusted_content", "trace", "batch_trace", "batch_alerts", "profile_on_stall",
    "cache_ttl", "otel", "otel_content",
)  # fmt: skip
"""Credentials, what is only about what is kept or shown of a run, and where the processes of its extensions are."""
BATCH_FIELDS = ("workspace", "task_timeout", "task_max_cost_usd", "run_memory")
OVERRIDES = {
    "provider": ("provider",), "model": ("model",), "base_url": ("base_url",), "system_prompt": ("system_prompt",),
    "ext": ("extensions",), "tools": ("tools",), "max_steps": ("max_steps",),
    "timeout_s": ("timeout", "task_timeout"), "max_cost_usd": ("max_cost_usd", "task_max_cost_usd"),
    "output_schema": ("output_schema",), "replay": ("replay",), "cwd": ("cwd",),
}  # fmt: skip
"""The flags that a field of a task takes the place of."""
_overriding = attrgetter(*OVERRIDES)
_encoder = msgspec.json.Encoder(order="sorted")


class Digests:
    """Digests for one start of a batch. Each file is read once, unless it changes meanwhile."""

    def __init__(self, request: BatchRequest) -> None:
        self._contents: dict[tuple[str, int, int, int], str] = {}
        self._flags: dict[str, Any] = {name: getattr(request.run, name) for name in RUN_FIELDS}
        self._flags |= {name: getattr(request, name) for name in BATCH_FIELDS}
        self._flags["tools"] = sorted(request.run.tools)
        self._flags["base_url"] = request.run.base_url and hide_credentials(request.run.base_url)
        self._files: dict[str, tuple[str, ...]] = {
            "replay": _path(request.run.replay),
            "output_schema": _path(request.run.output_schema),
            "images": request.run.images,
        }
        # All others count only if they are given, so that digests are those of versions without these flags.
        for flag in {*request.run.__struct_fields__}.difference(RUN_FIELDS, NOT_COUNTED):
            if given := getattr(request.run, flag):
                self._flags[flag] = given
        if request.command_prefix:
            self._flags["command_prefix"] = request.command_prefix
        if named := request.run.mcp_configs:
            self._files["mcp_configs"] = named
        self._settings: dict[tuple[str, ...], bytes] = {}
        self._overriding: tuple[Any, ...] = ()
        self._hashed: hashlib._Hash | None = None
        """The hash so far of a task with these fields in place of flags."""
        self.settings = hashlib.sha256(self._settings_without(())).hexdigest()[:SIGNS]
        """Digest of all flags that change a run."""

    def of(self, task: Task) -> str:
        """Of the task, the content of the files that it names, and the flags that it does not take the place of. Equal
        digests mean that the run would be asked the same; its working folder may have changed. A file that is missing
        counts, too, and `score` does not: another one changes no run. The values of `env` cannot be read from it."""
        overriding = _overriding(task)
        if overriding != self._overriding or self._hashed is None:  # most tasks are as the one before
            self._overriding = overriding
            given = zip(OVERRIDES, overriding, strict=True)
            settings = self._settings_without(tuple([name for name, value in given if value is not None]))
            self._hashed = hashlib.sha256(settings + b"\n")
        made = self._hashed.copy()
        made.update(_encoder.encode(task if task.score is None else replace(task, score=None)))
        if names_files(task):
            paths = (*task.files, *_path(task.replay), *_path(task.output_schema))
            made.update(b"\n" + _encoder.encode([self._content(path) for path in paths]))
        return made.hexdigest()[:SIGNS]

    def _settings_without(self, overridden: tuple[str, ...]) -> bytes:
        found = self._settings.get(overridden)
        if found is None:
            left_out = {flag for name in overridden for flag in OVERRIDES[name]}
            flags = {name: value for name, value in self._flags.items() if name not in left_out}
            files = {
                name: [self._content(path) for path in paths]
                for name, paths in self._files.items()
                if name not in left_out
            }
            found = self._settings[overridden] = _encoder.encode([VERSION, flags, files])
        return found

    def _content(self, path: str) -> str:
        """The hash of a regular file; of anything else, why there is none."""
        try:
            found = os.stat(path)
            if not stat.S_ISREG(found.st_mode):
                return "no regular file"
            key = (path, found.st_size, found.st_mtime_ns, found.st_ino)
            content = self._contents.get(key)
            if content is None:
                with open(path, "rb") as file:
                    content = self._contents[key] = hashlib.file_digest(file, "sha256").hexdigest()
            return content
        except OSError as error:
            return errno.errorcode.get(error.errno or 0, "unreadable")
        except ValueError:
            return "no path"


def names_files(task: Task) -> bool:
    """Whether the digest of the task depends on files that it names."""
    return bool(task.files) or task.replay is not None or isinstance(task.output_schema, str)


def _path(given: object) -> tuple[str, ...]:
    """The path, if this is one and not a schema."""
    return (given,) if isinstance(given, str) and not given.lstrip().startswith("{") else ()
