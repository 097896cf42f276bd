"""The doctor says why an extension did not start, and advises what fits, or nothing."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.harness.checkup import CheckupResult, examine
from supervisor.harness.harness import Harness
from supervisor.harness.program_facts import FileFormat, ProgramFacts, look
from supervisor.harness.script_runner import found_in
from supervisor.home.config import Config
from tests.cli.ext.author.broken_folders import CASES, Broken, elf, make
from tests.support.extension_folder import folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.doctor.finding import DoctorFinding


def diagnose(cases: Sequence[Broken], parent: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, DoctorFinding]:
    """The finding about the failed start of each broken folder, by its name. All are started in one harness."""
    from cli.ext.author.doctor_findings import judge

    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    monkeypatch.delenv("ZZ_NOT_SET", raising=False)
    monkeypatch.setenv("LC_ALL", "C")
    with Harness() as harness:
        results = examine(harness, [make(case, parent) for case in cases], at_once=8)
    findings = {}
    for result in results:
        told = judge(result, look(result.found, Config()))
        findings[result.found.manifest.name] = next(each for each in told if each.topic in ("start", "handshake"))
    return findings


@pytest.mark.parametrize("needs", ["", "node"])
def test_each_broken_folder_has_its_diagnosis(needs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if needs and shutil.which(needs) is None:
        pytest.skip(f"{needs} is not installed")
    cases = [case for case in CASES if case.needs == needs]
    assert len(cases) >= (3 if needs else 35)
    findings = diagnose(cases, tmp_path, monkeypatch)
    for case in cases:
        finding = findings[case.name]
        said = f"{finding.message}\n{finding.advice}"
        assert (case.name, finding.rule) == (case.name, case.rule), finding
        assert case.says in said, (case.name, said)
        assert bool(finding.advice) == bool(case.rule), case.name
        assert said.count("\n") == 1, case.name
    if not needs:
        lines = findings["unknown-error"].lines
        assert (lines[0].split()[0], lines[-1]) == ("Traceback", "ValueError: seven")


def facts(**fields: Any) -> ProgramFacts:
    return ProgramFacts(Path("/x"), **{"exec": "./x", "host_system": "Linux", "host_machine": "x86_64", **fields})


@pytest.mark.parametrize(
    ("failure", "fields", "rule", "advice"),
    [
        ("said no hello within 60 s", {"exec": "npx", "args": ("-y", "a")}, "silent", "npx -y a"),
        ("said no hello within 60 s", {"exec": "go", "language": "go"}, "silent", "go build -o main ."),
        ("", {"format": FileFormat.ELF, "machine": "aarch64", "is_executable": True}, "wrong_system", "this system"),
        ("", {"format": FileFormat.ELF, "loader": "/lib/ld-musl.so", "is_executable": True}, "wrong_system", "build"),
        ("", {"format": FileFormat.MACH_O, "is_executable": True}, "wrong_system", "build it"),
        ("", {"exec": "python", "path": "python", "on_path": ("python3",)}, "python3", '"exec": "python3"'),
        ("", {"exec": "./.venv/bin/python", "link": "/gone/python3"}, "broken_link", "python3 -m venv .venv"),
    ],
)
def test_facts_that_no_test_can_make_here(
    failure: str, fields: dict[str, Any], rule: str, advice: str, tmp_path: Path
) -> None:
    from cli.ext.author.diagnosis import why_no_hello, why_no_start
    from cli.ext.author.start_facts import Facts

    found = found_in(folder(tmp_path, "x", ["./x"]))
    result = CheckupResult(found, failure=failure, spawn_error="" if failure else "cannot start")
    why = (why_no_hello if failure else why_no_start)(Facts(facts(**fields), result))
    assert why is not None
    assert why.rule == rule
    assert advice in why.advice


def test_a_python_of_zots_own_environment_is_named_only_if_its_modules_are_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cli.ext.author.diagnosis import will_not_travel
    from cli.ext.author.start_facts import Facts

    made = folder(tmp_path, "x", ["python3", "main.py"])
    environment = tmp_path / "environment"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python3").symlink_to(sys.executable)
    monkeypatch.setattr(sys, "prefix", str(environment))
    monkeypatch.setattr(sys, "base_prefix", "/usr")

    def why(source: str, path: Path) -> Any:
        (made / "main.py").write_text(source)
        monkeypatch.setenv("PATH", f"{path}:{os.environ['PATH']}")
        found = found_in(made)
        return will_not_travel(Facts(look(found, Config()), CheckupResult(found)))

    assert "zotext" in why("from zotext import Extension\n", environment / "bin").message
    assert why("import os, json.decoder\n", environment / "bin") is None
    (made / "zotext").mkdir()
    assert why("from zotext import Extension\n", environment / "bin") is None
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "python3").symlink_to(sys.executable)
    assert why("import orjson\n", elsewhere) is None


def test_a_python_that_is_a_script_itself_runs_the_script_of_args(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with pyenv, whose python3 is a shell script."""
    made = folder(tmp_path, "x", ["python3", "-u", "main.py"])
    (made / "main.py").write_text("import zotext\n")
    (tmp_path / "python3").write_text("#!/usr/bin/env bash\r\n")
    (tmp_path / "python3").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    seen = look(found_in(made), Config())
    assert (seen.language, seen.script, seen.shebang, seen.has_crlf) == ("python", "main.py", "", False)
    assert seen.foreign_imports == ("zotext",)


def test_an_elf_file_tells_its_machine_and_its_loader(tmp_path: Path) -> None:
    made = folder(tmp_path, "x", ["./x"])
    (made / "x").write_bytes(elf(183, "/lib/ld-nothing.so.1"))
    seen = look(found_in(made), Config())
    assert (seen.format, seen.machine, seen.loader) == (FileFormat.ELF, "aarch64", "/lib/ld-nothing.so.1")
    (made / "x").write_bytes(elf(62, "/")[:70])
    assert look(found_in(made), Config()).loader == ""
    shell = shutil.which("sh")
    assert shell is not None
    (made / "x").unlink()
    (made / "x").symlink_to(os.path.realpath(shell))
    assert look(found_in(made), Config()).loader == ""
