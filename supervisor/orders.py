"""Orders of a person about one extension: restart it, stop it, start it, change its limits.

An order that may do harm needs the person's consent: without it the reasons are raised, and nothing has changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.accounting.limits import limits_used
from supervisor.extension.lifecycle import WorkerState
from wire.settings.limit_changes import NEXT_START, check_changes, shown_changes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from supervisor.extension.extension import Extension
    from supervisor.supervisor import Supervisor
    from wire.manifest import Limits
    from wire.settings.limit_changes import LimitChanges

ENDED = "it would be ended, and started again"
ENDED_FOR_GOOD = "it would be ended"


class ConsentNeededError(Exception):
    """The order needs the consent of a person. `reasons` says why, a line for each."""

    def __init__(self, reasons: tuple[str, ...]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


def stop(supervisor: Supervisor, name: str, done: Callable[[], None], *, consent: bool) -> bool:
    """Stops an extension until it is started again; `done` is called in a later pass, when no process is left. Returns
    False if it is stopped already: then `done` is not called. Raises `UnknownNameError`, `RestartedElsewhereError`, and
    `ConsentNeededError` for a guard and for a required extension."""
    extension = supervisor.find(name)
    extension.require_own()
    if extension.stays_halted:
        return False
    if not consent and (reasons := tuple(_doubts(extension))):
        raise ConsentNeededError(reasons)
    extension.halt(done)
    supervisor.sampler.hurry()
    return True


def _doubts(extension: Extension) -> Iterator[str]:
    guards = ", ".join(sorted(extension.guards))
    if extension.denies_on_failure and not extension.was_ready:
        yield "it was never ready, so its guards are unknown: while it is stopped, all that a guard may deny is denied"
    elif guards and extension.denies_on_failure:
        yield f"it guards {guards}: while it is stopped, these are denied (on_failure deny)"
    elif guards:
        yield f"it guards {guards}: while it is stopped, these are allowed without it (on_failure allow)"
    if extension.manifest.required:
        yield "it is required"


def start(supervisor: Supervisor, name: str) -> bool:
    """Starts an extension that is stopped, has failed or waits for its restart. Returns False if it runs, or is being
    started. Raises `UnknownNameError` and `RestartedElsewhereError`."""
    extension = supervisor.find(name)
    extension.require_own()
    if not (extension.state.is_down or extension.state is WorkerState.BACKOFF):
        return False
    supervisor.restart(name)
    return True


def limit(
    supervisor: Supervisor,
    name: str,
    changes: LimitChanges,
    *,
    consent: bool,
    only_check: bool = False,
    is_kept: bool = False,
) -> tuple[str, ...]:
    """Changes limits of an extension, at once and until the host ends; with `only_check` changes none. `is_kept`: the
    user has them in the settings now. Returns those of them that hold, or that the kernel enforces, only from its next
    start; none if no process of it runs. Raises `UnknownNameError`, `RestartedElsewhereError`, `LimitError`, and
    `ConsentNeededError` for a limit below the present use."""
    extension, changes = supervisor.find(name), check_changes(changes, may_reset=True)
    extension.require_own()
    rules = supervisor.context.limits.with_order(name, changes, is_kept=is_kept)
    supervisor.sample()
    if not consent and (reasons := tuple(_excesses(extension, rules.of(name, extension.manifest.limits), changes))):
        raise ConsentNeededError(reasons)
    if not only_check:
        supervisor.context.limits = rules
        extension.apply_limits()
        said = f"zot ext limit: {shown_changes(changes)}"
        extension.log.add(said)
        extension.notices.tell("remark", said)
        supervisor.sampler.hurry()
    is_running = any(worker.is_running for worker in extension.all_workers)
    return tuple(each for each in NEXT_START if each in changes and is_running)


def _excesses(extension: Extension, wanted: Limits, changes: LimitChanges) -> Iterator[str]:
    readings = [worker.usage.reading for worker in extension.all_workers if worker.is_running]
    for name, allowed, used in limits_used(wanted, readings):
        if name in changes and used is not None and used > allowed:
            end = ENDED_FOR_GOOD if wanted.action == "stop" else ENDED
            yield f"{name} is {used:g} now, over {allowed:g}: {end}"
