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
    from supervisor.sharing.served_extension import ServedExtension

KINDS = (
    frames.Notify, frames.ClearNotes, frames.OpenPanel, frames.PanelRender, frames.PanelClosed,
)  # fmt: skip


class SessionFrames:
    """Reads the sessions of such frames. Each worker is adopted once, after its hello."""

    def __init__(self) -> None:
        self._adopted: dict[int, Worker] = {}

    def adopt(self, extension: Extension, served: ServedExtension) -> None:
        """Reads the session of the frames of all workers of an extension from now on."""
        workers = extension.all_workers
        for worker in workers:
            if worker.said_hello is not None and self._adopted.get(id(worker)) is not worker:
                self._adopted[id(worker)] = worker
                handlers = worker.channel.handlers
                for kind in KINDS:
                    handlers[kind] = partial(_handle, served, worker, handlers[kind])
        for key, worker in list(self._adopted.items()):
            if worker not in workers and not worker.is_running:
                del self._adopted[key]


def _handle(served: ServedExtension, worker: Worker, otherwise: Callable[..., None], frame: Any) -> None:
    session_id = frame.session_id
    if (attachment := served.attachment_of(worker, session_id)) is not None:
        force_setattr(frame, "session_id", None)
        attachment.say(frame)
    elif session_id is None:
        otherwise(frame)
    else:
        tag = frame.__struct_config__.tag
        said = f"sends {tag} for the session {session_id[:80]!r}, which does not have it"
        served.extension.notices.warn(f"session of {tag}", f"{said}; dropped")
