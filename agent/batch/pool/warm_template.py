"""Processes that are forks of a warm template: the ones that do the work, and their model workers. Where the system has
no template, or once it no longer starts, each is a program of its own."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from agent.model.worker_process import program_starter, worker_environment
from supervisor.process.child import Child, ExitStatus, SpawnError
from supervisor.template.client import Template
from supervisor.template.protocol import is_available

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from supervisor.loop.loop import Loop
    from supervisor.template.forked_child import ForkedChild

WORKER_ENTRY = "model_worker"
"""The template's function that is a model worker."""
NOT_STARTED = 127
"""Exit status of a model worker that could not be started."""


class ForkedProgram(NamedTuple):
    """A program that a template forks."""

    template: Path
    """The program of the template."""
    entry: str
    """The function of the template that is this program."""
    program: Path
    """The same as a program, whose arguments are the numbers of its links."""
    plural: str
    """Such processes, in a message."""


class WarmTemplate:
    """`say` gets a line once the template can no longer be started. `has_template` None: if the system can have one."""

    def __init__(
        self,
        loop: Loop,
        forked: ForkedProgram,
        *,
        env: Mapping[str, str],
        cwd: str,
        say: Callable[[str], None],
        has_template: bool | None = None,
    ) -> None:
        if has_template is None:
            has_template = is_available()
        argv = [sys.executable, "-P", str(forked.template)]
        self.template = Template(loop, argv, env=env, cwd=cwd) if has_template else None
        self._loop = loop
        self._forked = forked
        self._env = env
        self._cwd = cwd
        self._say = say
        self._start_program = program_starter(loop)
        self._forks = has_template
        """Whether the template can be started."""

    def start(self) -> None:
        """Starts the template, if there is one, so that it is ready for the first process."""
        if self.template is not None:
            self.template.start()

    def launch(
        self,
        *,
        links: Sequence[int],
        stderr: int,
        on_stdout: Callable[[bytes], None],
        on_exit: Callable[[ExitStatus], None],
        on_failed: Callable[[SpawnError], None],
        stdin: bool = False,
    ) -> Child | ForkedChild:
        """Starts a process with these links, which stay the caller's, who may close them at once. The rest is as with
        `Template.fork`."""

        def failed(error: SpawnError) -> None:
            self._lose_template(error)
            on_failed(error)

        return self._fork_or_start(
            lambda template: template.fork(
                self._forked.entry, cwd=self._cwd, env=None, links=links, stderr=stderr, stdin=stdin,
                on_stdout=on_stdout, on_exit=on_exit, on_failed=failed,
            ),
            lambda: start_program(
                self._loop, self._forked.program, links, env=self._env, cwd=self._cwd, stderr=stderr, stdin=stdin,
                on_stdout=on_stdout, on_exit=on_exit,
            ),
        )  # fmt: skip

    def start_worker(
        self,
        provider: str,
        *,
        on_stdout: Callable[[bytes], None],
        on_stderr: Callable[[bytes], None],
        on_exit: Callable[[ExitStatus], None],
        outbox_limit: int,
    ) -> Child | ForkedChild:
        """As `agent.model.worker_process.StartWorker`: forks the template, as long as there is one."""

        def failed(error: SpawnError) -> None:
            self._lose_template(error)
            on_stderr(str(error).encode())
            on_exit(ExitStatus(NOT_STARTED, 0.0, 0))

        return self._fork_or_start(
            lambda template: template.fork(
                WORKER_ENTRY, cwd="/", env=worker_environment(provider), stdin=True,
                on_stdout=on_stdout, on_stderr=on_stderr, on_exit=on_exit, on_failed=failed,
            ),
            lambda: self._start_program(
                provider, on_stdout=on_stdout, on_stderr=on_stderr, on_exit=on_exit, outbox_limit=outbox_limit
            ),
        )  # fmt: skip

    def _fork_or_start(
        self, fork: Callable[[Template], ForkedChild], start: Callable[[], Child | ForkedChild]
    ) -> Child | ForkedChild:
        """Forks the template, as long as there is one that can be started; else starts the program. Raises
        `SpawnError`."""
        if self._forks and self.template is not None:
            try:
                return fork(self.template)
            except SpawnError as error:
                if error.may_pass:
                    raise
                self._lose_template(error)
        return start()

    def _lose_template(self, error: SpawnError) -> None:
        if not error.may_pass and self._forks:
            self._forks = False
            self._say(f"{error}; {self._forked.plural} are started without it, which takes longer")


def start_program(
    loop: Loop,
    program: Path,
    links: Sequence[int],
    *,
    env: Mapping[str, str],
    cwd: str,
    stderr: int,
    on_stdout: Callable[[bytes], None],
    on_exit: Callable[[ExitStatus], None],
    stdin: bool = False,
) -> Child:
    """Starts a program of ours whose arguments are the numbers of its links. Raises `SpawnError`."""
    return Child(
        loop, [sys.executable, "-P", str(program), *map(str, links)], cwd=cwd, env=env, stdin=stdin,
        on_stdout=on_stdout, on_exit=on_exit, pass_fds=links, stderr=stderr,
    )  # fmt: skip
