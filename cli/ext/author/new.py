"""Writes a new extension: the templates of a language with its name in them, and a copy of the SDK."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from cli.json_line import print_json
from cli.os_errors import UnableError
from supervisor.discovery.copilot.scaffold import NAME, NAME_RULE, ScaffoldError, tool_prefix, write_into
from wire.exit_codes import Status
from wire.manifest import ManifestError, parse_manifest

if TYPE_CHECKING:
    from collections.abc import Mapping

SCAFFOLDS = Path(__file__).parents[2] / "scaffolds"
SUFFIX = ".template"
"""Keeps linters and test runners from taking a template for a file of this project."""
HIDDEN = {"gitignore": ".gitignore"}
COPILOT = "copilot"
"""The language of an extension for the Copilot CLI."""
OWN_TESTS = {"python": "python3 -m unittest discover tests", "typescript": "npm test", "go": "go test ./..."}
FIRST_STEPS = {"go": "go build -o bin/{tool} ."}
ROOT = Path(__file__).parents[3]
PYTHON_SDKS = (ROOT / "zotext", ROOT.parents[1] / "zotext")
"""The place of the SDK in a checkout, and in a wheel. An import could find another copy: that of an extension in the
current folder."""
SDK_FOLDERS = (ROOT / "sdk" / "typescript" / "dist", ROOT / "cli" / "sdk" / "typescript")
"""The place of the SDK in a checkout, and in a wheel."""
VENDORED = ("zotext/", "vendor/zotext/")
NOT_COPIED = shutil.ignore_patterns("__pycache__", "*.pyc", "*.tsbuildinfo")


def run_new(name: str, language: str, parent: str, *, as_json: bool) -> int:
    """Makes the folder, prints the next steps, and returns the exit status. Raises `UnableError`."""
    target, files = make(name, language, Path(parent).expanduser())
    next_steps = _next_steps(name, language, target)
    if as_json:
        made = {"name": name, "language": language, "folder": str(target.absolute()), "files": files}
        print_json({**made, "next": next_steps})
        return 0
    copied = {file.partition(sdk)[1] for file in files for sdk in VENDORED if file.startswith(sdk)}
    own = [file for file in files if not file.startswith(VENDORED)]
    print(f"made {target}: {', '.join([*own, *sorted(copied)])}")  # noqa: T201
    print("next:")  # noqa: T201
    for step in next_steps:
        print(f"  {step}")  # noqa: T201
    return 0


def make(name: str, language: str, parent: Path) -> tuple[Path, list[str]]:
    """Makes an extension; returns its folder and files. After an error there is no new folder. Raises `UnableError`."""
    if language == COPILOT:
        return _make_copilot(name, parent)
    _check_name(name)
    target = parent / name
    if os.path.lexists(target):
        raise UnableError(f"{target} is there already; choose another name, or --dir", Status.USAGE)
    if not parent.is_dir():
        raise UnableError(f"--dir {parent}: no such folder", Status.USAGE)
    unfinished: Path | None = None
    try:
        unfinished = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=parent))
        write_templates(SCAFFOLDS / language, unfinished, values_for(name))
        _vendor(language, unfinished)
        parse_manifest((unfinished / "extension.json").read_bytes())
        unfinished.chmod(0o777 & ~_umask())
        unfinished.rename(target)
    except (OSError, shutil.Error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UnableError(f"cannot make {target}: {reason}") from None
    finally:
        if unfinished is not None:
            shutil.rmtree(unfinished, ignore_errors=True)
    files = sorted(str(path.relative_to(target)) for path in target.rglob("*") if path.is_file())
    return target, files


def _make_copilot(name: str, parent: Path) -> tuple[Path, list[str]]:
    if not parent.is_dir():
        raise UnableError(f"--dir {parent}: no such folder; mkdir -p {quote(str(parent))}", Status.USAGE)
    try:
        program = write_into(parent, (), name)
    except ScaffoldError as error:
        raise UnableError(str(error), Status.USAGE if error.is_usage else Status.ERROR) from None
    return program.parent, [program.name]


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise UnableError(f"{name[:80]!r} cannot be the name of an extension: {NAME_RULE}", Status.USAGE)
    try:
        parse_manifest(json.dumps({"name": name, "exec": "true"}).encode())
    except ManifestError as error:
        raise UnableError(str(error), Status.USAGE) from None


def values_for(name: str) -> dict[str, str]:
    """The values of the placeholders in templates."""
    tool = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return {"name": name, "tool": tool, "package": name.lower()}


def write_templates(source: Path, target: Path, values: Mapping[str, str]) -> None:
    """Copies the templates of a folder, with each `{{name}}` replaced by its value."""
    for template in sorted(source.rglob(f"*{SUFFIX}")):
        text = template.read_text(encoding="utf-8")
        for key, value in values.items():
            text = text.replace("{{" + key + "}}", value)
        relative = template.relative_to(source)
        name = relative.name.removesuffix(SUFFIX)
        file = target / relative.with_name(HIDDEN.get(name, name))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def _vendor(language: str, target: Path) -> None:
    if language == "python":
        folder = next((folder for folder in PYTHON_SDKS if (folder / "__init__.py").is_file()), None)
        if folder is None:
            raise UnableError("the package zotext is not installed; reinstall zot")
        shutil.copytree(folder, target / "zotext", ignore=NOT_COPIED)
    elif language == "typescript":
        folder = next((folder for folder in SDK_FOLDERS if (folder / "index.js").is_file()), None)
        if folder is None:
            raise UnableError("the TypeScript SDK is not installed; reinstall zot")
        shutil.copytree(folder, target / "vendor" / "zotext", ignore=NOT_COPIED)
        (target / "node_modules").mkdir()
        (target / "node_modules" / "zotext").symlink_to("../vendor/zotext")  # as npm does for file:vendor/zotext


def _next_steps(name: str, language: str, target: Path) -> list[str]:
    if language == COPILOT:
        return [
            *([] if has_sdk() else ["zot ext install-sdk copilot"]),
            f"cd {quote(str(target))}",
            "zot ext doctor .",
            f'zot -p -e . "Greet Ada with {tool_prefix(name)}_greet"',
        ]
    tool = values_for(name)["tool"]
    first = [FIRST_STEPS[language].format(tool=tool)] if language in FIRST_STEPS else []
    tests = ["zot ext test .", *([OWN_TESTS[language]] if language in OWN_TESTS else [])]
    return [f"cd {quote(str(target))}", *first, *tests, f'zot -p -e . "/{name}"']


def has_sdk() -> bool:
    """Whether the Copilot SDK is installed for all projects."""
    from supervisor.discovery.copilot.sdk import FOLDER, PACKAGE, UnfitSdkError, usable_version
    from supervisor.home.zot_home import zot_home

    try:
        usable_version(zot_home() / FOLDER / "node_modules" / PACKAGE)
    except (OSError, UnfitSdkError):
        return False
    return True


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
