"""Finds the server of a run: provider, model, address and credential. Reads the user's files with a key, and connects
to nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from agent.model import catalogue
from agent.model.access import AccessError, find_access
from agent.model.anthropic_provider import AnthropicProvider
from agent.model.provider import ProviderUnavailable
from agent.providers.auth_file import AuthFileError, Stored, read_stored
from agent.providers.choice import ChoiceError, choose
from agent.providers.key_file import KeyFileError, display_path, read_key
from supervisor.discovery.environment import withhold
from wire.exit_codes import Status

if TYPE_CHECKING:
    from pathlib import Path

    from agent.model.access import Access
    from agent.model.provider import Provider
    from agent.providers.user_models import KnownModels
    from supervisor.home.config import Config
    from supervisor.loop.loop import Loop

MakeProvider = Callable[["Loop", "Access"], "Provider"]
Connect = Callable[["Loop"], "Provider | ProviderUnavailable"]
CONNECTION_ERRORS = (AccessError, AuthFileError, ChoiceError, KeyFileError)


class Credentials(msgspec.Struct, frozen=True):
    """The flags about the server; None if unset."""

    api_key: str | None
    api_key_file: str | None
    base_url: str | None


def connection(
    provider: str | None,
    model: str | None,
    given: Credentials,
    *,
    config: Config,
    home: Path,
    known: KnownModels,
    make: MakeProvider = AnthropicProvider,
) -> tuple[Connect, str, tuple[str, ...]]:
    """Returns a function that makes the provider, the model, and lines for the user. `provider` and `model` are the
    wanted ones, None if unset. `make` gets the access. Afterwards the catalogue has the provider's models, and
    children do not get its key. Raises `CONNECTION_ERRORS`."""
    path = given.api_key_file
    if path is not None and given.api_key is not None:
        raise AccessError("--api-key and --api-key-file exclude each other: leave one of them out")
    choice = choose(provider, model, config, known).named(known)
    preset = choice.provider
    catalogue.use(known.models, preset.name)
    withhold(preset.key_variable)
    key, warning = (None, "") if path is None else read_key(path)
    is_given = bool(given.api_key or key or any(map(os.environ.get, preset.variables)))
    sends = preset.name not in known.without_credential
    stored = Stored() if is_given or not sends else read_stored(home, preset.name)
    access = find_access(
        os.environ,
        provider=preset,
        base_url=given.base_url,
        users_url=known.url(preset.name, choice.model),
        api_key=given.api_key,
        file_key=key,
        file_name=display_path(path) if path is not None else "",
        stored_key=stored.key,
        sends_credential=sends,
    )
    missing = f"no credential for {access.endpoint.shown}: {preset.how_to_give_a_credential} (zot demo needs none)"
    if stored.unused:
        missing += f"; auth.json has the {stored.unused} of zot for {preset.name}, which this program does not use"
    remarks = (*choice.remarks, *filter(None, (warning, stored.warning)))
    return _connector(access, missing, make), choice.model, remarks


def _connector(access: Access, missing: str, make: MakeProvider) -> Connect:
    def connect(loop: Loop) -> Provider | ProviderUnavailable:
        if access.is_missing:
            return ProviderUnavailable(Status.AUTHENTICATION, missing)
        return make(loop, access)

    return connect
