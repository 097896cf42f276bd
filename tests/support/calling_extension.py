"""An extension whose tool `nested` has the host call the tool that its arguments name, and returns the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.extension_folder import folder
from tests.support.extension_scripts import PATIENT
from tests.support.sdk_program import PRELUDE, PYTHON

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """
@ext.tool
def nested(name: str, args: dict) -> Result:
    return ext.call_tool(name, args)

@ext.command
def twice(name: str) -> str:
    return " and ".join(ext.call_tool(name).text for _ in range(2))

ext.run()
"""


def calling_extension(parent: Path, **manifest: Any) -> Path:
    """Makes its folder. Its name is `child`."""
    parent.mkdir(parents=True, exist_ok=True)
    source = parent / "calling.py"
    source.write_text(PRELUDE + SOURCE)
    return folder(parent, "child", [*PYTHON, str(source)], **{"timeouts": PATIENT, **manifest})
