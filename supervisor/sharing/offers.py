"""Which extensions of the host runs may take, and the description by which a run finds its own among them."""

from __future__ import annotations

import hashlib
import hmac
import os
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw

from supervisor.discovery.kind import COPILOT, ExtensionKind
from supervisor.reload.file_watcher import look
from wire.dialects.attach import Offered
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.extension.extension import Extension
    from supervisor.reload.file_watcher import FileStamp

LEASES = "leases"
"""The feature in the hello of an extension that can be leased."""
FRESH_S = 0.1
"""Seconds for which a look at the files of an extension is used again."""
COPILOT_IS_PRIVATE = "Copilot extensions have one session for each process, by their SDK"
MCP_IS_NOT_LEASED = "an MCP server cannot be leased: its protocol has no frames for it"
NOT_ASKED_FOR = 'its manifest does not say "sessions": "shared" or "leased"; the host was not started with --share {}'
OPEN_GUARD = 'it is a guard whose failure means allow: a shared one needs "on_failure": "deny", or --share {}'
NO_LEASES = "its hello does not announce the feature leases"
SETTINGS = ("sessions", "start", "idle_stop_s")
"""Fields of a manifest that say how the host runs it, not what it is."""


def describe(found: FoundExtension) -> str:
    """A hash of all by which an extension is started, without the values of variables: they differ between hosts."""
    manifest = msgspec.to_builtins(found.manifest)
    if found.mcp_entry is not None:
        manifest["as written"] = msgspec.to_builtins(found.mcp_entry.server)
    kept = {name: value for name, value in manifest.items() if name not in SETTINGS}
    return hashlib.sha256(msgspec.json.encode(kept, order="sorted")).hexdigest()


def granted_values(found: FoundExtension, environ: Mapping[str, str], salt: str) -> dict[str, str]:
    """The variables that its manifest asks for, each with a hash of its value in `environ`."""
    return {
        name: hmac.new(salt.encode(), environ[name].encode("utf-8", "surrogateescape"), "sha256").hexdigest()[:32]
        for name in found.manifest.env
        if name in environ
    }


def place_of(found: FoundExtension) -> str:
    """The real path of its folder; for an MCP server that of its file, and its name behind that."""
    if found.mcp_file is None:
        return os.path.realpath(found.folder)
    return os.path.join(os.path.realpath(found.mcp_file), found.manifest.name)


def is_of_copilot(found: FoundExtension) -> bool:
    return found.kind is ExtensionKind.COPILOT or found.manifest.dialect == COPILOT


def may_be_shared(found: FoundExtension, shared: Collection[str]) -> bool:
    """Whether runs may share or lease it, as far as that is known before its start. `shared` has the names that the
    operator shares."""
    if is_of_copilot(found):
        return False
    return not found.names.isdisjoint(shared) or found.manifest.sessions != "private"


class Offers:
    """The offers of one host. `shared` has the names of `--share` and of the settings."""

    def __init__(self, shared: Collection[str], clock: Callable[[], float]) -> None:
        self._shared = frozenset(shared)
        self._clock = clock
        self._first: dict[str, tuple[FoundExtension, dict[str, FileStamp]]] = {}
        """The files of each extension as they were when its present version was first seen."""
        self._looks: dict[str, tuple[float, bool]] = {}
        self._described: dict[str, tuple[FoundExtension, Offered]] = {}

    def note(self, extension: Extension) -> None:
        """Remembers the files of an extension that has just been started or replaced."""
        found, known = extension.found, self._first.get(extension.name)
        if known is None or known[0] is not found:
            self._first[extension.name] = found, look(found.folder) if found.kind.has_folder else {}

    def mode(self, extension: Extension) -> tuple[str, str]:
        """How runs may use an extension: private, leased or shared; and why it is private."""
        found, name = extension.found, extension.name
        if is_of_copilot(found):
            return "private", COPILOT_IS_PRIVATE
        if found.names & self._shared:
            return "shared", ""
        wanted = found.manifest.sessions
        if wanted == "private":
            is_leased = found.mcp_entry is not None and found.mcp_entry.server.sessions == "leased"
            return "private", MCP_IS_NOT_LEASED if is_leased else NOT_ASKED_FOR.format(name)
        hello = extension.lead.said_hello
        if wanted == "leased":
            if hello is not None and LEASES not in (hello.features or ()):
                return "private", NO_LEASES
            return "leased", ""
        if extension.guards and found.manifest.on_failure == "allow":
            return "private", OPEN_GUARD.format(name)
        return "shared", ""

    def offer(self, extension: Extension, environ: Mapping[str, str], salt: str) -> Offered:
        """The description of an extension for a run."""
        found = extension.found
        known = self._described.get(extension.name)
        if known is None or known[0] is not found:
            known = self._described[extension.name] = found, plain_offer(found)
        mode, why = self.mode(extension)
        return msgspec.structs.replace(
            known[1],
            sessions=mode,
            why=why,
            is_changed=self._is_changed(extension),
            granted=granted_values(found, environ, salt),
            is_named=bool(found.names & self._shared),
        )

    def _is_changed(self, extension: Extension) -> bool:
        known = self._first.get(extension.name)
        if known is None or not known[0].kind.has_folder:
            return False
        now = self._clock()
        at, changed = self._looks.get(extension.name, (-FRESH_S, False))
        if now - at >= FRESH_S or changed:
            changed = look(known[0].folder) != known[1]
            self._looks[extension.name] = now, changed
        return changed


def plain_offer(found: FoundExtension) -> Offered:
    """The part of an offer that depends on the extension alone."""
    return Offered(
        valid_text(found.manifest.name),
        "private",
        found.scope.recorded,
        valid_text(place_of(found)),
        Raw(msgspec.json.encode(found.manifest)),
        describe(found),
    )
