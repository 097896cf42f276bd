"""Which extensions of a run are the host's, and which it starts itself. Pure, but for the paths that it resolves."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.sharing.offers import describe, granted_values, place_of
from wire.manifest import Limits, Manifest, Restart
from wire.settings.mcp_server import WORKSPACE
from wire.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from supervisor.discovery.found_extension import ProjectCopy
    from wire.dialects.attach import Attached, Offered

NEVER_STALLED = 1_000_000
"""`stall_after` of a hosted extension: its host finds out whether it hangs."""
ITS_OWN = "; this run starts its own"
_SCOPES = {scope.recorded: scope for scope in Scope}
_manifest = msgspec.json.Decoder(Manifest).decode


class Hosted(msgspec.Struct, frozen=True):
    """An extension that this run takes from its host."""

    name: str
    found: FoundExtension
    """As the run knows it, without its link."""
    own: FoundExtension | None
    """The same extension as the run would start it itself; None if it has not found it."""
    mode: str
    """leased or shared."""


class Assignment(msgspec.Struct, frozen=True):
    hosted: tuple[Hosted, ...]
    private: tuple[FoundExtension, ...]
    """The extensions that the run starts itself."""
    lines: tuple[str, ...]
    """For the user."""
    refusal: str = ""
    """Why the run must not start; "" if it may."""


class Terms(msgspec.Struct, frozen=True):
    """The flags of a run that count here."""

    cwd: str
    copy: ProjectCopy | None = None
    discovers: bool = True
    """False with `--no-ext`, and in a batch: only extensions that the run has found are taken from the host."""
    takes_host_version: bool = False
    """`--host-version`."""
    is_asked_for: bool = True
    """Whether the user has named the host. If not, a differing extension is started by the run, and said."""


def assign(found: Sequence[FoundExtension], attached: Attached, terms: Terms, environ: Mapping[str, str]) -> Assignment:
    """Decides for each extension of the run and of the host."""
    own = {each.manifest.name: each for each in found}
    hosted: list[Hosted] = []
    lines: list[str] = []
    refused: list[str] = []
    elsewhere: list[str] = []
    where = f"host {attached.pid}"
    same_project = _project(terms) == os.path.realpath(attached.cwd)
    for offer in attached.extensions:
        mine = own.get(offer.name)
        if offer.sessions == "private" or (mine is None and not terms.discovers):
            continue
        if offer.scope == Scope.PROJECT.recorded and not same_project:
            elsewhere.append(offer.name)
            continue
        if mine is None:
            mine_or_theirs = _described_by(offer)
        elif elsewhere_is := _other_place(mine, offer, attached, terms):
            lines.append(f"extension {offer.name}: this run's own is used, not that of {where} ({elsewhere_is})")
            continue
        elif (difference := _difference(mine, offer)) and not terms.takes_host_version:
            said = f"extension {offer.name}: {difference}"
            refused.append(said) if terms.is_asked_for else lines.append(f"{said}{ITS_OWN}")
            continue
        else:
            mine_or_theirs = mine
        if other := _other_values(mine_or_theirs, offer, environ, attached.salt):
            said = f"extension {offer.name}: {', '.join(other)} differ from those of {where}"
            lines.append(f"{said}, which count" if terms.is_asked_for else f"{said}{ITS_OWN}")
            if not terms.is_asked_for:
                continue
        hosted.append(Hosted(offer.name, _hosted(mine_or_theirs), mine, offer.sessions))
    lines += _unshared(elsewhere, attached, terms, is_nothing=not hosted and not refused)
    taken = {each.name for each in hosted}
    advice = f"; run zot ext reload NAME --host {attached.pid}, or add --host-version to use the host's"
    return Assignment(
        tuple(hosted),
        tuple(each for each in found if each.manifest.name not in taken),
        tuple(lines),
        f"{where} runs another version: {'; '.join(refused)}{advice}" if refused else "",
    )


def _unshared(elsewhere: Sequence[str], attached: Attached, terms: Terms, *, is_nothing: bool) -> Iterator[str]:
    """Lines about the extensions of another project, and about a host of which the run has nothing."""
    where = f"host {attached.pid}"
    if elsewhere:
        yield (
            f"{where} works in {attached.cwd}: {counted(len(elsewhere), 'extension')} of that project"
            f" ({', '.join(elsewhere)}) not shared with {terms.cwd}"
        )
    if not is_nothing:
        for each in attached.extensions:
            if each.sessions == "private" and _manifest(each.manifest).sessions != "private":
                yield f"extension {each.name}: {where} does not share it: {each.why}"
    elif terms.is_asked_for:
        why = "; ".join(f"{each.name}: {each.why}" for each in attached.extensions if each.why)
        yield f"{where} shares nothing with this run{f' ({why})' if why else ''}"


def _project(terms: Terms) -> str:
    return os.path.realpath(terms.cwd) if terms.copy is None else terms.copy.original


def _place(found: FoundExtension, terms: Terms) -> str:
    """Its place, in the original of a copied project."""
    path = place_of(found)
    return path if terms.copy is None else terms.copy.in_original(path) or path


def _other_place(mine: FoundExtension, offer: Offered, attached: Attached, terms: Terms) -> str:
    """The place of the host's extension if it is another one; the folder in which the host runs it if it is another
    server there. Else empty."""
    if _place(mine, terms) != offer.folder:
        return offer.folder
    if offer.is_named or not _depends_on_folder(mine):
        return ""
    return attached.cwd if os.path.realpath(terms.cwd) != os.path.realpath(attached.cwd) else ""


def _depends_on_folder(mine: FoundExtension) -> bool:
    """Whether this is an MCP server that works in the project's folder, or is told of it: one for another folder would
    be another server."""
    if mine.mcp_entry is None:
        return False
    server = mine.mcp_entry.server
    if server.cwd is None or not os.path.isabs(os.path.expanduser(server.cwd)):
        return True
    return any(f"${{{WORKSPACE}}}" in str(word) for word in (server.command, *server.args, *server.env.values()))


def _difference(mine: FoundExtension, offer: Offered) -> str:
    if offer.is_changed:
        return "its files have changed since the host started it"
    if describe(mine) != offer.described:
        return "its manifest is another one than the host has started"
    return ""


def _described_by(offer: Offered) -> FoundExtension:
    return FoundExtension(Path(offer.folder), _manifest(offer.manifest), _SCOPES.get(offer.scope, Scope.EXPLICIT))


def _hosted(found: FoundExtension) -> FoundExtension:
    """The extension as a run knows it whose host owns the process."""
    manifest = replace(
        found.manifest, workers=1, watchdog_s=None, stall_after=NEVER_STALLED, limits=Limits(),
        restart=Restart(policy="temporary"),
    )  # fmt: skip
    manifest.__dict__.update(found.manifest.__dict__)
    return replace(found, manifest=manifest, seal=None)


def _other_values(found: FoundExtension, offer: Offered, environ: Mapping[str, str], salt: str) -> list[str]:
    """The variables that its manifest asks for and that have another value in this run."""
    mine = granted_values(found, environ, salt)
    return [name for name in found.manifest.env if name in mine and mine[name] != offer.granted.get(name)]
