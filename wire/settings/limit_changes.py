"""Limits of an extension that its user sets, by a command or in `config.json`, and how they count. Pure.

They count more than the limits of the manifest, which count more than the `limits` for all extensions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import inspect

from wire.field_errors import explain
from wire.manifest import Limits
from wire.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

LimitValue = int | float | str | None
LimitChanges = Mapping[str, LimitValue]
"""Values by the names of limits. None: there is no such limit, whatever the manifest says."""
NONE = "none"
DEFAULT = "default"
"""The value that takes back what the user has set: the manifest counts again."""
ALIASES = {"cpu_pct": "cpu_percent"}
"""Other words for limits, on a command line."""
NEXT_START = ("open_files", "file_mb", "output_bytes")
"""Limits that hold, or that the kernel enforces, only from the next start of a process."""
_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,9})?")
_FIELDS = {field.name: field for field in msgspec.structs.fields(Limits)}
LimitOrigin = Literal["command", "kept", "manifest", "config", ""]
"""The origin of a limit: `zot ext limit` in this host, `extension_limits` of config.json, the manifest, or the `limits`
of config.json for all extensions; empty if unknown."""


class LimitError(ValueError):
    """A limit that makes no sense; the text names it and says what to write."""


def parse_changes(words: Iterable[str]) -> dict[str, LimitValue]:
    """Reads the words of a command: `rss_mb=300`, `rss_mb=none`, `rss_mb=default`. Raises `LimitError`."""
    changes: dict[str, LimitValue] = {}
    for word in words:
        said, equals, text = word.partition("=")
        name = ALIASES.get(said, said)
        _require_known(name)
        if not equals:
            raise LimitError(f"{said}: write NAME=VALUE, as in {name}={_example(name)}, or {name}={NONE}")
        if name in changes:
            raise LimitError(f"{name} is there twice, and only one of them could count")
        changes[name] = _value(name, text)
    return check_changes(changes, may_reset=True)


def check_changes(changes: Mapping[str, Any], *, may_reset: bool = False) -> dict[str, LimitValue]:
    """Checks values from JSON; `may_reset` allows `default`. Raises `LimitError`."""
    checked: dict[str, LimitValue] = {}
    for name, value in changes.items():
        _require_known(name)
        if value is None or (value == DEFAULT and may_reset):
            checked[name] = value
            continue
        try:
            checked[name] = getattr(msgspec.convert({name: value}, Limits), name)
        except msgspec.ValidationError as error:
            fault = explain(Limits, str(error))
            raise LimitError(fault if name == "action" else f"{name}: {_expected(name)}, not {value!r}") from None
    return checked


def _require_known(name: str) -> None:
    if name not in _FIELDS:
        hint = did_you_mean(name, _FIELDS) or f"there are {', '.join(_FIELDS)}"
        raise LimitError(f"no such limit: {name[:80]!r}; {hint}")


def _value(name: str, text: str) -> LimitValue:
    """The value of a word. A text that is no number stays a text, which `check_changes` refuses."""
    if text == NONE:
        return None
    if name == "action" or not _NUMBER.fullmatch(text):
        return text[:80]
    number = float(text)
    return int(number) if number.is_integer() else number


def _kind(name: str) -> inspect.Type:
    kind = inspect.type_info(_FIELDS[name].type)
    return next(each for each in kind.types if not isinstance(each, inspect.NoneType)) if isinstance(
        kind, inspect.UnionType
    ) else kind  # fmt: skip


def _expected(name: str) -> str:
    kind = _kind(name)
    if isinstance(kind, inspect.IntType):
        most = "" if kind.le is None else f" and at most {kind.le}"
        return f"write a whole number of at least {kind.ge}{most}, or {NONE}"
    return f"write a number above 0, or {NONE}"


def _example(name: str) -> str:
    return {"action": "stop", "rss_mb": "300", "output_bytes": "65536"}.get(name, "50")


class LimitRules(msgspec.Struct, frozen=True):
    """Where the limits of the extensions of one host come from. The first of `ordered`, `kept`, the manifest and
    `defaults` that has a limit counts."""

    defaults: Limits = msgspec.field(default_factory=Limits)
    """The limits for all extensions."""
    kept: Mapping[str, LimitChanges] = {}
    """The limits that the user keeps, by the names of extensions."""
    ordered: Mapping[str, LimitChanges] = {}
    """The limits of commands in this host, by the names of extensions. They replace those of `kept`, limit by limit."""

    def of(self, name: str, manifest: Limits) -> Limits:
        """The limits of the extension with this name, whose manifest has the limits `manifest`."""
        limits = manifest.over(self.defaults)
        changes: dict[str, Any] = {**self.kept.get(name, {}), **self.ordered.get(name, {})}
        return msgspec.structs.replace(limits, **changes) if changes else limits

    def origins(self, name: str, manifest: Limits) -> dict[str, LimitOrigin]:
        """The origin of each limit of `of`."""
        ordered, kept = self.ordered.get(name, {}), self.kept.get(name, {})

        def origin(limit: str) -> LimitOrigin:
            if limit in ordered:
                return "command"
            if limit in kept:
                return "kept"
            return "config" if getattr(manifest, limit) is None else "manifest"

        return {limit: origin(limit) for limit in _FIELDS if getattr(self.of(name, manifest), limit) is not None}

    def with_order(self, name: str, changes: LimitChanges, *, is_kept: bool = False) -> LimitRules:
        """The rules after a command for one extension, whose limits the user keeps with `is_kept`. `default` takes back
        what the user has set so far."""
        ordered, kept = self.ordered.get(name, {}), self.kept.get(name, {})
        if is_kept:
            ordered = {limit: value for limit, value in ordered.items() if limit not in changes}
            kept = merge_changes(kept, changes)
        else:
            ordered = merge_changes(ordered, changes)
            kept = {limit: value for limit, value in kept.items() if changes.get(limit) != DEFAULT}
        return LimitRules(self.defaults, {**self.kept, name: kept}, {**self.ordered, name: ordered})


def merge_changes(before: LimitChanges, changes: LimitChanges) -> dict[str, LimitValue]:
    """The earlier values with the new ones in their place, and without those that are `default` now."""
    return {limit: value for limit, value in {**before, **changes}.items() if value != DEFAULT}


def shown_changes(changes: LimitChanges) -> str:
    """The values for people: `rss_mb 300, processes none`."""
    values = {name: NONE if value is None else value for name, value in changes.items()}
    return ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}" for name, value in values.items()
    )


def written(value: LimitValue) -> LimitValue:
    """The value as a file has it: 300, not 300.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
