"""The fields of a manifest, `extension.json`.

zot's fields keep their meaning; the fields from `priority` on are ours. An unknown field is ignored and named: at each
start, by `zot ext doctor` and by `zot ext install`. A near miss of `on_failure`, `required`, `limits`, `env` or
`env_policy`, and an unknown field inside `limits`, `timeouts` or `restart`, is an error: the extension is not started.
`$schema` may name the schema of `zot schema manifest`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from wire.data_files import covers, data_faults
from wire.dialects.table import MODULES, ZOT, with_defaults
from wire.field_errors import explain, fault_path
from wire.lenient_json import UNREADABLE, fault_of, find_repeated
from wire.suggestions import letters
from wire.unknown_fields import Guarding, UnknownField, Vocabulary, remark, split_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILE = "extension.json"
_UNFIT = r"\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069/\\"
NAME_PATTERN = rf"^[^{_UNFIT}.][^{_UNFIT}]{{0,63}}$(?!\n)"
"""A name becomes the file name of a log, a key in records, and a word on a terminal. zot accepts any text, even
`/../../evil`. The last part of the pattern is for Python, where `$` also matches before a final line feed."""

Seconds = Annotated[float, msgspec.Meta(gt=0, le=86_400)]


class Timeouts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds that the host waits for this extension. Every wait has a limit."""

    hello: Seconds | None = None
    """From the start of the process to its hello. Absent: 10; 60 if `exec` is npx, uvx, bunx, pipx or pnpx, which may
    download first. Dialect mcp: 30; 60 with a launcher. Dialect copilot: 30."""
    ready: Seconds = 3.0
    """From the hello to `ready`. After that time, or after 0.25 s without a frame, the extension counts as ready.
    Dialects mcp and copilot: 10."""
    tool_call: Seconds = 60.0
    """For the result of a tool call. After that time the model is told that the tool did not answer. Dialect copilot:
    300."""
    intercept: Seconds = 5.0
    """For the verdict of a guard. After that time `on_failure` decides. Dialect copilot: 30."""
    command: Seconds = 30.0
    """For the response to a slash command. Dialect copilot: 300."""


VARIABLE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$(?!\n)"
Variable = Annotated[str, msgspec.Meta(pattern=VARIABLE_PATTERN)]
EnvPolicy = Literal["inherit", "minimal"]
DialectName = Annotated[str, msgspec.Meta(extra_json_schema={"enum": list(MODULES)})]

ExitCode = Annotated[int, msgspec.Meta(ge=0, le=255)]
Sessions = Literal["private", "leased", "shared"]
StartMoment = Literal["eager", "lazy"]


