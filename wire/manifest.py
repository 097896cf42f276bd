"""`extension.json`: what a manifest may say.

zot's fields keep their meaning and unknown fields are ignored. `priority`, `on_failure` and `timeouts` are ours.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

import msgspec

from wire.lenient_json import UNREADABLE, reason

_UNFIT = r"\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069/\\"
NAME_PATTERN = rf"^[^{_UNFIT}.][^{_UNFIT}]{{0,63}}$(?!\n)"
"""Names become file names of logs, keys of records and words on a terminal; zot takes any text, even `/../../evil`.
The last part is for Python, whose `$` lets a line feed follow."""

Seconds = Annotated[float, msgspec.Meta(gt=0, le=86_400)]


class Timeouts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds that the host waits for this extension. Every wait has a limit."""

    hello: Seconds | None = None
    """Default 10; 60 when `exec` is npx, uvx, bunx, pipx or pnpx, which may download first."""
    ready: Seconds = 3.0
    """From the hello on."""
    tool_call: Seconds = 60.0
    intercept: Seconds = 5.0
    command: Seconds = 30.0


class Manifest(msgspec.Struct, frozen=True):
    name: Annotated[str, msgspec.Meta(pattern=NAME_PATTERN)]
    exec: Annotated[str, msgspec.Meta(min_length=1)]
    """Absolute; or starting with `./` or `../` or holding a `/`: from the manifest's folder; or a bare name on PATH."""
    args: tuple[str, ...] | None = None
    version: str | None = None
    language: str | None = None
    description: str | None = None
    enabled: bool | None = None
    """Absent or null means enabled."""
    priority: int = 0
    """Guards are asked from high to low; equal ones by scope (`--ext`, project, global) and name."""
    on_failure: Literal["allow", "deny"] = "allow"
    """What a missing verdict (timeout, crash, bad answer) means for what was to be judged."""
    timeouts: Timeouts = msgspec.field(default_factory=Timeouts)

    @property
    def is_enabled(self) -> bool:
        return self.enabled is not False


class ManifestError(ValueError):
    """The text says what is wrong and with which field."""


_decoder = msgspec.json.Decoder(Manifest)
_NAMED_FIELD = re.compile(r"`(name|exec)`")


def parse_manifest(text: bytes) -> Manifest:
    """Reads and checks a manifest. Raises `ManifestError` with one line that names the field."""
    try:
        return _decoder.decode(text)
    except msgspec.ValidationError as error:
        fault = str(error)
        if "required field" in fault and (field := _NAMED_FIELD.search(fault)):
            raise ManifestError(f"manifest: {field[1]} is required") from None
        if "matching regex" in fault:
            raise ManifestError(
                "manifest: name must be 1 to 64 characters, without slashes or control characters, "
                "and not start with a dot"
            ) from None
        raise ManifestError(f"manifest: {fault}") from None
    except UNREADABLE as error:
        raise ManifestError(f"parse manifest: {reason(error)}") from None
