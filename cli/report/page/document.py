"""The frame of every page of a report: a document that works alone, fetches nothing, and runs no script but its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent.sessions.export.html_parts import DOCTYPE, html_document
from cli.report.markup import script_data, text
from supervisor.home.safe_files import read_start

SIGNATURE = f"{DOCTYPE}<!-- made by zot report -->\n"
"""The beginning of every page. Without -o, `zot report` overwrites only files that begin with it."""
ROOM = Path(__file__).parent
SCRIPT_PARTS = (
    *("start", "numbers", "zoom", "charts", "use", "lanes", "histograms", "workload"),
    *("pointer", "keyboard", "table", "copy", "ready"),
)
"""Files in `script/`, in the order in which they run. They share one scope."""


def document(title: str, style: str, body: str, script: str = "") -> str:
    """As `html_document`, with the sign of a report."""
    return html_document(title, style, body, script).replace(DOCTYPE, SIGNATURE, 1)


def chart_document(title: str, body: str, data: dict[str, Any], *, version: str, source: str) -> str:
    """The HTML of a page with charts, which its script draws from `data`. `title` and `body` are HTML already; `source`
    says in the last line what the page was made from."""
    return document(
        title,
        read_packaged("colors.css", "page.css"),
        f"<main>{body}</main><footer>Made by zot {text(version)} from {text(source, 200)}.</footer>"
        '<div id="tip" role="status" hidden></div>'
        f'<script type="application/json" id="data">{script_data(data)}</script>',
        f'"use strict";\n(() => {{\n{read_packaged(*(f"script/{part}.js" for part in SCRIPT_PARTS))}\n}})();',
    )


def is_report(path: Path) -> bool:
    """Whether the file, or the one that the link leads to, is a page of a report."""
    try:
        return read_start(path, len(SIGNATURE)) == SIGNATURE.encode()
    except OSError:
        return False


def read_packaged(*files: str) -> str:
    """The content of files of this room, one after another."""
    return "\n".join((ROOM / file).read_text("utf-8").strip() for file in files)
