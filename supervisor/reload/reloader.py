"""Reloads the extensions of a host: reads the manifests again, checks trust, and starts new generations.

Extensions are reloaded at the same time and independently: a new generation that does not start delays no other. The
files of extensions are hashed in steps between other callbacks: guards and tools are answered meanwhile.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, assert_never

import msgspec

from supervisor.discovery.discover import read_manifest
from supervisor.discovery.steps import no_steps
from supervisor.extension.lifecycle import WorkerState
from supervisor.reload.plan import (
    Keep,
    KnownExtension,
    Plan,
    Replace,
    Skip,
    Start,
    Stop,
    hold_reason,
    plan_all,
    plan_dialect,
    plan_one,
)
from wire.control import ReloadOutcome
from wire.dialects.table import find_dialect
from wire.manifest import Manifest, ManifestError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from supervisor.discovery.discover import Discovery
    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.discovery.steps import Steps, T
    from supervisor.extension.extension import Extension
    from supervisor.supervisor import Supervisor

    Done = Callable[[ReloadOutcome], None]
    DialectDone = Callable[[tuple[ReloadOutcome, ...], frozenset[ReloadOutcome]], None]
    AllDone = Callable[[tuple[ReloadOutcome, ...]], None]
    Plans = Sequence[tuple[str, Plan]]

OF_ALL_LIMIT = 2
"""Maximum number of reloads of all extensions at the same time. The second one starts over with the present files. More
reloads, as from many signals in a row, would only start workers that are replaced before they get a request."""


class Rounds:
    """Runs at most `limit` reloads of one kind at the same time. Further calls share one more reload, which begins when
    one of the running reloads has ended. `begin_one` begins a reload. After `is_over` no reload begins."""

    def __init__(self, begin_one: Callable[[AllDone], None], limit: int, *, is_over: Callable[[], bool]) -> None:
        self._begin_one = begin_one
        self._limit = limit
        self._is_over = is_over
        self._running = 0
        self._waiting: list[AllDone] = []
        """The callbacks of the next reload."""

    def begin(self, done: AllDone) -> None:
        """`done` gets the outcomes of a reload that begins now or later."""
        if self._running >= self._limit:
            self._waiting.append(done)
            return
        self._running += 1
        self._begin_one(partial(self._ended, done))

    def _ended(self, done: AllDone, outcomes: tuple[ReloadOutcome, ...]) -> None:
        self._running -= 1
        done(outcomes)
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        if self._is_over():
            _tell_all(waiting, outcomes)
        else:
            self.begin(partial(_tell_all, waiting))


def _tell_all(waiting: Sequence[AllDone], outcomes: tuple[ReloadOutcome, ...]) -> None:
    for done in waiting:
        done(outcomes)


class Reloader:
    """Reloads the extensions of one supervisor.

    `may_run(found, old manifest)` returns the new version with its admission, or why it may not run. `rediscover` finds
    all extensions again; without it, only the manifests of the host's extensions are read again.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        *,
        may_run: Callable[[FoundExtension, Manifest], Steps[FoundExtension | str]] | None = None,
        rediscover: Callable[[], Steps[Discovery]] | None = None,
    ) -> None:
        self._may_run = may_run or (lambda found, _old: no_steps(found))
        self._rediscover = rediscover
        self._supervisor = supervisor
        self._loop = supervisor.loop
        self._of_all = Rounds(self._begin_all, OF_ALL_LIMIT, is_over=lambda: supervisor.closed)
        self._with_session = Rounds(self._begin_with_session, 1, is_over=lambda: supervisor.closed)

    def begin(self, name: str | None, done: AllDone) -> None:
        """Reloads one extension, with None all. `done` gets the outcomes in a later pass, in guard order; none for an
        unknown name. At most `OF_ALL_LIMIT` reloads of all run at the same time. Further calls share one more reload,
        which begins when one of the running reloads has ended."""
        if name is not None:
            self._plan_one(name, partial(self._carry_out_all, done=done))
        else:
            self._of_all.begin(done)

    def _begin_all(self, done: AllDone) -> None:
        self._plan_all(partial(self._carry_out_all, done=done))

    def reload_with_session(self, done: AllDone) -> None:
        """Reloads the extensions whose dialect wants a reload when another session replaces the present one. `done`
        gets their outcomes in a later pass, when each is ready or has failed. While such a reload runs, further calls
        share one more."""
        self._with_session.begin(done)

    def _begin_with_session(self, done: AllDone) -> None:
        concerned = [
            each
            for each in self._supervisor.extensions
            if find_dialect(each.manifest.dialect).is_reloaded_with_session and not _known(each).is_stopped
        ]
        self._carry_out_all([(each.name, plan_one(_known(each), _read(each.found))) for each in concerned], done)

    def catch_up(self, done: AllDone) -> None:
        """Starts new extensions and stops missing ones. Extensions that run and are not missing are not reloaded."""

        def planned(plans: Plans) -> None:
            is_stopped = {extension.name: _known(extension).is_stopped for extension in self._supervisor.extensions}
            plans = [
                (name, plan)
                for name, plan in plans
                if isinstance(plan, Start | Stop | Skip) or (isinstance(plan, Replace) and is_stopped[name])
            ]
            self._carry_out_all(plans, done)

        self._plan_all(planned)

    def begin_dialect(self, dialect: str, parents: Collection[Path], done: DialectDone) -> None:
        """Reloads the extensions of one dialect for the agent, see `plan_dialect`, and starts new ones. All others stay
        as they are. In a later pass `done` gets all outcomes, and the set of those that wait until the user trusts the
        extension. Needs `rediscover`."""

        def discovered(discovery: Discovery | None) -> None:
            extensions = self._supervisor.extensions
            held = {each.name: why for each in extensions if (why := hold_reason(each))}
            known = [_known(each) for each in extensions]
            plans = [] if discovery is None else plan_dialect(dialect, known, discovery, parents=parents, held=held)
            self._carry_out_all(plans, lambda outcomes: done(outcomes, _waiting(plans, outcomes)))

        self.look(discovered)

    def look(self, then: Callable[[Discovery | None], None]) -> None:
        """Finds all extensions again, without any effect. `then` gets None if the supervisor is closed meanwhile. Needs
        `rediscover`."""
        assert self._rediscover is not None
        self._take(self._rediscover(), then)

    def _carry_out_all(self, plans: Plans, done: AllDone) -> None:
        outcomes: dict[int, ReloadOutcome] = {}

        def ended(index: int, outcome: ReloadOutcome) -> None:
            outcomes[index] = self._with_folder(outcome)
            if len(outcomes) == len(plans):
                done(tuple(outcomes[index] for index in range(len(plans))))

        if not plans:
            self._loop.call_later(0, lambda: done(()))
        for index, (name, plan) in enumerate(plans):
            self._carry_out(name, plan, partial(ended, index))

    def _with_folder(self, outcome: ReloadOutcome) -> ReloadOutcome:
        if outcome.outcome == "stopped":
            return outcome
        try:
            found = self._supervisor.find(outcome.name).found
            if not found.kind.has_folder:
                return outcome
            return msgspec.structs.replace(outcome, folder=str(found.folder))
        except KeyError:
            return outcome

    # --- plans ------------------------------------------------------------------------------------------------

    def _plan_one(self, name: str, then: Callable[[Plans], None]) -> None:
        try:
            extension = self._supervisor.find(name)
        except KeyError:
            self._plan_all(
                lambda plans: then([each for each in plans if each[0] == name and isinstance(each[1], Start)])
            )
        else:
            then([(name, plan_one(_known(extension), _read(extension.found)))])

    def _plan_all(self, then: Callable[[Plans], None]) -> None:
        extensions = self._supervisor.extensions
        if self._rediscover is None:
            mine = [each for each in extensions if each.found.link is None]
            then([(each.name, plan_one(_known(each), _read(each.found), is_named=False)) for each in mine])
            return

        def discovered(discovery: Discovery | None) -> None:
            if discovery is None:
                then([])
                return
            self._supervisor.skipped = discovery.skipped
            then(plan_all([_known(extension) for extension in extensions], discovery))

        self._take(self._rediscover(), discovered)

    def _take(self, steps: Steps[T], then: Callable[[T | None], None]) -> None:
        """Takes one step in each pass of the loop. `then` gets the result, or None if the supervisor is closed
        meanwhile; it is called at once if there is only one step."""
        if self._supervisor.closed:
            then(None)
            return
        try:
            next(steps)
        except StopIteration as end:
            then(end.value)
        else:
            self._loop.call_later(0, partial(self._take, steps, then))

    # --- actions ----------------------------------------------------------------------------------------------

    def _carry_out(self, name: str, plan: Plan, done: Done) -> None:
        match plan:
            case Start(found):
                self._start(found, done)
            case Replace(found):
                self._replace(self._supervisor.find(name), found, done)
            case Stop(reason):
                self._stop(self._supervisor.find(name), reason, done)
            case Keep(reason):
                self._supervisor.find(name).handover.refuse(reason, done)
            case Skip(reason):
                self._loop.call_later(0, lambda: done(ReloadOutcome(name, "skipped", reason)))
            case _:
                assert_never(plan)

    def _replace(self, extension: Extension, found: FoundExtension, done: Done) -> None:
        def judged(found: FoundExtension | str | None) -> None:
            if found is None:
                done(ReloadOutcome(extension.name, "kept", "the host is stopping"))
                return
            if isinstance(found, str):
                name = extension.name
                extension.handover.refuse(f"{found}; zot ext trust {name}, then zot ext reload {name}", done)
                return
            supervisor = self._supervisor
            supervisor.provide_for(found.manifest.workers)
            extension.handover.reload(found, supervisor.environment_of(found), supervisor.data_folder, done)
            supervisor.sampler.hurry()

        self._take(self._may_run(found, extension.manifest), judged)

    def _stop(self, extension: Extension, reason: str, done: Done) -> None:
        if extension.handover.is_stopped and not extension.is_reloading:
            self._loop.call_later(0, lambda: done(ReloadOutcome(extension.name, "stopped", reason)))
        else:
            extension.handover.stop(reason, done)

    def _start(self, found: FoundExtension, done: Done) -> None:
        try:
            extension = self._supervisor.add(found)
        except (OSError, ImportError) as error:  # an import, before the first extension of a run
            skipped = ReloadOutcome(found.manifest.name, "skipped", f"cannot load what it needs: {error}")
            self._loop.call_later(0, lambda: done(skipped))
            return

        def settled() -> None:
            outcome = ReloadOutcome(extension.name, "started")
            if extension.state not in (WorkerState.READY, WorkerState.ASLEEP):
                outcome = ReloadOutcome(extension.name, "kept", extension.failure)
            self._loop.call_later(0, lambda: done(outcome))

        if extension.is_settled:
            settled()
        else:
            extension.on_settled = settled


def _waiting(plans: Plans, outcomes: Sequence[ReloadOutcome]) -> frozenset[ReloadOutcome]:
    """The outcomes of the plans that wait for the user; both are in the same order."""
    return frozenset(
        outcome
        for (_, plan), outcome in zip(plans, outcomes, strict=True)
        if isinstance(plan, Keep | Skip) and plan.is_waiting
    )


def _known(extension: Extension) -> KnownExtension:
    is_idle = not extension.is_reloading
    return KnownExtension(
        extension.found, extension.handover.is_stopped and is_idle, extension.stays_halted and is_idle
    )


def _read(found: FoundExtension) -> Manifest | FoundExtension | ManifestError:
    if found.link is not None:
        return found.manifest
    try:
        if not found.kind.has_folder:
            from supervisor.discovery.mcp.servers import read_again  # it is loaded: this server is from there

            return read_again(found, os.environ)
        return read_manifest(found.folder)
    except ManifestError as error:
        return error
