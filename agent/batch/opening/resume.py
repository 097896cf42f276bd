"""The rule of what is left to run when a batch goes on in its folder: what is done stays done, unless `--redo` names
it; attempts that were cut off when the process was killed end as interrupted, and their tasks run again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from agent.batch.budget import BYTES_PER_TOKEN
from agent.batch.journal.folder import BatchFile
from agent.batch.journal.rundir_files import IN_RUNS, rundir_lines
from agent.batch.log import utc_now
from agent.batch.opening.backlog import find_backlog
from agent.batch.opening.settings import FLAGS, flags_of
from agent.batch.pool.run_facts import RunFacts
from agent.batch.tasks.digest import Digests
from agent.request_checks import UsageError
from wire.batch.outcome import SCORED, Outcome, TaskStatus
from wire.suggestions import join_names
from wire.text import counted, noun_for, one_line, valid_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from agent.batch.journal.folder import RunFolder
    from agent.batch.journal.state import BatchState
    from agent.batch.journal.writer import Journal
    from agent.batch.opening.changed_tasks import Comparison
    from agent.batch.request import BatchRequest
    from agent.options import RunRequest
    from wire.batch.link import WorktreeBase
    from wire.batch.task import Task

NAMED = 5
"""Tasks that a notice names; of more it says the number."""


CUT_OFF = "the batch process ended in the middle of it"
OVERHEAD_TOKENS = 2_000
"""Tokens of the system prompt and the built-in tools in a first request, which no event shows."""
SHARED_INSIDE = (
    "--in with --workspace shared: commands inside change the folders of the tasks themselves; copy or worktree gives"
    " each a folder of its own"
)
_UNHEARD = frozenset({"connection", "dropped", "timeout", "worker"})
"""Kinds of failures after which the events do not show whether the server has worked for the request."""
_SENT = (b'{"type":"user_message"', b'{"type":"tool_result"')
"""Events whose texts the next request sends."""
_ASKS = (b'{"type":"turn_start"', b'{"type":"compact_start"')
"""Events that precede a request, which is in flight until its `usage`."""


class Opening(msgspec.Struct, frozen=True):
    to_run: list[Task]
    """In their order."""
    done: dict[str, TaskStatus]
    """The tasks of this batch that stay as they are."""
    again: tuple[str, ...]
    """The tasks that are done and run again."""
    digests: dict[str, str]
    """The digest of each task to run, or whose result is awaited from a message batch."""
    notices: list[str]
    """Lines for the user."""
    compared: Iterator[str]
    """Compares the tasks that `notices` do not tell of with their results, to be done while runs are under way: with
    many tasks it takes long. Gives "" after each task, and at the end a line for the user if some have changed."""


def open_batch(
    request: BatchRequest, tasks: Sequence[Task], folder: RunFolder, journal: Journal, *, version: str
) -> Opening:
    """Writes what the folder needs, ends the attempts in the journal that were cut off, and reopens what is to be
    redone. Raises `FolderError`, `RedoError`, and `JournalError` if that cannot be written."""
    state = journal.state
    notices = list(journal.notices)
    digests = Digests(request)
    backlog = find_backlog(request, tasks, folder, state, digests, at_once=False)
    known, found, redo, left = backlog.known, backlog.comparison, backlog.redo, backlog.left
    done = dict(found.done) if redo else found.done
    to_run = [task for task in left if task.id not in state.sent.tasks]
    if request.command_prefix is not None and request.workspace == "shared" and to_run:
        notices.append(SHARED_INSIDE)
    bases = () if request.workspace != "worktree" else _bases(request, to_run, folder, notices)
    interrupted = {task: facts for task, facts in cut_off_runs(folder, state).items() if task not in redo}
    before = tasks if known is None else known.values()
    repeats = {task.id: task.repeat or 0 for task in before} if interrupted else {}
    for task, facts in interrupted.items():
        history = state.history(task)
        node, repeat = state.nodes.get(task, ""), repeats.get(task, 0)
        outcome = cut_off_outcome(task, history.running, history.digest, facts, repeat, node)
        journal.finished(outcome, final=False)
    for task in redo:
        journal.reopened(task)
        del done[task]
    compared = _compare(found, redo)
    notices += _notices(list(interrupted), compared if found.is_complete else (), found.gone)
    if rescored := _with_another_score(request, folder, before, tasks, done):
        notices.append(f"{_tasks(rescored)}: the score command changed, the score stays: zot batch score scores again")
    if known is not None:  # the tasks of earlier starts stay in the folder, with their results
        known |= {task.id: task for task in tasks}
        folder.write_tasks(known.values())
    _write_batch(request, folder, len(tasks if known is None else known), digests, version, bases)
    journal.sync()
    return Opening(
        to_run,
        done,
        tuple(task.id for task in to_run if task.id in redo),
        {task.id: found.rest.get(task.id) or digests.of(task) for task in left},
        notices,
        compared,
    )


def _compare(found: Comparison, redo: Collection[str]) -> Iterator[str]:
    """As `Opening.compared`."""
    for _ in found.look_on(redo):
        yield ""
    if changed := [task for task in found.changed if task not in redo]:
        yield f"{_tasks(changed)} changed since the result was made, which stays: --redo changed runs them again"


def _with_another_score(
    request: BatchRequest,
    folder: RunFolder,
    known: Iterable[Task],
    tasks: Sequence[Task],
    done: Mapping[str, TaskStatus],
) -> list[str]:
    """The done tasks whose `score` command is not the one of the last start."""
    before = folder.read_batch()
    flags = {} if before is None else before.settings.get(FLAGS)
    flag = flags.get("score") if isinstance(flags, dict) else None
    if request.score is None and not any(task.score for task in tasks):
        return []
    commands = {task.id: task.score or flag for task in known}
    return [
        task.id
        for task in tasks
        if task.id in commands
        and done.get(task.id) in SCORED
        and (task.score or request.score) not in (None, commands[task.id])
    ]


def _notices(interrupted: Sequence[str], changed: Iterable[str], gone: Sequence[str]) -> Iterator[str]:
    if interrupted:
        yield f"{_tasks(interrupted)} had been started and had not ended: run again"
    yield from changed
    if gone:
        yield f"{_tasks(gone)} in the folder, but not among the tasks of this start: left as they are"


def _tasks(ids: Sequence[str]) -> str:
    shown = ", ".join(map(repr, ids[:NAMED]))
    more = f" and {len(ids) - NAMED} more" if len(ids) > NAMED else ""
    return f"{noun_for(len(ids), 'task')} {shown}{more}"


def _bases(
    request: BatchRequest, to_run: Sequence[Task], folder: RunFolder, notices: list[str]
) -> tuple[WorktreeBase, ...]:
    """The commits at which the worktrees of the batch begin. Removes those that a killed batch has left. Raises
    `UsageError`."""
    from agent.batch.workspace.base import BaseError, base_remarks, find_bases
    from agent.batch.workspace.worktree import clear_worktrees

    before = folder.read_batch()
    known = () if before is None else before.bases
    try:
        bases = find_bases((task.cwd or request.run.cwd or os.getcwd() for task in to_run), known)
    except BaseError as error:
        raise UsageError(str(error)) from None
    if left := clear_worktrees(folder.path, bases.values()):
        notices.append(f"worktrees of an earlier start cannot be removed: {left}")
    for base in bases.values():
        notices += base_remarks(base, folder.path)
    return tuple(bases.values())


def _write_batch(
    request: BatchRequest, folder: RunFolder, tasks: int, digests: Digests, version: str,
    bases: tuple[WorktreeBase, ...],
) -> None:  # fmt: skip
    before = folder.read_batch()
    folder.write_batch(
        BatchFile(
            version=version,
            created=utc_now() if before is None else before.created,
            tasks=tasks,
            tasks_digest="",
            settings={"digest": digests.settings, FLAGS: flags_of(request)},
            bases=bases or (() if before is None else before.bases),
        )
    )


def cut_off_runs(folder: RunFolder, state: BatchState) -> dict[str, RunFacts]:
    """The attempts without a recorded end, by task. No batch process may be at work. Raises `FolderError`."""
    return {
        task: facts_of_cut_off(folder.events(task, state.history(task).running), was_paused=task in state.paused)
        for task in state.interrupted()
    }


def facts_of_cut_off(events: Path, *, was_paused: bool = False) -> RunFacts:
    """The events show how much an attempt has used, and of a request that was in flight the input: all that the last
    one has read and written, and the messages after it. One that waited for a rate limit (`was_paused`) has cost
    nothing, nor has one that the run says was refused. Raises `FolderError`."""
    facts = RunFacts()
    before, new, is_asking = OVERHEAD_TOKENS, 0, False
    try:
        for line in rundir_lines(events, depth=IN_RUNS):
            used, told = facts.usage.total, facts.answered
            facts.take(line)
            if facts.answered > told:
                before, new, is_asking = facts.usage.total - used, 0, False
            elif line.startswith(_ASKS):
                is_asking = True
            elif line.startswith(_SENT):
                new += len(line)
    except OSError:
        pass  # it had not begun
    refused = facts.result is not None and facts.result.error_kind and facts.result.error_kind not in _UNHEARD
    if is_asking and not (refused or was_paused):
        facts.lose(before + new // BYTES_PER_TOKEN)
    return facts


def cut_off_outcome(task: str, attempt: int, digest: str, facts: RunFacts, repeat: int = 0, node: str = "") -> Outcome:
    """The outcome of an attempt whose end was not recorded. `node` is empty for one on this machine."""
    now = utc_now()
    return Outcome(
        id=task, attempt=attempt, status=TaskStatus.INTERRUPTED, reason=CUT_OFF, digest=digest, repeat=repeat,
        node=node or msgspec.UNSET, usage=facts.usage, steps=facts.step, requests=facts.answered,
        rate_limited=facts.rate_limited,
        cost_usd=None if facts.has_unknown_cost else facts.known_usd, known_cost_usd=facts.known_usd,
        reserved_usd=facts.lost.at_most_usd, lost=facts.lost if facts.lost.requests else None,
        answers=facts.whole, largest_answer=facts.largest_answer,
        started=now, ended=now, provider=facts.provider, model=facts.model, session=facts.session,
    )  # fmt: skip


WRITING = frozenset({"write", "edit", "bash"})
"""Tools that may change files."""
HEAD = 160
"""Maximum length of the warning before its hint, in characters."""


def writers_of_one_folder(tasks: Sequence[Task], flags: RunRequest) -> str:
    """Returns a line about the folder that most of these tasks may change, with the number of other folders that
    several may change; "" if each has a folder of its own. `flags` are those of every run. Follows links."""
    folders: dict[str, str] = {}
    writers: dict[str, list[str]] = {}
    for task in tasks:
        if WRITING.isdisjoint(flags.tools if task.tools is None else task.tools):
            continue
        given = task.cwd or flags.cwd or os.curdir
        real = folders.get(given) or folders.setdefault(given, os.path.realpath(given))
        writers.setdefault(real, []).append(task.id)
    several = {folder: ids for folder, ids in writers.items() if len(ids) > 1}
    if not several:
        return ""
    folder, ids = max(several.items(), key=lambda item: len(item[1]))
    others = f" and {counted(len(several) - 1, 'other folder')} likewise" if len(several) > 1 else ""
    head = f"{len(ids)} tasks may change {valid_text(folder)} at the same time{others} ({join_names(ids, 3)})"
    return (
        f"{one_line(head, HEAD)}: --workspace copy gives each its own copy, --tools read lets none write, --jobs 1 runs"
        " one after another"
    )
