"""Extensions inside the client program: their frames travel between the other lines of the client.

Such an extension has no process. The rest is as with any extension: the supervisor does the handshake, deadlines,
verdicts and accounting.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agent.rpc.refusal import RequestRefusedError
from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.loop.link import Link
from wire.frames import envelope
from wire.lenient_json import UNREADABLE
from wire.rpc import ext_lines
from wire.rpc.ext_lines import UnfitManifestError, manifest_of

if TYPE_CHECKING:
    from agent.rpc.client_output import ClientOutput
    from supervisor.extension.extension import Extension
    from supervisor.supervisor import Supervisor
    from wire.framing import Oversize
    from wire.rpc.requests import Ext

EXTENSIONS_LIMIT = 100
"""Maximum of names of the client's extensions, ended ones included: the costs of each are kept."""
ENDED_BY_PROGRAM = "its program has ended it"


class ProgramExtensions:
    """Takes the `ext` lines of the client."""

    def __init__(self, supervisor: Supervisor, client: ClientOutput, cwd: str) -> None:
        self._supervisor = supervisor
        self._cwd = Path(cwd)
        self._output = _FrameOutput(client)
        self._extensions: dict[str, Extension] = {}
        """Extensions by name, ended ones included."""
        self._arrivals = 0

    def take(self, line: Ext) -> None:
        """Carries out a line. Raises `RequestRefusedError`."""
        frame = b"" if line.frame is msgspec.UNSET else bytes(line.frame)
        manifest = b"" if line.manifest is msgspec.UNSET else bytes(line.manifest)
        if line.closed:
            if frame or manifest:
                raise RequestRefusedError("closed: such a line has no frame and no manifest")
            self._end(line.extension)
            return
        if not frame:
            raise RequestRefusedError("frame: an ext line needs a frame, or closed")
        if not frame.startswith(b"{"):
            raise RequestRefusedError("frame: it must be an object, a frame of the extension protocol")
        is_open = self._is_open(line.extension)
        if manifest and not (_is_hello(frame) and not is_open):
            raise RequestRefusedError("manifest: only the hello that adds an extension may have one")
        if not is_open:
            if not _is_hello(frame):
                raise RequestRefusedError(self._why_closed(line.extension))
            self._add(line.extension, manifest)
        self._link(line.extension).on_frames(frame + b"\n")

    def take_oversize(self, line: Oversize) -> None:
        """Fails the request that a line over the limit was meant to answer, if that is known."""
        told = ext_lines.long_line(line)
        if told is not None and self._is_open(told.extension):
            self._link(told.extension).on_oversize(told.frame)

    def lose_all(self, reason: str) -> None:
        """Ends all extensions, because the client sends nothing more. Their guards count as crashed."""
        for name in self._extensions:
            self._link(name).on_lost(reason)

    # --- from hello to end --------------------------------------------------------------------------------

    def _add(self, name: str, given: bytes) -> None:
        try:
            manifest = manifest_of(name, given)
        except UnfitManifestError as error:
            raise RequestRefusedError(str(error)) from None
        known = self._extensions.get(name)
        if known is None and any(extension.name == name for extension in self._supervisor.extensions):
            raise RequestRefusedError(f"extension: {name!r} is the name of another extension of this server")
        if known is None and len(self._extensions) >= EXTENSIONS_LIMIT:
            raise RequestRefusedError(f"extension: there were {EXTENSIONS_LIMIT} names already; use one of them again")
        self._arrivals += 1
        link = Link(name, self._output)
        found = FoundExtension(self._cwd, manifest, Scope.PROGRAM, self._arrivals, link=link)
        try:
            if known is None:
                self._extensions[name] = self._supervisor.add(found)
            else:
                self._supervisor.guards.expect_more()
                known.connect_again(found, self._supervisor.data_folder)
        except (OSError, ImportError) as error:  # an import, before the first extension of a server
            raise RequestRefusedError(f"extension: cannot load what it needs: {error}") from None

    def _end(self, name: str) -> None:
        extension = self._extensions.get(name)
        if extension is None or extension.has_left:
            raise RequestRefusedError(self._why_closed(name))
        extension.leave(ENDED_BY_PROGRAM)

    def _is_open(self, name: str) -> bool:
        return name in self._extensions and self._link(name).is_open

    def _link(self, name: str) -> Link:
        link = self._extensions[name].found.link
        assert link is not None
        return link

    def _why_closed(self, name: str) -> str:
        if name in self._extensions:
            return f"extension: {name!r} has ended: {self._extensions[name].failure}; a hello starts it again"
        return f"extension: this program has none named {name[:80]!r}; its first frame must be a hello"


class _FrameOutput:
    """Writes frames for the client's extensions between the other lines."""

    def __init__(self, client: ClientOutput) -> None:
        self._client = client
        self._writer = client.writer
        self._openings: dict[str, bytes] = {}

    @property
    def is_open(self) -> bool:
        return not self._writer.broken

    @property
    def queued(self) -> int:
        return self._writer.outbox.queued

    @property
    def stuck_since(self) -> float | None:
        return self._writer.stuck_since

    def frame(self, extension: str, frame: bytes) -> None:
        opening = self._openings.get(extension)
        if opening is None:
            opening = self._openings[extension] = ext_lines.line_start(extension)
        self._client.line(ext_lines.frame_line(opening, frame))

    def ended(self, extension: str, reason: str) -> None:
        self._client.line(ext_lines.end_line(extension, reason))


def _is_hello(frame: bytes) -> bool:
    try:
        return bool(envelope.decode(frame).type == "hello")
    except UNREADABLE:
        return False
