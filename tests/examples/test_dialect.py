"""The dialect of docs/dialects.md serves a real extension in sh, and the page shows it as it is and names all that a
dialect has."""

from __future__ import annotations

import inspect
import json
import re

import pytest

from supervisor.discovery.discover import read_manifest
from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.future import Failure
from tests.examples.sdk_copies import ROOT
from tests.support.host import Host
from wire import frames
from wire.dialects import base, table

FOLDER = ROOT / "examples" / "dialect"
PAGE = (ROOT / "docs" / "dialects.md").read_text()
SHOWN = re.findall(r"\]\(\.\./(examples/dialect/[\w./]+)\):?\n\n```\w+\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def host(tmp_path):
    table.add("tab", "examples.dialect.tab_dialect")
    try:
        with Host(tmp_path) as host:
            yield host
    finally:
        del table.MODULES["tab"]


def test_an_extension_in_sh_offers_answers_guards_and_stops(host):
    host.found.append(FoundExtension(FOLDER / "disk", read_manifest(FOLDER / "disk"), Scope.EXPLICIT))
    host.start()
    assert host.said_of("disk") == []
    assert host.state("disk") is WorkerState.READY
    header, usage = host.text("disk_free", folder=str(ROOT)).splitlines()
    assert "Avail" in header
    assert "%" in usage
    failed = host.call("disk_free", folder="/no such folder")
    assert failed.frame.is_error
    assert "No such file" in failed.frame.content[0].text
    refused = host.call("disk_free", folder="two\nlines")
    assert (refused.failure, refused.reason) == (
        Failure.INVALID_ARGS,
        "a value with a line break or a tab cannot be sent to this extension",
    )
    bash = {"tool_name": "bash", "tool_args": frames.encoder.encode({"command": "mkfs /dev/sda"})}
    judged = host.ask(**bash)
    assert (judged.blocked_by, judged.reason) == ("disk", "it would format a disk")
    assert host.ask().blocked_by is None
    host.stop()
    assert host.state("disk") is WorkerState.EXITED
    assert "ended: exit 0" in host.log("disk"), "the end of its input is enough"


def test_a_result_of_many_short_lines_that_come_at_once_is_whole(host, tmp_path):
    lines = 3000
    (tmp_path / "result").write_text("out\t1\t}\n" * lines + "done\t1\n")
    (tmp_path / "braces.sh").write_text(
        "printf 'hello\\t1\\ntool\\tbraces\\tMany.\\nready\\n'; read -r start; read -r call; cat result -"
    )
    manifest = {"name": "braces", "exec": "/bin/sh", "args": ["braces.sh"], "dialect": "tab"}
    (tmp_path / "extension.json").write_text(json.dumps(manifest))
    host.found.append(FoundExtension(tmp_path, read_manifest(tmp_path), Scope.EXPLICIT))
    host.start()
    assert host.text("braces") == "\n".join("}" * lines)


def test_without_its_entry_in_the_table_the_manifest_is_refused():
    with pytest.raises(ValueError, match="dialect: must be one of zot, mcp"):
        read_manifest(FOLDER / "disk")


def test_the_page_shows_the_files_as_they_are():
    assert [name for name, _ in SHOWN] == [
        "examples/dialect/tab_dialect.py",
        "examples/dialect/disk/disk.sh",
        "examples/dialect/disk/extension.json",
        "examples/dialect/test_tab_dialect.py",
    ]
    for name, text in SHOWN:
        assert text == (ROOT / name).read_text(), f"docs/dialects.md shows another {name}"


def test_the_page_names_all_that_a_dialect_and_a_session_have():
    members = [
        name
        for contract in (base.Dialect, base.DialectSession, base.Setup)
        for name in (*inspect.get_annotations(contract), *vars(contract))
        if not name.startswith("_")
    ]
    messages = [cls.__name__ for cls in base.Message.__args__]
    assert [name for name in [*members, *messages] if not re.search(rf"`[^`]*\b{name}\b[^`]*`", PAGE)] == []


DIALECTS = ["zot", "mcp", "copilot"]


@pytest.mark.parametrize("name", DIALECTS)
def test_the_table_of_dialects_is_that_of_the_code(name):
    dialect = table.find_dialect(name)
    column = DIALECTS.index(name) + 1
    table_rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
    rows = {cells[0]: cells[column] for cells in table_rows}
    assert set(re.findall(r"`(\w+)`", rows["guards"])) == dialect.guardable
    assert set(re.findall(r"`(\w+)`", rows["observes"])) == dialect.observable
    assert rows["hello within"] == f"{dialect.hello_s:g} s; {dialect.launcher_hello_s:g} s behind a launcher"
    assert rows["a run waits for it"] == (f"{dialect.settle_s:g} s" if dialect.settle_s else "while the model starts")
    assert rows["from SIGTERM to SIGKILL"] == f"{dialect.term_s:g} s"
    assert rows["ready by silence"] == ("yes" if dialect.is_ready_by_silence else "no")
    assert rows["progress extends a call"] == ("yes" if dialect.is_extended_by_progress else "no")
    assert ("a folder" in rows["wants from its host"]) == dialect.has_workspace
    is_reloaded = dialect.is_reloaded_with_session
    session = f"yes, with its id in `{dialect.session_variable}`" if is_reloaded else "no"
    assert rows["reloaded with the session"] == session
    assert rows["defaults"] == (
        ", ".join(f"`{field}`" for field in sorted(dialect.manifest_defaults)) or "those of the manifest"
    )
