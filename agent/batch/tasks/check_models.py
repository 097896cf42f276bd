"""Whether the provider and the model of a task are known, and its price where a budget needs it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from agent.model import catalogue
from agent.providers.choice import REPLAY, ChoiceError, choose
from agent.providers.user_models import UserModelsError, load
from supervisor.home.config import ConfigError, load_config
from supervisor.home.zot_home import zot_home

if TYPE_CHECKING:
    from agent.batch.request import BatchRequest
    from wire.batch.task import Task

PRICE = (
    "the price of the model {model!r} is not known, so nobody can say when {budget} is used up: write its prices to"
    " $ZOT_HOME/models.json, or leave the budget out"
)


class ModelCheck:
    """Looks at each combination of provider, model and budget once."""

    def __init__(self, request: BatchRequest) -> None:
        self._run = request.run
        self._home = request.run.home or zot_home()
        per_task = request.task_max_cost_usd is not None or request.run.max_cost_usd is not None
        self._budget = "--max-cost-usd" if request.max_cost_usd is not None else "its budget" if per_task else ""
        """What the flags call a budget that each task counts for; empty if there is none."""
        self._fault = cache(self._find)

    def fault(self, task: Task) -> str:
        """What is wrong; "" if nothing is."""
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
            known = load(self._home)
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
