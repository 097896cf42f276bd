"""Folders with Copilot extensions, with an SDK that is none, and programs that stand in for Node."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

PROGRAM = "await joinSession({});\n"


def copilot_extension(parent: Path, name: str, text: str = PROGRAM, /, **manifest: Any) -> Path:
    """An extension in a folder of such; the keywords, if there are any, go into its manifest."""
    made = parent / name
    made.mkdir(parents=True)
    (made / "extension.mjs").write_text(text)
    if manifest:
        (made / "extension.json").write_text(json.dumps(manifest))
    return made


def fake_sdk(folder: Path, version: str = "1.0.0") -> Path:
    """A package with the name and the version of the SDK, in the `node_modules` of this folder."""
    made = folder / "node_modules" / "@github" / "copilot-sdk"
    (made / "dist").mkdir(parents=True)
    for name in ("index.js", "extension.js"):
        (made / "dist" / name).write_text("export const joinSession = async () => {};\n")
    exports = {".": {"import": "./dist/index.js"}, "./extension": {"import": "./dist/extension.js"}}
    package = {"name": "@github/copilot-sdk", "version": version, "type": "module", "exports": exports}
    (made / "package.json").write_text(json.dumps(package))
    return made


def write_node(folder: Path, text: str = "exit 0") -> None:
    """Makes a shell script that is called `node`."""
    folder.mkdir(exist_ok=True)
    (folder / "node").write_text(f"#!/bin/sh\n{text}\n")
    (folder / "node").chmod(0o755)


def put_on_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a shell script that does nothing the only `node` on PATH."""
    write_node(folder)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
