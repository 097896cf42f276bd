"""`zot ext doctor`: chooses the extensions, examines them, and prints the findings."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.ext.author.skill_findings import skill_findings
from cli.json_line import print_json
from cli.os_errors import UnableError
from supervisor.discovery.admission import Admission, Consent
from supervisor.discovery.copilot.manifest import has_no_exec
from supervisor.discovery.discover import MANIFEST, McpFiles, discover, has_theme, read_manifest
from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.discovery.kind import ExtensionKind
from supervisor.discovery.skipped_extension import SkipCause, SkippedExtension, SkipReason
from supervisor.discovery.trust_store import TrustStore
from supervisor.harness.checkup import examine
from supervisor.harness.findings import Finding, FindingLevel, judge, judge_manifest, judge_remark, worst
from supervisor.harness.harness import Harness
from supervisor.home.config import load_config
from supervisor.home.copilot_folders import PROGRAM, is_for_copilot
from supervisor.home.safe_files import read_file
from supervisor.home.zot_home import zot_home
from supervisor.install.installed_extension import ExtensionFolders, installed_extensions
from wire.exit_codes import Status
from wire.manifest import ManifestError
from wire.suggestions import no_such

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.harness.checkup import CheckupResult

TOPIC_WIDTH = 10


@dataclass(frozen=True)
class ExtensionReport:
    """The findings about one extension."""

    name: str
    folder: Path
    findings: tuple[Finding, ...]
    result: CheckupResult | None = None
    """None for an extension that was not started."""
    skipped: str = ""
    """The reason why the extension was not started, if the reason is no fault."""

    @property
    def level(self) -> FindingLevel:
        return worst(self.findings)


@dataclass
class _Selection:
    found: list[FoundExtension] = field(default_factory=list)
    reports: list[ExtensionReport] = field(default_factory=list)
    """The reports of extensions that are not started."""


def run_doctor(targets: Sequence[str], *, as_json: bool) -> int:
    """Returns the exit status: 0 if no extension failed, 1 if one failed. Raises `UnableError` for an unknown name,
    `ConfigError` and `HarnessInterruptedError`."""
    home = zot_home()
    config = load_config(home)
    chosen = select_extensions(targets, Path.cwd(), home)
    with Harness(owns_process=True, config=config) as harness:
        results = examine(harness, chosen.found)
    reports = [*map(_report, results), *chosen.reports]
    if as_json:
        for report in reports:
            print_json(_record(report))
    else:
        _print(reports)
    return Status.ERROR.exit_code if any(report.level is FindingLevel.FAIL for report in reports) else 0


# --- the choice ---------------------------------------------------------------------------------------------


def select_extensions(targets: Sequence[str], project: Path, home: Path) -> _Selection:
    """The named extensions, also disabled ones; without names all that are installed for this user and this project."""
    chosen = _Selection()
    if not targets:
        discovery = discover((), project, home, Admission(home, Consent()).for_one_start(), McpFiles(project))
        for found in discovery.usable:
            _choose(found, chosen)
        for skipped in discovery.skipped:
            if skipped.untrusted is not None:
                _add(skipped.untrusted, chosen, home)
                continue
            findings = _skipped_findings(skipped) if skipped.is_error else ()
            told = ExtensionReport(skipped.name, skipped.mcp_file or skipped.folder, findings)
            chosen.reports.append(told if skipped.is_error else replace(told, skipped=skipped.reason))
        return chosen
    for target in targets:
        is_path = "/" in target or target in (".", "..", "~")
        if is_path and not Path(target).expanduser().is_dir():
            file = Path(target).expanduser()
            what = f"is a file; name its folder: {file.parent}" if file.is_file() else "no such folder"
            raise UnableError(f"{target}: {what}", Status.USAGE)
        if is_path or not _add_named(target, project, home, chosen):
            _add_folder(Path(target).expanduser().absolute(), Scope.EXPLICIT, chosen, home)
    return chosen


def is_installed(name: str) -> bool:
    """Whether an extension of this name is installed, for this user or for the project in the current folder."""
    return any(name in each.names for each in installed_extensions(ExtensionFolders(Path.cwd(), zot_home())))


def select_installed(name: str, home: Path) -> _Selection:
    """The extension of this name that is installed for this user. The name may come from a file of somebody else: it
    chooses no folder, and no extension of a project. Raises `UnableError` if there is none."""
    every = installed_extensions(ExtensionFolders(home / "no project", home))
    if all(name not in each.names for each in every):
        raise UnableError(f"{name} is not installed", Status.USAGE)
    chosen = _Selection()
    _add_named(name, home / "no project", home, chosen)
    return chosen


def _add_named(name: str, project: Path, home: Path, chosen: _Selection) -> bool:
    """Looks for an installed extension by its manifest's name, else by its folder's name, first in the project; returns
    whether it exists. If not, the name means a folder in the current folder. Installed extensions come
    first, because a name must not start a program that happens to be here. Raises `UnableError` if there is
    neither."""
    every = installed_extensions(ExtensionFolders(project, home))
    by_name = [each for each in every if each.manifest is not None and name == each.name]
    found = next(iter(by_name or [each for each in every if name in each.names]), None)
    if found is None:
        if not (Path(name, MANIFEST).is_file() or Path(name, PROGRAM).is_file()):
            raise UnableError(
                no_such("extension", name, {known for each in every for known in each.names}), Status.USAGE
            )
    elif found.mcp_file is None:
        _add_folder(found.folder, found.scope, chosen, home)
    elif found.mcp_found is not None and not found.trouble:
        _add(found.mcp_found, chosen, home)
    else:
        where = "" if found.mcp_found is None else f"{found.mcp_file}: "
        chosen.reports.append(ExtensionReport(found.name, found.mcp_file, (_entry_finding(where + found.trouble),)))
    return found is not None


def _entry_finding(reason: str) -> Finding:
    return Finding(FindingLevel.FAIL, "entry", reason, "correct the entry, or remove it: zot mcp remove")


def _skipped_findings(skipped: SkippedExtension) -> tuple[Finding, ...]:
    if not skipped.kind.has_folder:
        return (_entry_finding(skipped.reason),)
    if skipped.why.cause is SkipCause.LACKING:
        return (_missing_part(skipped.why),)
    return _manifest_findings(skipped.folder, skipped.why)


def _add_folder(folder: Path, scope: Scope, chosen: _Selection, home: Path) -> None:
    try:
        found = FoundExtension(folder, read_manifest(folder), scope)
    except ManifestError as error:
        chosen.reports.append(ExtensionReport(folder.name, folder, _manifest_findings(folder, SkipReason(str(error)))))
        return
    lacks = None
    if found.kind is ExtensionKind.COPILOT:
        from supervisor.discovery.copilot.preparation import prepare

        found, lacks = prepare(found, Path.cwd(), home)
    if lacks is not None:
        chosen.reports.append(ExtensionReport(found.manifest.name, folder, (_missing_part(lacks),)))
    else:
        _add(found, chosen, home)


def _add(found: FoundExtension, chosen: _Selection, home: Path) -> None:
    if found.needs_trust and (why := _distrust_reason(found, home)):
        findings: tuple[Finding, ...] = ()
        if advice := TrustStore(home).data_advice(found):
            findings = (Finding(FindingLevel.WARN, "data", "only files that may be its data have changed", advice),)
        chosen.reports.append(ExtensionReport(found.manifest.name, Path(found.where), findings, skipped=why))
    else:
        _choose(found, chosen)


def _choose(found: FoundExtension, chosen: _Selection) -> None:
    if found.manifest.without_program:
        remark = judge_remark(found)
        chosen.reports.append(
            ExtensionReport(found.manifest.name, Path(found.where), (*remark, *skill_findings(found)))
        )
    else:
        chosen.found.append(found)


def _distrust_reason(found: FoundExtension, home: Path) -> str:
    """The reason why the extension must not be started; empty if it may be started."""
    judged = TrustStore(home).judge(found)
    if judged.is_trusted:
        return ""
    return f"not trusted ({judged.reason}); zot ext trust {found.manifest.name} after you have read it"


def _missing_part(why: SkipReason) -> Finding:
    """The finding about what this machine lacks for a Copilot extension."""
    return Finding(FindingLevel.FAIL, "program", why.what, why.advice)


def _manifest_findings(folder: Path, why: SkipReason) -> tuple[Finding, ...]:
    """All faults of the manifest in a folder; if it has none, or is that of a Copilot extension, the reason why the
    folder was skipped."""
    try:
        text = read_file(folder / MANIFEST)
        is_copilot = os.path.lexists(folder / PROGRAM) and (is_for_copilot(folder.parent) or has_no_exec(text))
        faults = [] if is_copilot else judge_manifest(text, has_theme=has_theme(folder))
    except OSError:
        faults = []
    if faults:
        return tuple(faults)
    advice = ""
    if why.cause is SkipCause.NAME_TAKEN:
        advice = "only one of them can run; remove one, or change the name in its extension.json"
    return (Finding(FindingLevel.FAIL, "manifest", why.text, advice),)


# --- the output ---------------------------------------------------------------------------------------------


def _report(result: CheckupResult) -> ExtensionReport:
    found = result.found
    return ExtensionReport(found.manifest.name, Path(found.where), (*judge(result), *skill_findings(found)), result)


def _record(report: ExtensionReport) -> dict[str, Any]:
    record: dict[str, Any] = {
        "name": report.name,
        "folder": str(report.folder),
        "level": report.level.value,
        "skipped": report.skipped or None,
        "findings": [
            {
                "level": finding.level.value,
                "topic": finding.topic,
                "message": finding.message,
                "advice": finding.advice,
                "rule": None,  # released: the name of a rule that gave the advice
                "line": finding.place and finding.place.line,
                "column": finding.place and finding.place.column,
            }
            for finding in report.findings
        ],
    }
    if (result := report.result) is not None:
        record |= {
            "scope": result.found.scope.recorded,
            "dialect": result.found.manifest.dialect,
            "ready_ms": None if result.ready_s is None else round(result.ready_s * 1000, 1),
            "ready": result.phase.value,
            "hello": {"name": result.hello_name, "version": result.version, "capabilities": list(result.capabilities)},
            "tools": list(result.tools),
            "instructions": result.instructions or None,
            "definition_tokens": result.definition_tokens,
            "commands": list(result.commands),
            "events": list(result.events),
            "intercept": list(result.intercepts),
            "junk_lines": result.junk,
            "env": list(result.found.manifest.env),
            "missing_env": list(result.missing_env),
            "unknown_fields": [
                {"field": field.place, "did_you_mean": field.meant or None} for field in result.found.manifest.unknown
            ],
            "exit": None if result.exit is None else result.exit.code,
            "stop_ms": None if result.stop_s is None else round(result.stop_s * 1000, 1),
            "shutdown_ack": result.has_acked,
            "ended_by": result.force.value,
            "processes_left": result.left,
            "stderr": list(result.stderr),
        }
    return record


def _print(reports: Sequence[ExtensionReport]) -> None:
    from cli.styled_lines import STYLES, StyledLines

    lines = StyledLines()
    if not reports:
        lines.put(("no extensions are installed; zot ext doctor PATH examines one from a folder", ""))
        return
    for report in reports:
        label, style = ("skip", "dim") if report.skipped else (report.level.value, STYLES[report.level.value])
        lines.put((f"{label:5}", style), (report.name, "bold"), (f"  {report.folder}", "dim"))
        if report.skipped:
            lines.put((f"     {report.skipped}", "dim"))
        following = [finding.advice for finding in report.findings[1:]] + [""]
        for finding, next_advice in zip(report.findings, following, strict=False):
            lines.put(
                ("     ", ""),
                (f"{finding.topic:{TOPIC_WIDTH}} ", STYLES[finding.level.value]),
                (finding.message, ""),
            )
            for line in finding.lines:
                lines.put((f"{'':{5 + TOPIC_WIDTH}} | {line}", "dim"))
            if finding.advice and finding.advice != next_advice:
                lines.advice(finding.advice, 5 + TOPIC_WIDTH)
    lines.put((_summary(reports), ""))


def _summary(reports: Sequence[ExtensionReport]) -> str:
    counts = {level: sum(not report.skipped and report.level is level for report in reports) for level in FindingLevel}
    words = {FindingLevel.OK: "ok", FindingLevel.WARN: "with warnings", FindingLevel.FAIL: "failed"}
    said = [f"{counts[level]} {words[level]}" for level in FindingLevel if counts[level]]
    if skipped := sum(bool(report.skipped) for report in reports):
        said.append(f"{skipped} not started")
    return ", ".join(said)
