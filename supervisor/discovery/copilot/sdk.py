"""Finds the Copilot SDK, which extensions of the Copilot CLI import and do not contain."""

from __future__ import annotations

import os
import re
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from supervisor.discovery.skipped_extension import SkipCause, SkipReason
from supervisor.home.safe_files import read_file
from wire.lenient_json import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = "@github/copilot-sdk"
NEEDED = "vscode-jsonrpc"
"""The package that the SDK needs for JSON-RPC."""
MINIMUM = (1, 0, 0)
"""The oldest version that zot uses. Earlier versions have many other names."""
FOLDER = "copilot-sdk"
"""Folder in `$ZOT_HOME` into which `zot ext install-sdk copilot` puts the SDK and its dependencies."""
BOOTSTRAP = Path(__file__).parent / "launch" / "bootstrap.mjs"
"""The program that Node runs in place of an extension. It reads `EXTENSION_PATH` and `COPILOT_SDK_PATH`."""
INSTALL = "zot ext install-sdk copilot"
VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:[-+].*)?")
PACKAGE_JSON_LIMIT = 1 << 20
"""Maximum size in bytes."""


class SdkPlace(Enum):
    """The owner of the `node_modules` in which an SDK is."""

    EXTENSION = "extension"
    """In the extension's own folder."""
    PROJECT = "project"
    """In the project, above the extension."""
    HOME = "home"
    """In `$ZOT_HOME`."""


class Sdk(msgspec.Struct, frozen=True):
    """An installed SDK."""

    path: Path
    """The path at which the package's folder was found: it may be a link."""
    version: str
    where: SdkPlace


class SdkSearch(msgspec.Struct, frozen=True):
    """The result of a search: an SDK, or a line for each unusable SDK with the reason."""

    sdk: Sdk | None
    unfit: tuple[str, ...] = ()

    @property
    def problem(self) -> SkipReason | None:
        """The fault and what to do; None if an SDK was found."""
        if self.sdk is not None:
            return None
        it = f"{PACKAGE}; {'; '.join(self.unfit)}" if self.unfit else f"{PACKAGE}, which is not installed"
        return SkipReason(f"it needs {it}", SkipCause.LACKING, INSTALL, f"they need {it}")


def search(extension: Path, project: Path | None, home: Path) -> SdkSearch:
    """Looks for the SDK in the `node_modules` of the extension's folder; if that is in the project, in the
    `node_modules` of the folders above it up to the project; and in `$ZOT_HOME`. Returns the first usable one. Starts
    nothing, and reads one small file in each place."""
    unfit: list[str] = []
    for folder, where in _places(extension, project, home):
        path = folder / "node_modules" / PACKAGE
        try:
            sdk = Sdk(path, usable_version(path), where)
            if where is not SdkPlace.HOME:
                _check_packages(sdk, extension)
            return SdkSearch(sdk, tuple(unfit))
        except FileNotFoundError:
            continue
        except UnfitSdkError as error:
            unfit.append(str(error))
    return SdkSearch(None, tuple(unfit))


def _places(extension: Path, project: Path | None, home: Path) -> Iterator[tuple[Path, SdkPlace]]:
    yield extension, SdkPlace.EXTENSION
    if project is not None and extension.is_relative_to(project):
        for folder in extension.parents:
            if not folder.is_relative_to(project):
                break
            yield folder, SdkPlace.PROJECT
    yield home / FOLDER, SdkPlace.HOME


def packages_of(sdk: Sdk) -> list[str]:
    """The real paths of the SDK's own package and of `NEEDED`, if Node finds that one for it."""
    real = os.path.realpath(sdk.path)
    at = real
    while True:
        beside = os.path.join(at, "node_modules", NEEDED)
        if os.path.isdir(beside):
            return [real, os.path.realpath(beside)]
        if at == (at := os.path.dirname(at)):
            return [real]


def _check_packages(sdk: Sdk, extension: Path) -> None:
    """Raises `UnfitSdkError` if a package's folder contains the extension: the extension works on that whole folder,
    which cannot be trusted together with it."""
    inside = f"{os.path.realpath(extension)}/"
    for package in packages_of(sdk):
        if inside.startswith(f"{package.rstrip('/')}/"):
            raise UnfitSdkError(f"{sdk.path} runs on {package}, which holds the extension itself")


class UnfitSdkError(Exception):
    """Raised for an unusable SDK. The text names its folder and says why."""


def usable_version(path: Path) -> str:
    """The version of the SDK in a folder. Raises `FileNotFoundError` without an SDK, and `UnfitSdkError`."""
    try:
        described = msgspec.json.decode(read_file(path / "package.json", PACKAGE_JSON_LIMIT))
    except (FileNotFoundError, NotADirectoryError):
        if path.is_dir():
            raise UnfitSdkError(f"{path} has no package.json") from None
        raise FileNotFoundError(path) from None
    except OSError as error:
        raise UnfitSdkError(f"{path}/package.json cannot be read: {error.strerror}") from None
    except UNREADABLE:
        raise UnfitSdkError(f"{path}/package.json is no JSON") from None
    version = described.get("version") if isinstance(described, dict) else None
    if not isinstance(version, str) or (parts := VERSION.fullmatch(version)) is None:
        raise UnfitSdkError(f"{path}/package.json names no version")
    if tuple(map(int, parts.groups())) < MINIMUM:
        raise UnfitSdkError(f"{path} is version {version}, older than {'.'.join(map(str, MINIMUM))}")
    exports = described.get("exports")
    if not isinstance(exports, dict) or "./extension" not in exports:
        raise UnfitSdkError(f"{path} (version {version}) has no entry for extensions")
    if described.get("name") != PACKAGE:  # Node would look in the folders above it for one that has the name
        raise UnfitSdkError(f"{path}/package.json is of another package")
    return version
