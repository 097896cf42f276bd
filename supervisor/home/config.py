"""The settings in `$ZOT_HOME/config.json`, which zot and this program share.

zot writes it; both read `provider`, `model`, `reasoning` and `auto_compact_threshold`. A near miss of a field that is
ours is an error: the limit or the secret that was meant would have no effect. Any other unknown field is named in one
warning.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from supervisor.home.safe_files import read_file
from wire.field_errors import explain
from wire.lenient_json import UNREADABLE, fault_of
from wire.manifest import EnvPolicy, Limits, Variable
from wire.settings.limit_changes import LimitError, LimitRules, check_changes
from wire.traces.alert import AlertWord  # noqa: TC001  (msgspec reads the annotations)
from wire.unknown_fields import Guarding, Vocabulary, remark, short_name, split_words

if TYPE_CHECKING:
    from pathlib import Path

NAME = "config.json"


class Keep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long traces of runs are kept."""

    days: Annotated[float, msgspec.Meta(gt=0)] = 30
    """Days after the last change of a trace. Default: 30."""
    mb: Annotated[float, msgspec.Meta(gt=0)] = 200
    """Megabytes of all traces together, with what lies beside them. Default: 200."""


class Runs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The traces of runs."""

    keep: Keep = msgspec.field(default_factory=Keep)
    """Older ones are removed."""


class EventRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program or an address that is told of events."""

    events: Annotated[tuple[AlertWord, ...], msgspec.Meta(min_length=1)]
    """The events: `given_up`, `limit`, `no_verdict`, `leak` and `batch_end`."""
    run: tuple[str, ...] | None = None
    """A program with its arguments, started without a shell. It gets the events as one line of JSON on stdin."""
    post: str | None = None
    """An address, `http://…` or `https://…`, that gets the same line by POST."""

    def __post_init__(self) -> None:
        if (self.run is None) == (self.post is None):
            raise ValueError("needs either run or post")
        if self.run is not None and not (self.run and self.run[0]):
            raise ValueError("run needs a program")
        if any("\0" in word for word in self.run or ()):
            raise ValueError("run has a NUL character")
        if self.post is not None and not re.fullmatch(_ADDRESS, self.post):
            raise ValueError("post needs an address: http:// or https://, a host, no user and no password")


_ADDRESS = (
    r"(?i:https?)://(?:\[[0-9a-fA-F:.]+\]|[^\s/?#@:\[\]\x00-\x1f\x7f]+)(?::\d{1,5})?(?:[/?#][^\s\x00-\x1f\x7f]*)?"
)


class Config(msgspec.Struct, frozen=True, dict=True):
    provider: str | None = None
    """The provider, for runs without `--provider`: a preset, or one of `models.json`. With another name, which a user
    of zot may have, `model` and this field are ignored, and a run says so. Default: `anthropic`."""
    model: str | None = None
    """The model, for runs without `--model`. A replayed run takes that of its recording. Default: the newest Sonnet
    that this program knows."""
    reasoning: str | None = None
    """How much the model may think, for runs without `--reasoning`: a level of that flag; any other text counts as
    unset. A replayed run ignores it. Default: as the model does by itself."""
    auto_compact_threshold: Annotated[int, msgspec.Meta(ge=0, le=100)] | None = None
    """The percent of the model's window at which a conversation is compacted before its next request; 0: only after a
    request that was too long. `--auto-compact` and `--no-auto-compact` count more. Default: 85."""
    allow_asked: bool = False
    """Whether an event is allowed if a guard wants a person to decide, as with `--allow-asked`. Default: no."""
    copilot: bool = False
    """Whether runs offer the tools of `--copilot`; those with `--tools`, `--no-tools`, `--no-ext` or `--replay` do not.
    Default: no run does."""
    limits: Limits = msgspec.field(default_factory=Limits)
    """Limits for extensions whose manifests set none, with the fields of `limits` in a manifest. Default: no limits."""
    extension_limits: dict[str, dict[str, int | float | str | None]] = {}
    """Limits of one extension, by the extension's name, that count more than its manifest; null: no such limit.
    `{"index": {"rss_mb": 300}}`; `zot ext limit NAME … --keep` writes them. Default: none."""
    secrets: tuple[str, ...] = ()
    """Further variables that extensions do not inherit: names, or patterns with `*`, such as `AWS_*`. Default: none."""
    env_policy: EnvPolicy = "inherit"
    """The policy for extensions whose manifests set none; `minimal` holds for all extensions. Default: `inherit`."""
    env_allow: tuple[Variable, ...] = ()
    """Further variables that extensions get under the policy `minimal`; none of them may be a secret. Default: none."""
    env_grant: dict[str, tuple[Variable, ...]] = {}
    """Variables that one extension gets, by the extension's name, even if they are secrets: `{"desk": ["JIRA_TOKEN"]}`.
    Default: none."""

    share: tuple[str, ...] = ()
    """Extensions of which one process serves all runs of a host, whatever their manifests say, as with `--share`.
    Default: none."""
    host: Literal["auto"] | None = None
    """auto: a run without `--host` attaches to the `zot host` of its folder if one runs, and says so if none does.
    Default: it starts its own extensions."""

    runs: Runs = msgspec.field(default_factory=Runs)
    """How long traces of runs are kept: `{"keep": {"days": 30, "mb": 200}}`, which is the default."""
    black_box: Literal["types", "full"] = "types"
    """The parts of the frames that black boxes keep: `types` has types, ids, sizes and times; `full` has contents, too,
    without known secrets. Default: `types`."""
    on_event: tuple[EventRule, ...] = ()
    """Programs and addresses that are told of events, each a rule: `{"events": ["given_up"], "run": ["notify"]}`, or
    with `"post": "https://…"` in place of `run`. Default: none."""

    def __post_init__(self) -> None:
        for name, changes in self.extension_limits.items():
            try:
                check_changes(changes)
            except LimitError as error:
                raise ValueError(f"extension_limits.{short_name(name)}: {error}") from None

    @property
    def limit_rules(self) -> LimitRules:
        """Where the limits of each extension come from."""
        return LimitRules(self.limits, self.extension_limits)

    @property
    def remark(self) -> str:
        """One line that names the fields that nothing reads, with the file; empty without such fields."""
        text: str = self.__dict__.get("remark_text", "")
        return text


