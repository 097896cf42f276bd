"""`extension.json`: what a manifest may say.

zot's fields keep their meaning and unknown fields are ignored. All from `priority` on are ours.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from wire.field_errors import explain
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


VARIABLE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$(?!\n)"
Variable = Annotated[str, msgspec.Meta(pattern=VARIABLE_PATTERN)]
EnvPolicy = Literal["inherit", "minimal"]

ExitCode = Annotated[int, msgspec.Meta(ge=0, le=255)]


class Restart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a process of this extension that has ended is started again."""

    policy: Literal["transient", "permanent", "temporary"] = "transient"
    """transient: after an exit that is not 0, a signal, a stall or a limit; permanent: after every exit; temporary:
    never."""
    max: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 5
    """So many exits within `window_s`, and it is given up."""
    window_s: Seconds = 60.0
    backoff_s: tuple[Seconds, Seconds] = (0.5, 30.0)
    """The first wait, doubled each time, and the longest. Jitter makes each up to a quarter longer or shorter."""
    no_restart_exit: tuple[ExitCode, ...] = ()
    """Exit codes that mean "do not start me again"; 125 always does."""


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an extension may use, over its whole process tree. What is left out comes from `limits` in
    `$ZOT_HOME/config.json`, and is not limited if it is not there either."""

    rss_mb: Annotated[float, msgspec.Meta(gt=0)] | None = None
    cpu_percent: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Of one core, between two samples."""
    cpu_seconds: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Of each start."""
    processes: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """More than twice as many are not waited for: that breach is enough alone."""
    open_files: Annotated[int, msgspec.Meta(ge=8)] | None = None
    """Of all its processes together; and the kernel refuses any one of them more."""
    frames_per_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """That it sends, between two samples."""
    output_bytes: Annotated[int, msgspec.Meta(ge=1024)] | None = None
    """Of one frame. A longer answer is dropped and its call fails."""
    log_mb: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Of all log files together; 5 if nothing is said."""
    file_mb: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Of each file that it writes: the kernel refuses more."""
    breaches: Annotated[int, msgspec.Meta(ge=1, le=100)] | None = None
    """So many samples in a row over a limit before anything is done; 3 if nothing is said."""
    action: Literal["restart", "stop"] | None = None
    """What is done then; restart if nothing is said."""

    def over(self, defaults: Limits) -> Limits:
        """These, with the defaults where they say nothing."""
        theirs, ours = msgspec.structs.asdict(defaults), msgspec.structs.asdict(self)
        return Limits(**{name: theirs[name] if value is None else value for name, value in ours.items()})


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
    restart: Restart = msgspec.field(default_factory=Restart)
    limits: Limits = msgspec.field(default_factory=Limits)
    required: bool = False
    """A run that cannot start it fails, with exit status 9."""
    workers: Annotated[int, msgspec.Meta(ge=1, le=64)] = 1
    """So many processes of it, which keep no state between calls: each tool call goes to the least busy one."""
    watchdog_s: Seconds | None = None
    """How often it is sent a `ping`, if its hello has the capability `ping`; no `pong` before the next one is due
    means that it hangs."""
    stall_after: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 3
    """So many requests in a row without an answer in time mean that it hangs: it is ended, and started again."""
    dump_on_stall: bool = False
    """It is sent SIGQUIT before it is ended for hanging, and writes where it is to its stderr (`faulthandler`)."""

    env: tuple[Variable, ...] = ()
    """Variables of the host's environment that it needs although they are kept from extensions: provider keys, and
    what the config names as secret; with `env_policy` minimal also any other."""
    env_policy: EnvPolicy | None = None
    """inherit: the host's environment without its secrets; minimal: only what every program needs, and `env`. What the
    config says if nothing is said here; a config that says minimal cannot be widened here."""

    @property
    def is_enabled(self) -> bool:
        return self.enabled is not False


class ManifestError(ValueError):
    """The text says what is wrong and with which field."""


_decoder = msgspec.json.Decoder(Manifest)


def parse_manifest(text: bytes) -> Manifest:
    """Reads and checks a manifest. Raises `ManifestError` with one line that names the field."""
    try:
        return _decoder.decode(text)
    except msgspec.ValidationError as error:
        fault = str(error)
        if "matching regex" in fault:
            raise ManifestError(
                "manifest: name must be 1 to 64 characters, without slashes or control characters, "
                "and not start with a dot"
            ) from None
        raise ManifestError(f"manifest: {explain(Manifest, fault)}") from None
    except UNREADABLE as error:
        raise ManifestError(f"parse manifest: {reason(error)}") from None
