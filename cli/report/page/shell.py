"""The frame of every page of a report: a document that works alone, fetches nothing, and runs no script but its own."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from supervisor.home.files import read_start

SIGNATURE = "<!doctype html>\n<!-- made by zot report -->\n"
"""The beginning of every page. Without -o, `zot report` overwrites only files that begin with it."""


def document(title: str, style: str, body: str, script: str = "") -> str:
    """The HTML of a page. `title` and `body` are HTML already; `script` is JavaScript, and may be empty."""
    return (
        f'{SIGNATURE}<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{title}</title><style>{style}</style></head><body>{body}"
        + (f"<script>{script}</script>" if script else "")
        + "</body></html>\n"
    )


def _policy(script: str) -> str:
    """The content security policy: the browser fetches nothing and runs only this script, whatever a name contains."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = f" script-src 'sha256-{digest}';" if script else ""
    return f"default-src 'none';{allowed} style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def is_report(path: Path) -> bool:
    """Whether the file, or the one that the link leads to, is a page of a report."""
    try:
        return read_start(path, len(SIGNATURE)) == SIGNATURE.encode()
    except OSError:
        return False


def packaged(*files: str, folder: Path = Path(__file__).parent) -> str:
    """The content of files that belong to the program, one after another."""
    return "\n".join((folder / file).read_text("utf-8").strip() for file in files)


def script_of(*files: str, folder: Path = Path(__file__).parent) -> str:
    """The script of a page, from files that share one scope. A page shows all drawings without it; the script adds
    zooming, values under the pointer, a choice of lines, and sorting."""
    return f'"use strict";\n(() => {{\n{packaged(*files, folder=folder)}\n}})();'
