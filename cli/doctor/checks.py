"""The checks of `zot doctor`, each of one part of the machine or of the configuration."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from agent.model.access import AUTH_FILE, AccessError, CredentialKind, find_access
from agent.providers.auth_file import AuthFileError, read_stored
from agent.providers.choice import choose
from agent.providers.user_models import KnownModels, UserModelsError, load_user_models
from cli.doctor.host_checks import Check, examine_running
from cli.doctor.past_runs import examine_past_runs
from supervisor.cleanup.reaper import Reaper, ReaperState
from supervisor.discovery.admission import Admission, Consent
from supervisor.discovery.discover import McpFiles, discover
from supervisor.discovery.environment import child_environment
from supervisor.harness.findings import FindingLevel
from supervisor.home.config import Config, ConfigError, load_config
from supervisor.home.runtime_dir import runtime_dir
from supervisor.home.zot_home import open_home_warning, zot_home
from supervisor.loop.loop import Loop
from supervisor.process import fd_limit
from supervisor.process.cgroup_survey import WANTED, Unavailable, survey
from supervisor.process.child import SpawnError
from supervisor.process.spawn_limits import SHELL, find_program
from supervisor.process.table import become_subreaper, read_process
from wire.settings.limit_changes import shown_changes
from wire.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from supervisor.discovery.discover import Discovery

OK, WARN, FAIL = FindingLevel.OK, FindingLevel.WARN, FindingLevel.FAIL
MIB = 1024 * 1024
LITTLE_SPACE = 200 * MIB
NO_SPACE = 10 * MIB
REAPER_UP_S = 0.05
"""Seconds that the reaper must run to count as started."""


def examine() -> list[Check]:
    """All checks, in the order of the output. A check that raises an exception counts as failed."""
    home = zot_home()
    project = _project()
    files = None if project is None else McpFiles(project)
    found = discover((), project, home, Admission(home, Consent()).for_one_start(), files)
    checks: list[tuple[str, Callable[[], Iterable[Check]]]] = [
        ("python", _python),
        ("processes", _processes),
        ("shell", _shell),
        ("reaper", _reaper),
        ("limits", _limits),
        ("home", lambda: _folder("home", home, "ZOT_HOME")),
        ("runtime", lambda: _folder("runtime", runtime_dir(home), "XDG_RUNTIME_DIR or ZOT_HOME")),
        ("config", lambda: _config(home)),
        ("extensions", lambda: _extensions(found)),
        ("open files", lambda: _open_files(found)),
        ("models", lambda: _models(home)),
        ("credential", lambda: _access(home)),
        ("hosts", lambda: examine_running(home, found)),
        ("past runs", lambda: examine_past_runs(home, time.time())),
    ]
    results: list[Check] = []
    for name, check in checks:
        try:
            results += check()
        except Exception as error:  # noqa: BLE001, RUF100  (the other checks are still of use)
            results.append(Check(name, FAIL, f"could not be examined: {type(error).__name__}: {error}"))
    return results


def _project() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # the current folder has been removed
        return None


# --- the system ---------------------------------------------------------------------------------------------


def _python() -> Iterator[Check]:
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    yield Check("python", OK, f"Python {platform.python_version()} ({sys.executable}) on {system}")


def _processes() -> Iterator[Check]:
    if read_process(os.getpid()) is None:
        advice = "mount /proc; without it no cost can be measured and no process tree ended"
        yield Check("processes", FAIL, "the table of processes cannot be read", advice)
    else:
        yield Check("processes", OK, "the table of processes can be read")
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        advice = "an exit is noticed up to 20 ms late; Linux 5.3 or newer has pidfd"
        yield Check("exits", WARN, "there is no pidfd: exits are polled for", advice)
    else:
        yield Check("exits", OK, "pidfd: an exit is noticed at once")
    if become_subreaper():
        yield Check("orphans", OK, "subreaper: what extensions leave behind comes back to the host")
    else:
        advice = "only Linux can do better"
        yield Check("orphans", WARN, "not a subreaper: daemons that leave their session can be missed", advice)


def _shell() -> Iterator[Check]:
    if os.access(SHELL, os.X_OK):
        yield Check("shell", OK, f"{SHELL} sets limits in extensions before they start")
    else:
        advice = "install one; until then extensions with open_files or file_mb cannot start"
        yield Check("shell", FAIL, f"{SHELL} cannot be run", advice)


def _reaper() -> Iterator[Check]:
    loop = Loop()
    reaper = Reaper(loop, os.urandom(16).hex())
    try:
        reaper.start()
        loop.run_until(lambda: reaper.state is ReaperState.LOST, loop.clock() + REAPER_UP_S)
        lost = reaper.state is ReaperState.LOST
        reaper.dismiss()
        reaper.collect()
    finally:
        loop.close()
    if lost:
        yield Check("reaper", WARN, reaper.error, "see whether python can be started from here")
    else:
        yield Check("reaper", OK, "starts: a host that is killed leaves nothing behind")


def _limits() -> Iterator[Check]:
    """Limits by sampling are no warning: most systems have nothing better."""
    place = survey()
    if isinstance(place, Unavailable):
        message = "sampling watches rss_mb, processes and cpu_percent; no cgroup leaves"
        yield Check("limits", OK, message, place.reason)
        return
    by_kernel = [name for name in WANTED if name in place.controllers]
    message = f"cgroup leaves in {place.path}; limited by the kernel: {', '.join(by_kernel) or 'nothing'}"
    if len(by_kernel) < len(WANTED):
        message += f"; by sampling: {', '.join(name for name in WANTED if name not in by_kernel)}"
    yield Check("limits", OK, message, place.shortage)


# --- folders and files --------------------------------------------------------------------------------------


def _folder(name: str, path: Path, variable: str) -> Iterator[Check]:
    """Whether the folder can be written to, or can be made."""
    there = path
    while not os.path.lexists(there) and there != there.parent:
        there = there.parent
    if not there.is_dir():
        advice = f"remove it, or set {variable} to another folder"
        yield Check(name, FAIL, f"{path} cannot be used: {there} is no folder", advice)
        return
    if not os.access(there, os.W_OK | os.X_OK):
        why = "" if path == there else f": {there} does not allow it to be made"
        advice = f"chown or chmod it, or set {variable} to another folder"
        yield Check(name, FAIL, f"{path} may not be written to{why}", advice)
        return
    free = shutil.disk_usage(there).free
    space = f"{free / MIB:.0f} MiB free"
    if free < LITTLE_SPACE:
        level = FAIL if free < NO_SPACE else WARN
        yield Check(name, level, f"{path}: {space}", "make room: logs, sessions and sockets are kept there")
        return
    found = os.stat(there)
    if there == path and found.st_uid != os.geteuid():
        yield Check(name, WARN, f"{path} belongs to another user", f"set {variable} to a folder of your own")
    elif there == path and (warning := open_home_warning(path)):
        message, _, advice = warning.partition(": ")
        yield Check(name, WARN, message, advice)
    else:
        yield Check(name, OK, f"{path}, {space}" + ("" if there == path else "; it will be made when needed"))


def _config(home: Path) -> Iterator[Check]:
    try:
        config = load_config(home)
    except ConfigError as error:
        yield Check("config", FAIL, str(error), "correct it; zot schema manifest lists the limits")
        return
    if config.remark:
        yield Check("config", WARN, config.remark, "correct or remove it")
    limits = {name: value for name in config.limits.__struct_fields__ if (value := getattr(config.limits, name))}
    said = ", ".join(f"{name} {value if isinstance(value, str) else f'{value:g}'}" for name, value in limits.items())
    yield Check("config", OK, f"limits for all extensions: {said or 'none'}")
    for extension, kept in config.extension_limits.items():
        if kept:
            yield Check("config", OK, f"limits of {one_line(extension, 80)}: {shown_changes(kept)}")


# --- extensions ---------------------------------------------------------------------------------------------


def _extensions(discovery: Discovery) -> Iterator[Check]:
    names = [extension.manifest.name for extension in discovery.found]
    quiet = [extension for extension in discovery.skipped if not extension.is_error]
    message = f"{len(names)} found" + (f": {', '.join(names)}" if names else "")
    if discovery.without_program:
        message += f"; without a program: {', '.join(each.manifest.name for each in discovery.without_program)}"
    if quiet:
        message += f"; not started: {', '.join(f'{extension.folder.name} ({extension.reason})' for extension in quiet)}"
    yield Check("extensions", OK, message)
    for skipped in discovery.skipped:
        if skipped.untrusted is not None:
            yield Check("extensions", WARN, f"{skipped.name}: {skipped.reason}", f"zot ext trust {skipped.name}")
        elif skipped.is_error:
            said = f"{skipped.folder}: {skipped.why.what}" if skipped.kind.has_folder else skipped.line
            yield Check("extensions", FAIL, said, skipped.why.advice or "correct or remove it")
    env = child_environment()
    for extension in discovery.found:
        try:
            find_program(extension.program, cwd=str(extension.folder), env=env)
        except SpawnError as error:
            yield Check("extensions", FAIL, f"{extension.manifest.name}: {error}", f"see {extension.where}")
    for extension in discovery.usable:
        if extension.manifest.remark:
            message = f"{extension.manifest.name}: {extension.manifest.remark}"
            yield Check("extensions", WARN, message, f"correct or remove it in {extension.where}")


def _open_files(discovery: Discovery) -> Iterator[Check]:
    import resource

    workers = sum(extension.manifest.workers for extension in discovery.found)
    needed = fd_limit.required_descriptors(workers)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = "unlimited" if hard == resource.RLIM_INFINITY else str(hard)
    message = f"{needed} needed for {counted(workers, 'process', 'processes')} of extensions; {allowed} allowed"
    if hard != resource.RLIM_INFINITY and hard < needed:
        advice = f"raise the hard limit to {needed} (ulimit -Hn, LimitNOFILE= or limits.conf)"
        yield Check("open files", FAIL, message, advice)
    else:
        yield Check("open files", OK, message + (f" ({soft} until more are needed)" if soft < needed else ""))


def _models(home: Path) -> Iterator[Check]:
    try:
        known = load_user_models(home)
    except UserModelsError as error:
        yield Check("models", FAIL, str(error), "correct it; zot schema models describes it")
        return
    if known.remark:
        yield Check("models", WARN, known.remark, "correct or remove it")
    message = f"{len(known.models)} in models.json; zot models lists all"
    if known.unusable:
        others = ", ".join(f"{name} (speaks {api})" for name, api in known.unusable.items())
        message += f"; not for this program: {others}"
    yield Check("models", OK, message)


def _access(home: Path) -> Iterator[Check]:
    """The provider, endpoint and credential of a run without flags for them. Never shows a key or a password."""
    try:
        known = load_user_models(home)
    except UserModelsError:  # another check says so
        known = KnownModels()
    try:
        config = load_config(home)
    except ConfigError:  # another check says so
        config = Config()
    choice = choose(None, None, config, known)
    preset = choice.provider
    sends = preset.name not in known.without_credential
    try:
        stored = read_stored(home, preset.name)
        found = find_access(
            os.environ,
            provider=preset,
            users_url=known.url(preset.name, choice.model),
            stored_key=stored.key,
            sends_credential=sends,
        )
    except AuthFileError as error:
        yield Check("credential", FAIL, str(error), "correct it, or move it away and run zot login")
        return
    except AccessError as error:
        yield Check("credential", FAIL, str(error), "correct or remove it")
        return
    endpoint, credential = found.endpoint, found.credential
    unset = f"; {preset.url_variable} is not set" if preset.url_variable else ""
    source = f"from {endpoint.source}" if endpoint.source else f"the provider's own{unset}"
    who = "" if preset.name == "anthropic" else f"{preset.name}: "
    yield Check("endpoint", OK, f"{who}{endpoint.shown} ({source})")
    if stored.warning:
        yield Check("credential", WARN, stored.warning, f"chmod 600 {home / AUTH_FILE}")
    how = preset.how_to_give_a_credential
    if found.is_missing:
        are = "is" if len(preset.variables) == 1 else "are"
        message = f"none: {' and '.join(preset.variables)} {are} not set, and {AUTH_FILE} has no key for {preset.name}"
        if stored.unused:
            message += f" (the {stored.unused} in it is zot's alone)"
        yield Check("credential", WARN, message, f"{how}; zot demo, --replay and --base-url need none")
    elif credential.kind is CredentialKind.NONE:
        advice = f"if it wants one: {how}" if sends else "models.json says so"
        yield Check("credential", OK, "none is sent to this endpoint", advice)
    elif credential.unused:
        message = f"the {credential.kind.value} from {credential.source}; {', '.join(credential.unused)} is not used"
        yield Check("credential", OK, message, f"unset {credential.source} to use the other")
    else:
        yield Check("credential", OK, f"the {credential.kind.value} from {credential.source}")
