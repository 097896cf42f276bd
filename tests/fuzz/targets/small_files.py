"""The small files that people and other programs write: manifests, settings, trust, records, scripts, durations."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from agent.configure import prepare
from agent.options import RunRequest
from agent.request_checks import UsageError
from cli.duration import limit_from
from supervisor.cleanup.host_record import HostRecord, open_record
from supervisor.discovery.content.covered_files import ContentError
from supervisor.discovery.discover import McpFiles, discover, read_manifest
from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.discovery.mcp.entry_hash import entry_hash_steps
from supervisor.discovery.steps import finish
from supervisor.discovery.trust_store import TrustError, TrustStore
from supervisor.discovery.withheld_secrets import report_new
from supervisor.harness.script import ScriptError, parse_script
from supervisor.home.config import Config, ConfigError, load_config
from supervisor.install.installed_extension import look_at
from supervisor.install.record import InstallRecord
from supervisor.monitoring.definition_sizes import read_sizes
from tests.fuzz import seeds
from tests.fuzz.prompt import without_fsync
from tests.fuzz.target import Target, with_file, without_folder
from wire.manifest import Manifest, ManifestError, parse_manifest
from wire.settings.json_edit import switch_server
from wire.settings.manifest_faults import all_faults
from wire.settings.mcp_file import McpFileError, parse_mcp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CONFIG = {
    "provider": "anthropic", "model": "claude-sonnet-4-5", "reasoning": "low", "secrets": ["AWS_*"],
    "limits": {"rss_mb": 200, "action": "restart"}, "env_policy": "inherit", "env_allow": ["LANG"],
    "env_grant": {"desk": ["JIRA_TOKEN"]}, "theme": "dark",
}  # fmt: skip
MCP_FILES = (
    b'{"mcpServers": {"one": {"command": "${BIN:-node}", "args": ["s.js", "${HOME}"], "env": {"A": "${env:B}", "N":'
    b' 1}, "cwd": "${workspaceFolder}", "timeout": 9000, "includeTools": ["a"], "limits": {"rss_mb": 5}}}}',
    b'{ // one\n"servers": {"a.b/c": {"type": "stdio", "command": "x", "disabled": true, "restart": {"max": 2},},\n'
    b' "h": {"type": "http", "url": "https://x"}},}',
    b'{"mcpServers": {"one": {"command": "sh", "args": ["-lc", "cd $PWD/a&&(sh -c \'. ~/x\' \\"$@\\"|cat<b)"]}}}',
)
A_SIZE = {"extensions": [{"name": "x", "place": "/x", "tools": 2, "tokens": 700}]}
DURATIONS = (b"30", b"1.5", b"500ms", b"90s", b"5m", b"2h", b"1h30m", b"1d", b"1d2h3m4s5ms", b".5", b"1e3")


@without_folder
def manifests(data: bytes) -> None:
    """A manifest is read or refused; the doctor finds faults in those that are refused, and in no other."""
    try:
        manifest = parse_manifest(data)
    except ManifestError:
        assert all_faults(data), "the doctor finds the fault for which it is refused"
    else:
        assert not all_faults(data), "no fault in what is not refused"
        assert manifest.remark is not None


@contextmanager
def mcp_files(folder: Path) -> Iterator[Callable[[bytes], None]]:
    """A project's file of MCP servers: each becomes an extension or a fault, of which it is told what would be trusted,
    and can be switched off and on."""
    file = folder / ".mcp.json"

    def take(data: bytes) -> None:
        file.write_bytes(data)
        found = discover((), folder, None, None, McpFiles(folder))
        assert all(skipped.line for skipped in found.skipped)
        for each in found.found:
            with suppress(ContentError):
                assert finish(entry_hash_steps(each)).hash
        try:
            entries = parse_mcp(data).entries
        except McpFileError:
            assert not found.found
            return
        for entry in entries:
            after = switch_server(data, entry.key, on=False)
            assert after is not None
            assert entry.name not in [one.name for one in parse_mcp(after).entries if one.server.is_enabled]

    yield take


@with_file("config.json")
def settings(file: Path) -> None:
    """`config.json`, as each run reads it."""
    try:
        load_config(file.parent)
    except ConfigError:
        return
    try:
        prepare(RunRequest(cwd=str(file.parent), home=file.parent, base_url="http://127.0.0.1:9"))
    except UsageError:
        pass


@contextmanager
def trust(folder: Path) -> Iterator[Callable[[bytes], None]]:
    """`trust.json` at a look, when a folder is trusted, and when its trust is taken back."""
    place = folder / "extension"
    place.mkdir()
    (place / "extension.json").write_text('{"name":"x","exec":"./x"}')
    manifest = read_manifest(place)
    store = TrustStore(folder)

    def take(data: bytes) -> None:
        store.path.write_bytes(data.replace(b"/HERE", os.fsencode(place)))
        try:
            store.entries()
            judged = store.examine(place, manifest)
            assert "sha256:" not in judged.reason
            store.trust(place, manifest)
            assert store.examine(place, manifest).is_trusted
            assert store.revoke(place)
        except TrustError:
            pass

    with without_fsync():
        yield take


def trust_files() -> list[bytes]:
    record = {
        "hash": "sha256:" + "0" * 64,
        "name": "x",
        "env": ["A"],
        "time": "2026-01-01T00:00:00Z",
        "parts": {"a": "b"},
    }
    return [
        seeds.as_line({"version": 1, "extensions": {"/HERE": record, "/other": {"hash": "h", "name": "n"}}}),
        seeds.as_line({"version": 1, "extensions": {}}),
    ]


@contextmanager
def withheld(folder: Path) -> Iterator[Callable[[bytes], None]]:
    """`withheld.json`: damage means that the user is told again."""
    found = [FoundExtension(folder, Manifest("x", "./x"), Scope.EXPLICIT)]
    file = folder / "withheld.json"

    def take(data: bytes) -> None:
        file.write_bytes(data)
        report_new(folder, found, Config(), {"GITHUB_TOKEN": "t", "A_PASSWORD": "p"})

    with without_fsync():
        yield take


@with_file("definitions.json")
def definitions(file: Path) -> None:
    """`definitions.json`: damage costs the figures of a list."""
    read_sizes(file.parent)


@contextmanager
def records(folder: Path) -> Iterator[Callable[[bytes], None]]:
    """The record of an installation, as `zot ext list` reads it; and a manifest beside it with the same bytes."""
    place = folder / "x"
    place.mkdir()

    def take(data: bytes) -> None:
        (place / ".zot-install.json").write_bytes(data)
        (place / "extension.json").write_bytes(data)
        look_at(place, Scope.GLOBAL)
        discover([str(place)], None, None)

    yield take


def some_records() -> list[bytes]:
    record = InstallRecord(
        "/from", "path", None, None, "sha256:0", "sha256:0", ("a", "b/c"), "1", "2026-01-01T00:00:00Z"
    )
    return [msgspec.json.encode(record), *seeds.manifests()[:3]]


@with_file("4711.json")
def host_records(file: Path) -> None:
    """The record of a host, as the next host finds it."""
    if (opened := open_record(file)) is not None:
        opened.close()


@contextmanager
def scripts(folder: Path) -> Iterator[Callable[[bytes], None]]:
    """Scripts of `zot ext test`."""
    name = str(folder / "script.jsonl")

    def take(data: bytes) -> None:
        try:
            parse_script(data, name)
        except ScriptError:
            pass

    yield take


def some_scripts() -> list[bytes]:
    lines = [line + b"\n" for whole in seeds.conversations() for line in whole.splitlines()]
    about = seeds.as_line(
        {"about": {"title": "t", "ignore": ["log"], "exit": 1, "project": {"a/b.txt": "x", "c": "y"}}}
    )
    return [about, *dict.fromkeys(lines), *(whole for whole in seeds.conversations() if len(whole) < 3000)]


@without_folder
def durations(data: bytes) -> None:
    """`--timeout`, as it comes from the command line."""
    try:
        assert 0 < limit_from(os.fsdecode(data)) < float("inf")
    except ValueError:
        pass


TARGETS = (
    Target("manifests", lambda: list(seeds.manifests()), manifests, 500),
    Target("mcp_files", lambda: list(MCP_FILES), mcp_files, 380),
    Target("settings", lambda: [seeds.as_line(CONFIG), b"{}"], settings, 380),
    Target("trust_files", trust_files, trust, 180, 0.2),
    Target("withheld_files", lambda: [seeds.as_line({"told": {"x": ["GITHUB_TOKEN"], "y": []}})], withheld, 380),
    Target("definition_files", lambda: [seeds.as_line(A_SIZE)], definitions, 380),
    Target("install_records", some_records, records, 380),
    Target("host_records", lambda: [msgspec.json.encode(HostRecord.of_this_process("t", "1"))], host_records, 500),
    Target("scripts", some_scripts, scripts, 500),
    Target("durations", lambda: list(DURATIONS), durations, 1000),
)
