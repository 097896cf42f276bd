"""The frame of every page of a report: a document that works alone, fetches nothing, and runs no script but its own."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from cli.report.markup import script_data, text
from supervisor.home.small_file import read_start

SIGNATURE = "<!doctype html>\n<!-- made by zot report -->\n"
"""The beginning of every page. Without -o, `zot report` overwrites only files that begin with it."""
ROOM = Path(__file__).parent
SCRIPT_PARTS = (
    *("start", "numbers", "zoom", "charts", "use", "lanes", "histograms", "workload"),
    *("pointer", "keyboard", "table", "ready"),
)
"""Files in `script/`, in the order in which they run. They share one scope."""


def document(title: str, style: str, body: str, script: str = "") -> str:
    """The HTML of a page. `title` and `body` are HTML already; `script` is JavaScript, and may be empty."""
    return (
        f'{SIGNATURE}<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{title}</title><style>{style}</style></head><body>{body}"
        + (f"<script>{script}</script>" if script else "")
        + "</body></html>\n"
    )


def drawn_document(title: str, body: str, data: dict[str, Any], *, version: str, source: str) -> str:
    """The HTML of a page with charts, which its script draws from `data`. `title` and `body` are HTML already; `source`
    says in the last line what the page was made from."""
    return document(
        title,
        packaged("colors.css", "page.css"),
        f"<main>{body}</main><footer>Made by zot {text(version)} from {text(source, 200)}.</footer>"
        '<div id="tip" role="status" hidden></div>'
        f'<script type="application/json" id="data">{script_data(data)}</script>',
        f'"use strict";\n(() => {{\n{packaged(*(f"script/{part}.js" for part in SCRIPT_PARTS))}\n}})();',
    )


def _policy(style: str, script: str) -> str:
    """The content security policy: the browser fetches nothing and takes only this style and script, whatever a name
    contains."""
    allowed = f" script-src {_digest(script)};" if script else ""
    return f"default-src 'none';{allowed} style-src {_digest(style)}; base-uri 'none'; form-action 'none'"


def _digest(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def is_report(path: Path) -> bool:
    """Whether the file, or the one that the link leads to, is a page of a report."""
    try:
        return read_start(path, len(SIGNATURE)) == SIGNATURE.encode()
    except OSError:
        return False


def packaged(*files: str) -> str:
    """The content of files of this room, one after another."""
    return "\n".join((ROOM / file).read_text("utf-8").strip() for file in files)
