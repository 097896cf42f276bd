"""Finds the running hosts, and the host that a command is about."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from cli.choices import CommandLineError
from supervisor.control.client import ControlClient, ControlError, GoneError, endpoints, hosts
from supervisor.home.runtime_dir import runtime_dirs
from wire import control
from wire.suggestions import no_such
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from wire.stats import ExtensionStats

SURVEY_S = 2.0
"""Maximum wait for the answers of all hosts together, in seconds."""
NONE_RUNS = "no host is running; start one with zot host"
HOSTS_NAMED = 10

Expected = TypeVar("Expected")


class SurveyedHost(NamedTuple):
    """A host with its connection, or with the reason why it does not answer."""

    pid: int
    client: ControlClient | None
    info: control.HostInfoReply | None
    trouble: str
    socket: str = ""
    """The path of its control socket."""


def connect(pid: int | None) -> ControlClient:
    """Connects to the host with this pid; without a pid to the only `zot host`, or without a `zot host` to the only run
    of an agent. Raises `ControlError`, and `CommandLineError` if several hosts could be meant."""
    if pid is not None:
        return _connect_to(pid)
    found = survey()
    answering = [host for host in found if host.info is not None]
    candidates = [host for host in answering if host.info is not None and host.info.kind == "host"] or answering
    if (chosen := keep_only(candidates, found)) is not None:
        return chosen
    if not found:
        raise ControlError(NONE_RUNS)
    if not candidates:
        raise ControlError(f"host {found[0].pid} does not answer: {found[0].trouble}")
    raise CommandLineError(f"{len(candidates)} hosts are running; name one by its pid: {host_list(candidates)}")


def keep_only(candidates: Sequence[SurveyedHost], found: Iterable[SurveyedHost]) -> ControlClient | None:
    """The connection to the candidate, None unless there is exactly one. Closes all other connections of
    `found`."""
    chosen = candidates[0].client if len(candidates) == 1 else None
    close(host.client for host in found if host.client is not chosen)
    return chosen


class HostWith(NamedTuple):
    """The host that has an extension."""

    client: ControlClient | None
    """None if no host has it."""
    name: str
    """The name of the extension, also if it was named by its folder."""
    found: list[SurveyedHost]
    """All hosts that were asked, if no pid was given."""


def host_with(name: str, pid: int | None) -> HostWith:
    """The host that has an extension of this name, or from a folder of this name: with a pid that host; without one the
    only host that has it. Raises `ControlError`, and `CommandLineError` if several have it, or the host `pid` has it
    not."""
    if pid is not None:
        client = connect(pid)
        info = client.ask(control.Info(client.next_id()), control.HostInfoReply)
        name = known_name(name, info.extensions)
        if name in info.extensions:
            return HostWith(client, name, [])
        client.close()
        raise CommandLineError(f"host {pid}: {no_such('extension', name, info.extensions)}")
    found = survey()
    name = known_name(name, extensions_of(found))
    having = [host for host in found if host.info is not None and name in host.info.extensions]
    chosen = keep_only(having, found)
    if len(having) > 1:
        raise CommandLineError(f"{len(having)} hosts have it; name one with --host: {host_list(having)}")
    return HostWith(chosen, name, found)


def host_of(name: str, pid: int | None) -> tuple[ControlClient, str]:
    """Connects to the host `pid`; without a pid to the only host with this extension. Returns the name of the
    extension, too, which may be named by its folder. Raises `ControlError`, and `CommandLineError` for an unknown name
    or if several hosts have the extension."""
    client, known, found = host_with(name, pid)
    if client is not None:
        return client, known
    if not found:
        raise ControlError(NONE_RUNS)
    raise CommandLineError(no_such("extension", name, sorted(extensions_of(found))))


def extensions_of(found: Iterable[SurveyedHost]) -> set[str]:
    """The names of the extensions of all these hosts."""
    return {extension for host in found if host.info is not None for extension in host.info.extensions}


def known_name(name: str, known: Collection[str]) -> str:
    """The name of the known extension that is installed in a folder of this name; `name` if it is known itself, or no
    such folder holds one."""
    if name in known or not known:
        return name
    from supervisor.discovery.found_extension import Scope
    from supervisor.home.zot_home import zot_home
    from supervisor.install.installed_extension import ExtensionFolders, installed_extensions

    try:
        every = installed_extensions(ExtensionFolders(Path.cwd(), zot_home()), (Scope.PROJECT, Scope.GLOBAL))
    except OSError:
        return name
    return next((each.name for each in every if each.folder.name == name and each.name in known), name)


def _connect_to(pid: int) -> ControlClient:
    for endpoint in endpoints(runtime_dirs()):
        if endpoint.pid == pid:
            try:
                return ControlClient(endpoint)
            except GoneError:
                break
    found = survey()
    close(host.client for host in found)
    if not found:
        raise ControlError(f"there is no host {pid}: {NONE_RUNS}")
    raise ControlError(f"there is no host {pid}; there are {host_list(found)}")


def survey(within_s: float = SURVEY_S, only: int | None = None) -> list[SurveyedHost]:
    """All hosts with their answers, or only the host of this pid. All are asked at the same time, and waited for
    `within_s` seconds at most."""
    found = hosts(runtime_dirs(), within_s)
    if only is not None:
        close(client for endpoint, client in found if endpoint.pid != only and isinstance(client, ControlClient))
        found = [each for each in found if each[0].pid == only]
    clients = [client for _, client in found if isinstance(client, ControlClient)]
    infos = ask_all(clients, control.Info, control.HostInfoReply, within_s)
    surveyed = []
    for endpoint, client in found:
        if isinstance(client, ControlError):
            surveyed.append(SurveyedHost(endpoint.pid, None, None, str(client), str(endpoint.path)))
            continue
        info = infos[client]
        if isinstance(info, GoneError):
            client.close()
        elif isinstance(info, ControlError):
            client.close()
            surveyed.append(SurveyedHost(endpoint.pid, None, None, str(info), str(endpoint.path)))
        else:
            surveyed.append(SurveyedHost(endpoint.pid, client, info, "", str(endpoint.path)))
    return surveyed


def ask_all(
    clients: Iterable[ControlClient],
    request: Callable[[str], control.Request],
    expected: type[Expected],
    within_s: float = SURVEY_S,
) -> dict[ControlClient, Expected | ControlError]:
    """The answer or the error of each host. All are asked before the wait, so that several hosts take no longer than
    one."""
    answers: dict[ControlClient, Expected | ControlError] = {}
    asked: list[tuple[ControlClient, str]] = []
    for client in clients:
        id_ = client.next_id()
        try:
            client.send(request(id_))
            asked.append((client, id_))
        except ControlError as error:
            answers[client] = error
    deadline = time.monotonic() + within_s
    for client, id_ in asked:
        try:
            answers[client] = client.answer_to(id_, expected, max(0.01, deadline - time.monotonic()))
        except ControlError as error:
            answers[client] = error
    return answers


def shared_extensions(hosts: Mapping[int, Iterable[str]]) -> Iterator[str]:
    """A line for each group of extensions that the same hosts, given by pid, run besides each other."""
    having: dict[str, list[int]] = {}
    for pid in sorted(hosts):
        for name in hosts[pid]:
            having.setdefault(name, []).append(pid)
    groups: dict[tuple[int, ...], list[str]] = {}
    for name, pids in having.items():
        if len(pids) > 1:
            groups.setdefault(tuple(pids), []).append(name)
    for group, names in groups.items():
        where = _some([str(pid) for pid in group])
        yield one_line(f"hosts {where} each have processes of their own for {_some(names)}", 1000)


def _some(texts: Sequence[str]) -> str:
    """The texts; `HOSTS_NAMED` at most, the others are counted."""
    more = f" and {len(texts) - HOSTS_NAMED} more" if len(texts) > HOSTS_NAMED else ""
    return ", ".join(texts[:HOSTS_NAMED]) + more


def host_list(found: list[SurveyedHost]) -> str:
    """The pids of the hosts, with kind and folder; `HOSTS_NAMED` at most, the others are counted."""
    shown = [f"{host.pid} ({host.info.kind} in {host.info.cwd})" if host.info else str(host.pid) for host in found]
    return _some(shown) + (", see zot ps" if len(shown) > HOSTS_NAMED else "")


def close(clients: Iterable[ControlClient | None]) -> None:
    """Closes the connections; skips None."""
    for client in clients:
        if client is not None:
            client.close()


WORST_FIRST = (
    "failed", "backoff", "exited", "stopped", "stopping", "spawned", "waking", "greeted", "reloading", "asleep",
    "ready",
)  # fmt: skip


def count_states(extensions: Iterable[ExtensionStats]) -> list[tuple[str, int]]:
    """How many extensions are in each state, good states first."""
    states = [extension.state for extension in extensions]
    known = [state for state in reversed(WORST_FIRST) if state in states]
    return [(state, states.count(state)) for state in [*known, *sorted(set(states) - set(known))]]
