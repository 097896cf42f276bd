"""Whether a task can go through the provider's Message Batches API (`--batch-api`): one request without tools."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from agent.engine.extensions import finding
from agent.model.presets import ANTHROPIC
from agent.providers.auth_file import AuthFileError
from agent.providers.choice import ChoiceError, choose
from agent.providers.user_models import UserModelsError, load_user_models
from supervisor.discovery.admission import Consent
from supervisor.discovery.steps import finish
from supervisor.home.config import ConfigError, load_config
from supervisor.home.zot_home import zot_home
from wire.suggestions import join_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent.batch.request import BatchRequest
    from wire.batch.task import Task

COMMANDS = ("setup", "check", "score")
WHY = "--batch-api"
NO_FOLDER = "nothing runs in a folder"


class BatchApiCheck:
    """Looks at each combination of flags once."""

    def __init__(self, request: BatchRequest) -> None:
        self._request = request
        self._run = request.run
        self._home = request.run.home or zot_home()
        self._extensions = cache(self._find_extensions)
        self._provider = cache(self._find_provider)

    def faults(self, task: Task) -> Iterator[str]:
        """Why the task cannot be one request of a message batch, and what to give."""
        for fault in (*self._of_the_turn(task), *self._of_the_folder(task), *self._of_the_server(task)):
            yield f"{WHY}: {fault}"

    def _of_the_turn(self, task: Task) -> Iterator[str]:
        run = self._run
        if (steps := run.max_steps if task.max_steps is None else task.max_steps) != 1:
            given = "any number of turns" if steps is None else f"{steps} turns"
            yield f"a request has one turn, and the task may take {given}: give --max-steps 1"
        if tools := run.tools if task.tools is None else frozenset(task.tools):
            yield f"a request has no tools, and the task has {join_names(sorted(tools), 4)}: give --no-tools"
        if run.user_skills:
            yield "a request has no skills: leave --with-skills out"
        named = run.extensions if task.ext is None else task.ext
        if named or run.mcp_configs or run.host is not None or run.copilot or self._request.share:
            yield "a request has no extensions: leave --ext, --mcp-config, --host, --copilot and --share out"
        elif run.discover and (found := self._extensions(task.cwd)):
            yield f"{found}: give --no-ext"

    def _of_the_folder(self, task: Task) -> Iterator[str]:
        for name in COMMANDS:
            if getattr(task, name) is not None:
                yield f"{NO_FOLDER}: leave {name} out"
        if task.env:
            yield "no process of the task reads its env: leave it out"
        request = self._request
        if request.score is not None:
            yield f"{NO_FOLDER}: leave --score out; zot batch score scores the results afterwards"
        if request.workspace != "shared" or request.command_prefix is not None:
            yield f"{NO_FOLDER}: leave --workspace and --in out"

    def _of_the_server(self, task: Task) -> Iterator[str]:
        if task.replay is not None or self._run.replay is not None or self._run.record is not None:
            yield "a cassette has no message batches: leave it out"
        elif fault := self._provider(
            self._run.provider if task.provider is None else task.provider,
            self._run.model if task.model is None else task.model,
        ):
            yield fault
        if task.base_url is not None:
            yield "all tasks go to one server: give --base-url, not the task's base_url"

    def _find_extensions(self, cwd: str | None) -> str:
        """The installed extensions of a run in this folder, in words; empty without any."""
        request, folder = self._run, cwd or self._run.cwd or os.getcwd()
        try:
            consent = Consent(whole_project=request.trust_project)
            usable = finish(finding(request, folder, self._home, consent, load_config(self._home))).usable
        except (ConfigError, OSError) as error:
            return str(error)
        names = [each.manifest.name for each in usable]
        have = "it has" if len(names) == 1 else "they have"
        return f"a request has no extensions, and {have} to run: {join_names(names, 4)}" if names else ""

    def _find_provider(self, provider: str | None, model: str | None) -> str:
        try:
            known = load_user_models(self._home)
            name = choose(provider, model, load_config(self._home), known).named(known).provider.name
        except (ConfigError, UserModelsError, ChoiceError, AuthFileError):
            return ""  # told of the model
        if name == ANTHROPIC.name:
            return ""
        return f"only provider anthropic has message batches, and the task goes to {name}: give --provider anthropic"