class Restart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a worker of this extension is restarted after it has ended."""

    policy: Literal["transient", "permanent", "temporary"] = "transient"
    """transient: after an exit status other than 0, a signal, a stall or a limit; permanent: after every exit;
    temporary: never."""
    max: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 5
    """The number of exits within `window_s` after which the extension is given up."""
    window_s: Seconds = 60.0
    """Seconds of the window in which `max` counts exits."""
    backoff_s: tuple[Seconds, Seconds] = (0.5, 30.0)
    """Seconds: the first wait before a restart, which doubles each time, and the longest wait. Each varies by up to a
    quarter."""
    no_restart_exit: tuple[ExitCode, ...] = ()
    """Exit codes that mean "do not start me again"; 125 always does."""


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of an extension, over its whole process tree. A missing limit comes from `limits` in
    `$ZOT_HOME/config.json`; if it is missing there, too, there is no limit."""

    rss_mb: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Maximum memory of all its processes together, in megabytes (2^20 bytes). Absent: no limit."""
    cpu_percent: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Maximum processor time between two samples, in percent of one core: 200 means two cores. Absent: no limit."""
    cpu_seconds: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Maximum seconds of processor time since its start; a restart begins at 0. Absent: no limit."""
    processes: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Maximum number of its processes. At more than twice the number, `action` is taken at once, whatever `breaches`
    says. Absent: no limit."""
    open_files: Annotated[int, msgspec.Meta(ge=8)] | None = None
    """Maximum number of open files of all its processes together. The kernel also enforces it for each process alone.
    Absent: no limit."""
    frames_per_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Maximum number of frames that it sends in a second, between two samples. Absent: no limit."""
    output_bytes: Annotated[int, msgspec.Meta(ge=1024)] | None = None
    """Maximum size of one frame in bytes. A longer answer is dropped and its call fails. Absent: as its kind allows, at
    most 6 MiB."""
    log_mb: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Maximum size of all its log files together, in megabytes. Absent: 5."""
    file_mb: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Maximum size of each file that it writes, in megabytes; the kernel enforces it. Absent: no limit."""
    breaches: Annotated[int, msgspec.Meta(ge=1, le=100)] | None = None
    """Number of samples in a row over a limit after which `action` is taken. Absent: 3."""
    action: Literal["restart", "stop"] | None = None
    """restart: the extension is ended and restarted; stop: it is ended. Absent: restart."""

    def over(self, defaults: Limits) -> Limits:
        """Returns these limits, with those of `defaults` where a field is null."""
        theirs, ours = msgspec.structs.asdict(defaults), msgspec.structs.asdict(self)
        return Limits(**{name: theirs[name] if value is None else value for name, value in ours.items()})


class Manifest(msgspec.Struct, frozen=True, dict=True):
    """The description of an extension in `extension.json`. `name` is required, and `exec` or `skills`: without `exec`
    it has no program and is never started. A folder with a `theme.json` needs neither; a theme has no effect here."""

    name: Annotated[str, msgspec.Meta(pattern=NAME_PATTERN)]
    """The extension's name in messages, records and commands, and of its log and its data folder: 1 to 64 characters,
    without slashes and control characters, not starting with a dot."""
    exec: str = ""
    """The program, without arguments: an absolute path, a path with a `/` that starts in the manifest's folder, or a
    bare name on PATH. Absent: none."""
    args: tuple[str, ...] | None = None
    """The arguments of the program. They are not expanded; it runs in the manifest's folder. Absent: none."""
    skills: tuple[str, ...] | None = None
    """Folders with [skills](../skills.md), of which all folders below are searched, and `SKILL.md` files: paths in the
    extension's folder. The model is offered them as `EXTENSION:SKILL`. Absent: none."""
    version: str | None = None
    """Its version, for people: `zot ext list` and `info` show it. Absent: none is shown."""
    dialect: DialectName = "zot"
    """The protocol that it speaks: zot, or mcp for an MCP server on stdio. The defaults of `timeouts`, `restart` and
    `env_policy` depend on it. Absent: zot."""
    language: str | None = None
    """The language that it is written in, for people. It has no effect. Absent: none."""
    description: str | None = None
    """One line for people: `zot ext info` and `install` show it. Absent: none is shown."""
    enabled: bool | None = None
    """False: it is not started, unless it is named with `--ext`. `zot ext enable` and `disable` write it. Absent:
    true."""
    priority: int = 0
    """Guards are asked by priority, the highest first; equal ones by scope (`--ext`, project, global) and name."""
    on_failure: Literal["allow", "deny"] = "allow"
    """Whether a guarded event is allowed or denied if the verdict is missing (timeout, crash, bad answer)."""
    independent: bool = False
    """Whether its verdicts do not depend on those of other guards. Independent guards that follow one another are asked
    at the same time; if one of them rewrites the event, those behind it are asked again."""
    timeouts: Timeouts = msgspec.field(default_factory=Timeouts)
    """The times that the host waits for it: [Timeouts](#timeouts)."""
    restart: Restart = msgspec.field(default_factory=Restart)
    """The rules for starting it again: [Restart](#restart)."""
    limits: Limits = msgspec.field(default_factory=Limits)
    """The resources that it may use: [Limits](#limits)."""
    required: bool = False
    """Whether a run that cannot start it fails with exit status 9."""
    workers: Annotated[int, msgspec.Meta(ge=1, le=64)] = 1
    """The number of its processes. They must keep no state between calls: each tool call goes to the least busy one."""
    watchdog_s: Seconds | None = None
    """Seconds between two `ping` frames, if its hello has the capability `ping`. If the `pong` has not come when the
    next ping is due, it counts as hanging. Absent: no pings."""
    sessions: Sessions = "private"
    """The runs that one process of it serves, if they attach to a host: private: one run, which starts it; leased: one
    run after another, told apart by `lease_begin` and `lease_end`; shared: all at the same time, told apart by the
    `session_id` of frames. [Sharing](../sharing.md) has the rules."""
    start: StartMoment = "eager"
    """eager: its processes start with the host; lazy: with the first call, command, event or verdict for it. Until then
    the registrations of its last start hold. A guard starts eagerly unless this is written in its own manifest."""
    idle_stop_s: Seconds | None = None
    """With `start` lazy: seconds without a request or event after which its processes are stopped, until the next one.
    Absent: they stay."""
    stall_after: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 3
    """Number of requests in a row without an answer in time after which it counts as hanging: it is ended and
    restarted."""
    dump_on_stall: bool = False
    """Whether it gets SIGQUIT before it is ended for hanging, to write a stack trace to stderr (`faulthandler`)."""
    profile_on_stall: bool = False
    """Whether its process is profiled for two seconds before it is ended for hanging: Node, or Python with
    `pip install 'pyzot[profile]'`. The file is kept beside the trace of the run."""

    data: tuple[str, ...] = ()
    """Files that it writes in its own folder: the user's trust does not cover them, and an update keeps them. Each is a
    path in that folder, `todos.json`, where one `*` in a name stands for any characters, `logs/*.log`, but not for a
    dot at its start. Its ending is .json, .jsonl, .ndjson, .log, .db, .sqlite, .csv or .txt. Only regular files count,
    and not those that `exec`, `args` or a link names. `NAME.tmp` counts as NAME, and so do the further files of SQLite,
    `x.db-wal`. Absent: none."""
    env: tuple[Variable, ...] = ()
    """Variables of the host's environment that it needs and would not get otherwise: secrets, such as `GITHUB_TOKEN`;
    with `env_policy` minimal, any other variable too."""
    env_policy: EnvPolicy | None = None
    """inherit: the host's environment without its secrets; minimal: only the variables that every program needs, and
    `env`. Absent: `env_policy` in `config.json`, which is inherit by default. If that is minimal, inherit has no effect
    here."""

    @property
    def is_enabled(self) -> bool:
        return self.enabled is not False

    def is_data(self, path: str) -> bool:
        """Whether `data` covers a path in the extension's folder. The caller has checked that it is a regular file."""
        return covers(self.data, path, self.words)

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its command line: the program and its arguments; none without a program."""
        return (self.exec, *(self.args or ())) if self.exec else ()

    @property
    def without_program(self) -> str:
        """The kind of an extension without a program, in words; empty if it has a program."""
        if self.exec:
            return ""
        return "skills only, no program" if self.skills else "a theme; it has no effect here"

    @property
    def text(self) -> bytes:
        """The text that it was parsed from; empty if it was not parsed. Two manifests are compared without it."""
        text: bytes = self.__dict__.get("text", b"")
        return text

    @property
    def unknown(self) -> tuple[UnknownField, ...]:
        """The unknown fields of its text. Two manifests are compared without them."""
        found: tuple[UnknownField, ...] = self.__dict__.get("unknown", ())
        return found

    @property
    def remark(self) -> str:
        """One line that names its unknown fields; empty without any. `told` replaces it if the manifest was not
        parsed."""
        if (told := self.__dict__.get("told")) is not None:
            return str(told)
        return f"{FILE}: {remark(self.unknown)}" if self.unknown else ""


class ManifestError(ValueError):
    """A faulty manifest; the text names the field and the fault."""

    may_be_needed = False
    """Whether a run must not go on without the extension: the text may describe a required extension, or a guard whose
    failure means deny."""


def _means_required(value: Any) -> bool:
    """Elsewhere, `requires` is a list of dependencies."""
    return not isinstance(value, str | list | dict) or str(value).lower() in ("true", "yes", "always", "1")


VOCABULARY = Vocabulary(
    known=frozenset({"$schema", *Manifest.__struct_fields__}),
    guarding={
        "on_failure": Guarding(
            split_words(
                "onerror onfail onfailed onfailures ontimeout oncrash failure failuremode failurepolicy "
                "failmode failpolicy failclosed failopen faildeny denyonfailure allowonfailure "
                "failureaction"
            ),
            is_deep=True,
            part="fail",
            values=split_words("deny denied block blocked close closed refuse reject stop"),
        ),
        "required": Guarding(
            split_words("require requires isrequired mandatory mustrun muststart musthave essential"),
            _means_required,
        ),
        "limits": Guarding(split_words("limit resourcelimits ulimit ulimits quota quotas")),
        "env": Guarding(
            split_words(
                "envs evn nev envvar envvars environ environment environmentvariables envvariables "
                "envnames enviroment envallow allowenv envallowlist passenv passthroughenv"
            )
        ),
        "env_policy": Guarding(split_words("environmentpolicy envpolicies envmode envinherit inheritenv")),
    },
    inside={
        "limits": Limits.__struct_fields__,
        "timeouts": Timeouts.__struct_fields__,
        "restart": Restart.__struct_fields__,
    },
)
_EXECS = ("command", "cmd", "executable", "run", "main", "entry", "entrypoint", "program", "script")
"""Names of `exec` in the files of other programs."""
THEMES = ("theme.json", "themes/theme.json")
"""Files that are a theme for zot's terminal, one of which is enough for an extension."""
_NAME_RULE = "name must be 1 to 64 characters, without slashes or control characters, and not start with a dot"
_FIELD = re.compile(rb"""["']?([A-Za-z_][\w .-]{0,39})["']?\s{0,99}:\s{0,99}(?:["']?(\w{1,40}))?""")
"""Its repetitions are bounded: otherwise the time of a search would grow with the square of the text's length."""