ZOTS = split_words(
    "provider model reasoning temperature theme tool_render compact_input compact_mode "
    "quick_model_shortcuts inline_images_enabled auto_swarm_enabled auto_compact_threshold "
    "jail_by_default openrouter_server_tools_enabled recursive_file_suggest "
    "respect_gitignore show_instructions_at_startup tui_input_style tui_status_position "
    "tui_working_position insecure http_proxy last_changelog_shown"
)
"""The fields of zot. Fields that are missing in `Config` have no meaning here."""
_OTHER_WORDS = {
    "allow_asked": "allowask askallowed allowasking",
    "limits": "limit resourcelimits",
    "extension_limits": "extlimits limitsof limitsbyextension limitsperextension limitsofextensions",
    "secrets": "secret withhold",
    "env_policy": "environmentpolicy envmode",
    "env_allow": "env allowenv envallowed allowedenv envallowlist",
    "share": "shared shares",
    "host": "hosts attach",
    "runs": "run traces trace keep",
    "black_box": "blackbox blackboxes black_boxes",
    "on_event": "onevents events alerts notify webhook webhooks hooks",
    "env_grant": "envgrants grantenv grant grants",
}
VOCABULARY = Vocabulary(
    known=ZOTS | {"$schema", *Config.__struct_fields__},
    guarding={
        name: Guarding(split_words(_OTHER_WORDS.get(name, ""))) for name in Config.__struct_fields__ if name not in ZOTS
    },
    inside={"limits": Limits.__struct_fields__, "runs": Runs.__struct_fields__},
)


class ConfigError(ValueError):
    """The text names the file and its fault."""


_decoder = msgspec.json.Decoder(Config)


def load_config(home: Path) -> Config:
    """Reads the settings; returns the defaults if the file does not exist. Raises `ConfigError`, since a faulty limit
    must not be ignored silently."""
    path = home / NAME
    try:
        text = read_file(path)
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            raise ConfigError(
                f"{path}: cannot be read: it is a link to {os.readlink(path)}, which is not there"
            ) from None
        return Config()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        fields = msgspec.json.decode(text)  # first: the typed decoder does not look into fields that it ignores
        config = _decoder.decode(text)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {explain(Config, str(error))}") from None
    except UNREADABLE as error:
        what, place = fault_of(text, error)
        where = "" if place is None else f":{place.line}:{place.column}"
        quoted = "" if place is None or not place.quoted else f" (the line: {place.quoted})"
        raise ConfigError(f"{path}{where}: {what}{quoted}") from None
    unknown = VOCABULARY.unknown(fields)
    for each in unknown:
        if each.is_near_miss:
            raise ConfigError(f"{path}: {each.place}: no such field; {each.hint}")
    if unknown:
        config.__dict__["remark_text"] = f"{path}: {remark(unknown)}"
    return config
