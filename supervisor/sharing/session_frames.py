"""Notes and panels of an extension that serves several runs: each goes to the run whose session it names.

One that names no session stays with the host. One that names a session whose run does not have the extension is
dropped, and told off by name.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import force_setattr

from wire import frames

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.extension.extension import Extension
    from supervisor.extension.worker import Worker
    from supervisor.sharing.attached_run import AttachedRun
    from supervisor.sharing.served_extension import ServedExtension

KINDS = (
    frames.Notify, frames.ClearNotes, frames.OpenPanel, frames.PanelRender, frames.PanelClosed,
)  # fmt: skip


class SessionFrames:
    """`run_with` returns the attached run with a session, or None."""

    def __init__(self, run_with: Callable[[str], AttachedRun | None]) -> None:
        self._run_with = run_with
        self._adopted: dict[int, Worker] = {}

    def adopt(self, extension: Extension, served: ServedExtension) -> None:
        """Reads the session of the frames of all workers of an extension from now on."""
        for worker in extension.all_workers:
            if worker.said_hello is None or self._adopted.get(id(worker)) is worker:
                continue
            self._adopted[id(worker)] = worker
            handlers = worker.channel.handlers
            for kind in KINDS:
                handlers[kind] = partial(self._handle, served, extension, handlers[kind])
        alive = {id(worker) for worker in extension.all_workers}
        others = [key for key, worker in self._adopted.items() if key not in alive and not worker.state.is_up]
        for key in others:
            del self._adopted[key]

    def _handle(
        self, served: ServedExtension, extension: Extension, otherwise: Callable[..., None], frame: Any
    ) -> None:
        if frame.session_id is None:
            otherwise(frame)
            return
        run = self._run_with(frame.session_id)
        attachment = None if run is None else run.taken.get(served.name)
        if attachment is None:
            what, session = frame.__struct_config__.tag, frame.session_id[:80]
            said = f"sends {what} for the session {session!r}, whose run does not have this extension"
            extension.notices.warn("session", f"{said}; dropped")
            return
        force_setattr(frame, "session_id", None)
        attachment.say(frame)
