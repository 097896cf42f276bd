"""Whether there is a credential for the servers of the tasks: without one a whole batch would fail, task by task."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent.model.access import AccessError, find_access
from agent.providers.auth_file import AuthFileError, Stored, read_stored
from agent.providers.choice import ChoiceError, choose
from agent.providers.user_models import UserModelsError, load
from supervisor.home.config import ConfigError, load_config
from supervisor.home.zot_home import zot_home

if TYPE_CHECKING:
    from agent.batch.request import BatchRequest
    from wire.batch.task import Task

Server = tuple[str | None, str | None, str | None]
"""Provider, model and address, as the task or the flags say."""


class CredentialCheck:
    """Looks for the credential of each server once, and tells what is missing once. A task that brings a key in its
    `env` is left to its run, and so is all that has a key in the flags."""

    def __init__(self, request: BatchRequest) -> None:
        self._run = request.run
        self._home = request.run.home or zot_home()
        self._seen: set[Server] = set()

    def fault(self, task: Task) -> str:
        """What is missing; "" if nothing is, or if it was told before."""
        run = self._run
        if run.api_key is not None or run.api_key_file is not None or (task.replay or run.replay) is not None:
            return ""
        server = (
            run.provider if task.provider is None else task.provider,
            run.model if task.model is None else task.model,
            run.base_url if task.base_url is None else task.base_url,
        )
        if task.env or server in self._seen:
            return ""
        self._seen.add(server)
        try:
            return self._missing(*server)
        except (ConfigError, UserModelsError, ChoiceError):
            return ""  # told of the model
        except (AccessError, AuthFileError) as error:
            return str(error)

    def _missing(self, provider: str | None, model: str | None, base_url: str | None) -> str:
        known = load(self._home)
        choice = choose(provider, model, load_config(self._home), known).named(known)
        preset = choice.provider
        sends = preset.name not in known.without_credential
        is_given = any(map(os.environ.get, preset.variables))
        stored = Stored() if is_given or not sends else read_stored(self._home, preset.name)
        access = find_access(
            os.environ,
            provider=preset,
            base_url=base_url,
            users_url=known.url(preset.name, choice.model),
            stored_key=stored.key,
            sends_credential=sends,
        )
        if not access.is_missing:
            return ""
        return f"no credential for {access.endpoint.shown}: {preset.how_to_give_a_credential}"
