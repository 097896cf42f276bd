"""The fields of a manifest, `extension.json`.

zot's fields keep their meaning, and unknown fields are ignored. The fields from `priority` on are ours.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from wire.field_errors import explain
from wire.lenient_json import UNREADABLE, reason

_UNFIT = r"\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069/\\"
NAME_PATTERN = rf"^[^{_UNFIT}.][^{_UNFIT}]{{0,63}}$(?!\n)"
"""A name becomes the file name of a log, a key in records, and a word on a terminal. zot takes any text, even
`/../../evil`. The last part of the pattern is for Python, where `$` also matches before a final line feed."""

Seconds = Annotated[float, msgspec.Meta(gt=0, le=86_400)]


class Timeouts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds that the host waits for this extension. Every wait has a limit."""

    hello: Seconds | None = None
    """Default 10; 60 when `exec` is npx, uvx, bunx, pipx or pnpx, which may download first."""
    ready: Seconds = 3.0
    """After the hello."""
    tool_call: Seconds = 60.0
    intercept: Seconds = 5.0
    command: Seconds = 30.0


VARIABLE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$(?!\n)"
Variable = Annotated[str, msgspec.Meta(pattern=VARIABLE_PATTERN)]
EnvPolicy = Literal["inherit", "minimal"]

ExitCode = Annotated[int, msgspec.Meta(ge=0, le=255)]


class Restart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a worker of this extension is started again after it has ended."""

    policy: Literal["transient", "permanent", "temporary"] = "transient"
    """transient: after an exit that is not 0, a signal, a stall or a limit; permanent: after every exit; temporary:
    never."""
    max: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 5
    """The number of exits within `window_s` after which the extension is given up."""
    window_s: Seconds = 60.0
    backoff_s: tuple[Seconds, Seconds] = (0.5, 30.0)
    """Seconds: the first wait before a restart, which doubles each time, and the longest wait. Each varies by up to a
    quarter."""
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
    """More than twice as many count as a breach that is acted on at once, whatever `breaches` says."""
    open_files: Annotated[int, msgspec.Meta(ge=8)] | None = None
    """Of all its processes together. The kernel also enforces it for each process alone."""
    frames_per_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Frames that it sends, between two samples."""
    output_bytes: Annotated[int, msgspec.Meta(ge=1024)] | None = None
    """Of one frame. A longer answer is dropped and its call fails."""
    log_mb: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Of all its log files together; default 5."""
    file_mb: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Of each file that it writes; the kernel enforces it."""
    breaches: Annotated[int, msgspec.Meta(ge=1, le=100)] | None = None
    """How many samples in a row must be over a limit before `action` is taken; default 3."""
    action: Literal["restart", "stop"] | None = None
    """What is done then; default restart."""

    def over(self, defaults: Limits) -> Limits:
        """These limits, with those of `defaults` where a field is null."""
        theirs, ours = msgspec.structs.asdict(defaults), msgspec.structs.asdict(self)
        return Limits(**{name: theirs[name] if value is None else value for name, value in ours.items()})


class Manifest(msgspec.Struct, frozen=True):
    name: Annotated[str, msgspec.Meta(pattern=NAME_PATTERN)]
    exec: Annotated[str, msgspec.Meta(min_length=1)]
    """The program: an absolute path, a path with a `/` that starts in the manifest's folder, or a bare name on PATH."""
    args: tuple[str, ...] | None = None
    version: str | None = None
    language: str | None = None
    description: str | None = None
    enabled: bool | None = None
    """Absent or null means enabled."""
    priority: int = 0
    """Guards are asked by priority, the highest first; equal ones by scope (`--ext`, project, global) and name."""
    on_failure: Literal["allow", "deny"] = "allow"
    """What happens to a guarded event when the verdict is missing (timeout, crash, bad answer)."""
    independent: bool = False
    """Whether its verdicts do not depend on those of other guards. Independent guards that follow one another are asked
    at the same time; if one of them rewrites the event, those behind it are asked again."""
    timeouts: Timeouts = msgspec.field(default_factory=Timeouts)
    restart: Restart = msgspec.field(default_factory=Restart)
    limits: Limits = msgspec.field(default_factory=Limits)
    required: bool = False
    """A run that cannot start it fails with exit status 9."""
    workers: Annotated[int, msgspec.Meta(ge=1, le=64)] = 1
    """The number of its processes. They must keep no state between calls: each tool call goes to the least busy one."""
    watchdog_s: Seconds | None = None
    """Seconds between two `ping` frames, if its hello has the capability `ping`. Without a `pong` before the next ping
    is due, it counts as hanging."""
    stall_after: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 3
    """After so many requests in a row without an answer in time it counts as hanging: it is ended and restarted."""
    dump_on_stall: bool = False
    """Whether it gets SIGQUIT before it is ended for hanging, to write a stack trace to stderr (`faulthandler`)."""

    env: tuple[Variable, ...] = ()
    """Variables of the host's environment that it needs although extensions do not get them: secrets, such as
    `GITHUB_TOKEN`; with `env_policy` minimal also any other variable."""
    env_policy: EnvPolicy | None = None
    """inherit: the host's environment without its secrets; minimal: only the variables that every program needs, and
    `env`. Default: the value in the config. If that is minimal, inherit has no effect here."""

    @property
    def is_enabled(self) -> bool:
        return self.enabled is not False


class ManifestError(ValueError):
    """The text names the field and says what is wrong."""


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