_decoder = msgspec.json.Decoder(Manifest)


def parse_manifest(text: bytes, given: Mapping[str, Any] | None = None, *, has_theme: bool = False) -> Manifest:
    """Reads and checks a manifest. Fields in `given` replace those of the text. `has_theme`: one of `THEMES` is in its
    folder. Raises `ManifestError` with one line that names the field."""
    try:
        fields = msgspec.json.decode(text)  # first: the typed decoder does not look into fields that it ignores
        if given is None or not isinstance(fields, dict):
            manifest = _decoder.decode(text)
        else:
            fields.update(given)
            manifest = msgspec.convert(fields, Manifest)
    except msgspec.ValidationError as error:
        raise _error(f"manifest: {explain_fault(error)}", text) from None
    except UNREADABLE as error:
        what, place = fault_of(text, error)
        where = "" if place is None else f"{FILE}:{place.line}:{place.column}: "
        quoted = "" if place is None or not place.quoted else f" (the line: {place.quoted})"
        raise _error(f"parse manifest: {where}{what}{quoted}", text) from None
    for _path, message in find_other_faults(fields, text, has_theme=has_theme):
        raise _error(f"manifest: {message}", text)
    unknown = VOCABULARY.unknown(fields)
    for each in unknown:
        if each.is_near_miss:
            raise _error(f"manifest: {near_miss(each)}", text)
    if manifest.dialect != ZOT:
        manifest = msgspec.convert(with_defaults(manifest.dialect, fields), Manifest)
    manifest.__dict__.update(unknown=tuple(unknown), text=text)
    return manifest


