"""`zot login` and `zot logout`. No line of them has a part of a key, but for an error of a server that quotes a short
one."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from agent.model.access import AccessError, find_access
from agent.model.catalogue import find, use
from agent.providers.auth_file import NAME, AuthFileError, read_stored, remove_entry, store_key
from agent.providers.choice import REPLAY, ChoiceError, choose
from agent.providers.key_file import STDIN, KeyFileError, read_key
from agent.providers.user_models import UserModelsError, load
from supervisor.home.config import Config, ConfigError, load_config
from supervisor.home.zot_home import zot_home
from wire.exit_codes import Status
from wire.suggest import not_one_of
from wire.text import one_line, printable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent.model.access import Access
    from agent.model.presets import Preset
    from agent.providers.user_models import Known

LINE = 1000
"""Characters of a message."""


class _GivenUpError(Exception):
    """The text says why; `status` becomes the exit status."""

    def __init__(self, status: Status, text: str) -> None:
        super().__init__(text)
        self.status = status


def run_login(name: str, *, model: str | None, base_url: str | None, has_probe: bool) -> int:
    """Asks for the key, tries it, and stores it; returns the exit status."""
    return _carried_out("login", lambda: _login(name, model, base_url, has_probe=has_probe))


def run_logout(name: str) -> int:
    """Removes the entry; returns the exit status."""
    return _carried_out("logout", lambda: _logout(name))


def _carried_out(command: str, work: Callable[[], None]) -> int:
    try:
        work()
    except _GivenUpError as error:
        _say(command, str(error))
        return error.status.exit_code
    except (AccessError, ChoiceError, ConfigError, KeyFileError, UserModelsError) as error:
        _say(command, str(error))
        return Status.USAGE.exit_code
    except AuthFileError as error:
        _say(command, str(error))
        return Status.ERROR.exit_code
    except KeyboardInterrupt:
        _say(command, "interrupted; nothing was changed")
        return Status.INTERRUPTED.exit_code
    return 0


def _login(name: str, model: str | None, base_url: str | None, *, has_probe: bool) -> None:
    home = zot_home()
    known = load(home)
    preset = _preset(name, known)
    if preset.name in known.without_credential:
        raise _GivenUpError(Status.USAGE, f'models.json says "auth": "none" for {preset.name}: no key would be sent')
    read_stored(home, preset.name)  # a faulty file is an error before a key is asked for
    asked = model or _model_of(preset, known, home)
    key = _key(preset)
    environ = {name: value for name, value in os.environ.items() if name == preset.url_variable or "TIMEOUT" in name}
    users_url = known.url(preset.name, asked)
    access = find_access(environ, provider=preset, base_url=base_url, users_url=users_url, stored_key=key)
    said = _try(access, asked) if has_probe else "it was not tried"
    store_key(home, preset.name, key)
    print(printable(f"{preset.name}: {said}; stored in {home / NAME}"))  # noqa: T201
    later = find_access(environ, provider=preset, users_url=users_url).endpoint
    if later.url != access.endpoint.url:
        _say(
            "login",
            f"it was tried with {access.endpoint.shown}, but a run sends it to {later.shown}: give each run the same"
            " --base-url, or write that address to models.json",
        )
    for variable in preset.variables:
        if os.environ.get(variable):
            _say("login", f"{variable} is set and comes before it: unset it to use the stored key")


def _logout(name: str) -> None:
    home = zot_home()
    removed = remove_entry(home, name)
    if not removed:
        try:
            _preset(name, load(home))
        except ChoiceError as error:  # a slip, unless the file has something under that name
            raise _GivenUpError(Status.USAGE, str(error)) from None
    print(printable(f"{name}: {f'removed its {removed} from' if removed else 'nothing is stored in'} {home / NAME}"))  # noqa: T201


def _preset(name: str, known: Known) -> Preset:
    if name == REPLAY:
        raise _GivenUpError(Status.USAGE, "replay is no server: it has no key")
    if name not in known.providers and name not in known.unusable:
        raise ChoiceError(f"PROVIDER: {not_one_of(name, known.providers)}")
    return choose(name, None, Config(), known).provider


def _model_of(preset: Preset, known: Known, home: Path) -> str:
    """The model to ask for one token: the cheapest of Anthropic's, else what a run would use, or any of models.json."""
    from agent.providers.probe import CHEAPEST

    use(known.models, preset.name)
    if preset.default_model and find(CHEAPEST) is not None:
        return CHEAPEST
    mine = (info.id for info in known.models if info.provider == preset.name)
    return choose(preset.name, None, load_config(home), known).model or next(mine, CHEAPEST)


def _key(preset: Preset) -> str:
    if sys.stdin is None or not sys.stdin.isatty():
        return read_key(STDIN, name="stdin")[0]
    from getpass import getpass

    try:
        key = getpass(f"Key of {preset.name} (it is not shown): ", stream=sys.stderr).strip()
    except EOFError:
        key = ""
    if not key:
        raise _GivenUpError(Status.ERROR, "no key was given; nothing was changed")
    return key


def _try(access: Access, model: str) -> str:
    """What became of the trial, in words. Raises `_GivenUpError` if the key is not to be stored."""
    from agent.providers.probe import Outcome, probe

    _say("login", f"asking {access.endpoint.shown} for one token of {model} …")
    tried = probe(access, model)
    said = one_line(tried.said, LINE)
    if tried.outcome is Outcome.REFUSED:
        raise _GivenUpError(Status.AUTHENTICATION, f"{said}; nothing was stored")
    if tried.outcome is Outcome.UNKNOWN and not _is_wanted_nevertheless(said):
        raise _GivenUpError(Status.ERROR, f"{said}; nothing was stored: --no-probe stores it without a trial")
    return said


def _is_wanted_nevertheless(said: str) -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        return False
    _say("login", said)
    print("Store it nevertheless? [y/N] ", end="", file=sys.stderr, flush=True)  # noqa: T201
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _say(command: str, text: str) -> None:
    print(f"zot {command}: {printable(one_line(text, 2 * LINE))}", file=sys.stderr, flush=True)  # noqa: T201
