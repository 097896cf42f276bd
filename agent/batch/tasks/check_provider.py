"""Whether the provider and the model of a task are known, and its price where a budget needs it."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from agent.model import catalogue
from agent.model.access import AccessError, find_access
from agent.providers.auth_file import AuthFileError, Stored, read_stored
from agent.providers.choice import REPLAY, ChoiceError, choose
from agent.providers.user_models import UserModelsError, load_user_models
from supervisor.home.config import ConfigError, load_config
from supervisor.home.zot_home import zot_home

if TYPE_CHECKING:
    from agent.batch.request import BatchRequest
    from agent.model.access import Access
    from wire.batch.task import Task

PRICE = (
    "the price of the model {model!r} is unknown, so {budget} cannot be checked: write its prices to"
    " $ZOT_HOME/models.json, or leave the budget out"
)


class ModelCheck:
    """Looks at each combination of provider, model and budget once."""

    def __init__(self, request: BatchRequest) -> None:
        self._run = request.run
        self._home = request.run.home or zot_home()
        per_task = request.task_max_cost_usd is not None or request.run.max_cost_usd is not None
        self._budget = "--max-cost-usd" if request.max_cost_usd is not None else "its budget" if per_task else ""
        """The flag of a budget that each task counts for; "" if there is none."""
        self._fault = cache(self._find)

    def fault(self, task: Task) -> str:
        """The fault of the task's provider or model; "" if it has none."""
        provider = self._run.provider if task.provider is None else task.provider
        model = self._run.model if task.model is None else task.model
        is_replayed = task.replay is not None or self._run.replay is not None
        budget = "max_cost_usd" if task.max_cost_usd is not None else self._budget
        return self._fault(provider, model, is_replayed, budget)

    def _find(self, provider: str | None, model: str | None, is_replayed: bool, budget: str) -> str:
        if provider == REPLAY and not is_replayed:
            return "provider: 'replay' needs a cassette: set `replay` to its file"
        if is_replayed and provider not in (None, "", REPLAY):
            return f"replay: a cassette and the provider {provider!r} exclude each other"
        if is_replayed and (model is None or not budget):
            return ""
        try:
            known = load_user_models(self._home)
            if is_replayed:
                info = next((info for info in known.models if info.id == model), None)
            else:
                choice = choose(provider, model, load_config(self._home), known).named(known)
                model = choice.model
                info = known.model(choice.provider.name, model)
        except ChoiceError as error:
            return str(error).replace("--provider", "provider").replace("--model", "model")
        except (ConfigError, UserModelsError) as error:
            return str(error)
        info = info or catalogue.CATALOGUE.get(model or "")
        if budget and catalogue.cost_usd(info, {}) is None:
            return PRICE.format(model=model, budget=budget)
        return ""


ServerCheck = tuple[str | None, str | None, str | None]
"""Provider, model and address, as the task or the flags say."""


class CredentialCheck:
    """Looks for the credential of each server once, and tells what is missing once. A task that brings a key in its
    `env` is left to its run, and so is all that has a key in the flags, and all that runs on other machines."""

    def __init__(self, request: BatchRequest) -> None:
        self._run = request.run
        self._home = request.run.home or zot_home()
        self._is_elsewhere = request.engine != "local"
        self._seen: set[ServerCheck] = set()

    def fault(self, task: Task) -> str:
        """The missing credential, in words; "" if none is missing, or if it was told before."""
        if self._is_elsewhere or task.env:
            return ""
        try:
            access = self.find_missing(task)
        except (AccessError, AuthFileError) as error:
            return str(error)
        if access is None:
            return ""
        return f"no credential for {access.endpoint.shown}: {access.provider.how_to_give_a_credential}"

    def find_missing(self, task: Task) -> Access | None:
        """The access without a credential; None if none is missing, or if it was found before. A task brings its own if
        its `env` has a variable of the provider. Raises `AccessError`, `AuthFileError`."""
        run = self._run
        if run.api_key is not None or run.api_key_file is not None or (task.replay or run.replay) is not None:
            return None
        server = (
            run.provider if task.provider is None else task.provider,
            run.model if task.model is None else task.model,
            run.base_url if task.base_url is None else task.base_url,
        )
        if server in self._seen:
            return None
        self._seen.add(server)
        try:
            access = self._access(*server)
        except (ConfigError, UserModelsError, ChoiceError):
            return None  # told of the model
        own = (*access.provider.variables, access.provider.url_variable)
        return access if access.is_missing and not any(name in task.env for name in own) else None

    def _access(self, provider: str | None, model: str | None, base_url: str | None) -> Access:
        known = load_user_models(self._home)
        choice = choose(provider, model, load_config(self._home), known).named(known)
        preset = choice.provider
        sends = preset.name not in known.without_credential
        is_given = any(map(os.environ.get, preset.variables))
        stored = Stored() if is_given or not sends else read_stored(self._home, preset.name)
        return find_access(
            os.environ,
            provider=preset,
            base_url=base_url,
            users_url=known.url(preset.name, choice.model),
            stored_key=stored.key,
            sends_credential=sends,
        )
