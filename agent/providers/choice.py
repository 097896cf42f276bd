"""Chooses the provider and the model of a run by flags, settings and `models.json`. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agent.model.catalogue import CATALOGUE, DEFAULT_MODEL
from agent.model.presets import ANTHROPIC, Preset
from wire.suggestions import not_one_of

if TYPE_CHECKING:
    from agent.providers.user_models import KnownModels
    from supervisor.home.config import Config

REPLAY = "replay"
"""The provider of `--replay`, which is no server."""
SHOWN = 5
"""Maximum of models that a message names."""


class ChoiceError(ValueError):
    """The text names the flag or the file, and the change to make."""


class ProviderChoice(msgspec.Struct, frozen=True):
    provider: Preset
    model: str
    """Empty if no model is named and the provider has no default."""
    remarks: tuple[str, ...] = ()
    """Lines for the user about settings that have no effect."""

    def named(self, known: KnownModels) -> ProviderChoice:
        """This choice. Raises `ChoiceError` if no model is named."""
        if self.model:
            return self
        name = self.provider.name
        ids = [info.id for info in known.models if info.provider == name]
        have = f": models.json has {', '.join(ids[:SHOWN])}{', …' if len(ids) > SHOWN else ''}" if ids else ""
        raise ChoiceError(f"--provider {name} has no default model: name one with --model ID{have}")


def choose(provider: str | None, model: str | None, config: Config, known: KnownModels) -> ProviderChoice:
    """`provider` and `model` are the flags. The provider is that of the flag, else the one that has the model in
    `models.json`, else that of the settings, else Anthropic. zot shares the settings: a provider that is unknown here
    is ignored with its model, and a remark says so. Raises `ChoiceError`."""
    theirs = (config.provider or "").strip().lower()
    is_ours = theirs in ("", *known.providers)
    settings_provider = (theirs or ANTHROPIC.name) if is_ours else ANTHROPIC.name
    if provider is not None:
        chosen = _named_provider(provider, known)
    else:
        owner = _owner(model, settings_provider, known) if model else None
        chosen = known.providers[owner or settings_provider]
    theirs_is_meant = is_ours and chosen.name == settings_provider
    found = model or (config.model if theirs_is_meant else None) or _default(chosen, known)
    remarks: tuple[str, ...] = (known.remark,) if known.remark else ()
    if not is_ours and provider is None and chosen is known.providers[settings_provider]:
        ignored = f"provider {config.provider!r}" + (f" and model {config.model!r}" if config.model else "")
        why = f"it speaks {known.unusable[theirs]}" if theirs in known.unusable else "it is unknown here"
        remarks += (
            f"config.json: ignored {ignored}: {why}; this run uses {chosen.name} and its {found};"
            f" --provider {chosen.name} says that this is meant",
        )
    return ProviderChoice(chosen, found, remarks)


def _named_provider(provider: str, known: KnownModels) -> Preset:
    if provider in known.providers:
        return known.providers[provider]
    if provider in known.unusable:
        raise ChoiceError(
            f"--provider {provider}: models.json says that it speaks {known.unusable[provider]}, and this program"
            ' speaks the Messages API only: if the server does, too, write "api": "anthropic" there'
        )
    raise ChoiceError(f"--provider: {not_one_of(provider, (*known.providers, REPLAY))}")


def _owner(model: str, first: str, known: KnownModels) -> str | None:
    """The provider of this model in the user's file; None if the file does not decide."""
    owners = [info.provider for info in known.models if info.id == model]
    if not owners or first in owners or (first == ANTHROPIC.name and model in CATALOGUE):
        return None
    if len(owners) > 1:
        raise ChoiceError(f"--model {model}: models.json has it for {' and '.join(owners)}; add --provider")
    return owners[0]


def _default(provider: Preset, known: KnownModels) -> str:
    if provider.name == ANTHROPIC.name:
        return DEFAULT_MODEL
    only = [info.id for info in known.models if info.provider == provider.name]
    return only[0] if len(only) == 1 else ""