def find_other_faults(fields: dict[str, Any], text: bytes, *, has_theme: bool = False) -> Iterator[tuple[str, str]]:
    """Yields the place and the message of each fault that the decoder does not find."""
    if not (has_theme or fields.get("exec") or fields.get("skills")):
        others = [name for name in fields if letters(name) in (*_EXECS, "skill")]
        rename = f"; rename {others[0]!r}" if others else ""
        yield "exec", f"exec is required, or skills, or a {THEMES[0]}{rename}"
    if twice := find_repeated(text, VOCABULARY.guarding):
        yield twice, f"{twice} is there twice, and only one of them would count; remove the other"
    if isinstance(name := fields.get("dialect"), str) and name not in MODULES:
        yield "dialect", f"dialect: must be one of {', '.join(MODULES)}"
    yield from data_faults(fields)


def explain_fault(error: msgspec.ValidationError) -> str:
    """Explains a fault that the decoder found, to the author of the manifest."""
    fault = str(error)
    if "matching regex" in fault:
        path = fault_path(fault)
        return _NAME_RULE if path == "name" else f"{path}: not the name of a variable"
    return explain(Manifest, fault)


def near_miss(each: UnknownField) -> str:
    """Returns the message for an unknown field that is a near miss of a known one."""
    return f"{each.place}: no such field; {each.hint} It is not started: such a slip would change what it may do"


def _error(line: str, text: bytes) -> ManifestError:
    error = ManifestError(line)
    error.may_be_needed = _may_be_needed(text)
    return error


def _may_be_needed(text: bytes) -> bool:
    """Returns `may_be_needed` of a faulty manifest: False for a disabled extension, True if the text is cut off."""
    try:
        fields = msgspec.json.decode(text)
    except UNREADABLE:
        if not text.rstrip().endswith(b"}"):
            return True
        fields = {name.decode("utf-8", "replace"): value.decode() for name, value in _FIELD.findall(text)}
    if not isinstance(fields, dict) or fields.get("enabled") is False:
        return False
    for name, value in fields.items():
        if name == "required" and value not in (False, None, "false", "null"):
            return True
        if name == "on_failure" and value != "allow":
            return True
        if name in VOCABULARY.inside and VOCABULARY.unknown({"inside": value})[0].is_near_miss:
            return True
    return any(each.meant in ("on_failure", "required") for each in VOCABULARY.unknown(fields))
