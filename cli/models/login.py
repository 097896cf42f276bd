"""`zot login` and `zot logout`. Their output has no part of a key, except for an error of a server that quotes a short
one."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from agent.model.access import find_access
from agent.model.catalogue import find, use
from agent.providers.auth_file import NAME, read_stored, remove_entry, store_key
from agent.providers.choice import REPLAY, ChoiceError, choose
from agent.providers.key_file import STDIN, read_key
from agent.providers.user_models import load_user_models
from cli.os_errors import UnableError
from cli.terminal import ask, complain, is_attended
from supervisor.home.config import Config, load_config
from supervisor.home.zot_home import zot_home
from wire.exit_codes import Status
from wire.suggestions import not_one_of
from wire.text import one_line, printable

if TYPE_CHECKING:
    from pathlib import Path

    from agent.model.access import Access
    from agent.model.presets import Preset
    from agent.providers.user_models import KnownModels

LINE = 1000
"""Maximum length of a message in characters."""


def run_login(name: str, *, model: str | None, base_url: str | None, has_probe: bool) -> int:
    """Asks for the key, tries it, and stores it; returns the exit status. Raises `UnableError` and what the modules of
    `agent.providers` raise."""
    home = zot_home()
    known = load_user_models(home)
    preset = _preset(name, known)
    if preset.name in known.without_credential:
        raise UnableError(f'models.json says "auth": "none" for {preset.name}: no key would be sent', Status.USAGE)
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
        complain(
            "login",
            f"it was tried with {access.endpoint.shown}, but a run sends it to {later.shown}: give each run the same"
            " --base-url, or write that address to models.json",
        )
    for variable in preset.variables:
        if os.environ.get(variable):
            complain("login", f"{variable} is set and comes before it: unset it to use the stored key")
    return 0


def run_logout(name: str) -> int:
    """Removes the entry; returns the exit status. Raises `UnableError` and `AuthFileError`."""
    home = zot_home()
    removed = remove_entry(home, name)
    if not removed:
        try:
            _preset(name, load_user_models(home))
        except ChoiceError as error:  # a slip, unless the file has something under that name
            raise UnableError(str(error), Status.USAGE) from None
    print(printable(f"{name}: {f'removed its {removed} from' if removed else 'nothing is stored in'} {home / NAME}"))  # noqa: T201
    return 0


def _preset(name: str, known: KnownModels) -> Preset:
    if name == REPLAY:
        raise UnableError("replay is no server: it has no key", Status.USAGE)
    if name not in known.providers and name not in known.unusable:
        raise ChoiceError(f"PROVIDER: {not_one_of(name, known.providers)}")
    return choose(name, None, Config(), known).provider


def _model_of(preset: Preset, known: KnownModels, home: Path) -> str:
    """The model to ask for one token: the cheapest of Anthropic's, else what a run would use, or any of models.json."""
    from agent.providers.probe import CHEAPEST

    use(known.models, preset.name)
    if preset.default_model and find(CHEAPEST) is not None:
        return CHEAPEST
    mine = (info.id for info in known.models if info.provider == preset.name)
    return choose(preset.name, None, load_config(home), known).model or next(mine, CHEAPEST)


def _key(preset: Preset) -> str:
    if not is_attended():
        return read_key(STDIN, name="stdin")[0]
    from getpass import getpass

    try:
        key = getpass(f"Key of {preset.name} (it is not shown): ", stream=sys.stderr).strip()
    except EOFError:
        key = ""
    if not key:
        raise UnableError("no key was given; nothing was changed", Status.ERROR)
    return key


def _try(access: Access, model: str) -> str:
    """The result of the trial, in words. Raises `UnableError` if the key is not to be stored."""
    from agent.providers.probe import ProbeOutcome, probe

    complain("login", f"asking {access.endpoint.shown} for one token of {model} …")
    tried = probe(access, model)
    said = one_line(tried.said, LINE)
    if tried.outcome is ProbeOutcome.REFUSED:
        raise UnableError(f"{said}; nothing was stored", Status.AUTHENTICATION)
    if tried.outcome is ProbeOutcome.UNKNOWN and not _confirm_storing(said):
        raise UnableError(f"{said}; nothing was stored: --no-probe stores it without a trial", Status.ERROR)
    return said


def _confirm_storing(said: str) -> bool:
    if not is_attended():
        return False
    complain("login", said)
    return ask("Store it nevertheless?")
