"""Reads `$ZOT_HOME/models.json`: the user's models and providers.

One fault makes the file unusable: a wrong price or address would cost money unnoticed. So a run fails before its start
and names the place of the fault; so does a replayed run, because its cost is counted by this file.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from agent.model.catalogue import CATALOGUE, LongPrompt, ModelInfo, Prices, Thinking, thinking_by_name
from agent.model.presets import PRESETS, Preset, users_preset
from supervisor.home.safe_files import read_file
from wire.settings.models_file import FILE, MESSAGES, ModelsFileError, parse

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from wire.settings.models_file import UserModel, UserProvider

OTHER_NAMES = {"anthropic-messages": "anthropic"}
"""Other names of providers in zot, and the usual ones."""


class UserModelsError(ValueError):
    """The text names the file, the place and the fault."""


class KnownModels(msgspec.Struct, frozen=True):
    """All providers that a run can use, and the models of the user's file."""

    providers: Mapping[str, Preset] = msgspec.field(default_factory=lambda: PRESETS)
    """The presets and the user's own providers by name."""
    models: tuple[ModelInfo, ...] = ()
    """In the order of the file."""
    urls: Mapping[str, str] = {}
    """The address that the file gives for a provider, by the provider's name."""
    without_credential: frozenset[str] = frozenset()
    """Providers that get no credential, by the file."""
    unusable: Mapping[str, str] = {}
    """Providers of the file that speak another API, with its name."""
    remark: str = ""
    """A line about unknown fields of the file; "" if there are none."""

    def model(self, provider: str, model_id: str) -> ModelInfo | None:
        return next((info for info in self.models if (info.provider, info.id) == (provider, model_id)), None)

    def url(self, provider: str, model_id: str) -> str | None:
        """The address in the file for this model; None if there is none."""
        info = self.model(provider, model_id)
        return (info.base_url if info is not None else None) or self.urls.get(provider)


def load_user_models(home: Path) -> KnownModels:
    """The providers and the models of the file; without a file only the presets. Raises `UserModelsError`."""
    path = home / FILE
    try:
        text = read_file(path)
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            raise UserModelsError(
                f"{path}: cannot be read: it is a link to {os.readlink(path)}, which is not there"
            ) from None
        return KnownModels()
    except OSError as error:
        raise UserModelsError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        file, remark = parse(text)
        return _known_models(file.providers, f"{path}: {remark}" if remark else "")
    except ModelsFileError as error:
        raise UserModelsError(f"{path}:{error}") from None
    except _UnfitError as error:
        raise UserModelsError(f"{path}: {error}") from None


class _UnfitError(Exception):
    """An entry that cannot be used; the text says why."""


def _known_models(file: Mapping[str, UserProvider], remark: str) -> KnownModels:
    providers = dict(PRESETS)
    models: dict[tuple[str, str], ModelInfo] = {}
    urls: dict[str, str] = {}
    without: set[str] = set()
    unusable: dict[str, str] = {}
    for given_name, provider in file.items():
        name = OTHER_NAMES.get(given_name, given_name)
        place = f"providers.{given_name}"
        if name == "replay":
            raise _UnfitError(f"{place}: replay is the provider of --replay; use another name")
        api = provider.api.strip().lower() or ("anthropic" if name in PRESETS else "openai")
        if api not in MESSAGES:
            unusable[name] = api
            continue
        if url := _url(provider.base_url, f"{place}.baseUrl"):
            urls[name] = url
        for index, model in enumerate(provider.models):
            models[name, model.id] = _info(name, model, f"{place}.models[{index}]")
        if name not in PRESETS:
            if not url and (not provider.models or not all(model.base_url.strip() for model in provider.models)):
                raise _UnfitError(f"{place}: baseUrl is required, because {name} is no preset: {', '.join(PRESETS)}")
            providers[name] = users_preset(name, url)
        if provider.auth.strip().lower() == "none":
            without.add(name)
    return KnownModels(providers, tuple(models.values()), urls, frozenset(without), unusable, remark)


def _url(given: str, place: str) -> str:
    """The address without a `/` or `/v1` at its end: zot's addresses often have one, and `/v1/messages` is added."""
    url = given.strip()
    if not url:
        return ""
    from agent.model.access import AccessError, Endpoint, check_endpoint  # a replayed run need not import it

    try:
        check_endpoint(Endpoint(url, f"{place}:"))
    except AccessError as error:
        raise _UnfitError(str(error)) from None
    return url.rstrip("/").removesuffix("/v1").rstrip("/")


def _info(provider: str, model: UserModel, place: str) -> ModelInfo:
    """The model. Missing fields of its entry are taken from the packaged model of the same id."""
    packaged = CATALOGUE.get(model.id)
    old = packaged.prices if packaged is not None else Prices()
    prices = Prices(
        *(
            old_price if price is None else price
            for price, old_price in (
                (model.price_input, old.input),
                (model.price_output, old.output),
                (model.price_cache_read, old.cache_read),
                (model.price_cache_write, old.cache_write),
            )
        )
    )
    long_prompt: LongPrompt | None = packaged.long_prompt if packaged is not None and prices == old else None
    thinking = packaged.thinking if packaged is not None else thinking_by_name(model.id)
    return ModelInfo(
        model.id,
        model.context_window or (packaged.context_window if packaged is not None else None),
        model.max_tokens or (packaged.max_output if packaged is not None else None),
        Thinking.NONE if model.reasoning is False else thinking,
        prices,
        long_prompt,
        packaged.retires if packaged is not None else None,
        provider,
        model.name.strip(),
        _url(model.base_url, f"{place}.baseUrl") or None,
        FILE,
    )
