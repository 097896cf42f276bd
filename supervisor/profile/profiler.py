"""Makes one profile: chooses the process, has it profiled, keeps the file. Blocks for the time of the profile."""

from __future__ import annotations

import signal
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.process.table import Identity, read_process
from supervisor.profile import inspector, py_spy, speedscope
from supervisor.profile.choice import Candidate, choose, look_at_trees
from supervisor.profile.errors import ProfileError
from supervisor.profile.outcome import Profile, ProfileOrder
from supervisor.profile.program_kind import ProgramKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from supervisor.profile.place import Place
    from supervisor.profile.speedscope import Speedscope


def order_for(pids: tuple[int, ...], seconds: float, place: Place) -> ProfileOrder:
    """The order for processes that run now. Raises `ProfileError` if none of them does."""
    found = [process.identity for pid in pids if (process := read_process(pid)) is not None]
    if not found:
        raise ProfileError("it has no process now")
    return ProfileOrder(tuple((each.pid, each.started) for each in found), seconds, place)


def make(order: ProfileOrder, begins: Callable[[Candidate], None] = lambda _chosen: None) -> Profile:
    """Makes the profile; calls `begins` with the chosen process before. Raises `ProfileError`, and `OSError` if the
    file cannot be written. After Ctrl-C or SIGTERM it ends all that it had begun, and raises `KeyboardInterrupt`."""
    with _sigterm_as_interrupt(), order.place.opened() as (path, write):
        chosen = choose(look_at_trees([Identity(*root) for root in order.roots]))
        kind, pid = chosen.program.kind, chosen.identity.pid
        assert kind is not None
        if kind is ProgramKind.PYTHON and py_spy.find_py_spy() is None:
            raise ProfileError(py_spy.HOW_TO_INSTALL)
        begins(chosen)
        before = _cpu_by_thread(pid)
        text, found, warning = (_of_python if kind is ProgramKind.PYTHON else _of_node)(chosen, order.seconds)
        used = {thread: cpu - before.get(thread, 0.0) for thread, cpu in _cpu_by_thread(pid).items()}
        write(text)
    return Profile(
        str(path), pid, chosen.program.name, kind.value, order.seconds, round(sum(used.values()), 2),
        speedscope.hot_spots(found, used, order.seconds), warning,
    )  # fmt: skip


def _of_python(chosen: Candidate, seconds: float) -> tuple[bytes, Speedscope, str]:
    with tempfile.TemporaryDirectory(prefix="zot-profile-") as folder:
        file = Path(folder) / "profile.json"
        py_spy.record(py_spy.find_py_spy() or "py-spy", chosen.identity.pid, seconds, file)
        try:
            text = file.read_bytes()
        except OSError as error:
            raise ProfileError(f"py-spy has written no profile: {error.strerror}") from None
        return text, speedscope.decode(text), ""


def _of_node(chosen: Candidate, seconds: float) -> tuple[bytes, Speedscope, str]:
    given, warning = inspector.record(chosen.identity, seconds)
    found = speedscope.from_node(given, f"{chosen.program.name} {chosen.identity.pid}")
    return speedscope.encode(found), found, warning


def _cpu_by_thread(pid: int) -> dict[int, float]:
    """The processor time of each thread in seconds; empty where it cannot be read."""
    import psutil

    try:
        return {each.id: each.user_time + each.system_time for each in psutil.Process(pid).threads()}
    except (psutil.Error, OSError):
        return {}


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
