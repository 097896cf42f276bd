"""Records the pictures of the documents: `zot report`, `zot top` and `zot demo --interactive`.

`python -m tests.record_pictures` rewrites the three in `docs/images`. It needs Chromium, tmux and node. Run it after a
change of the report's page or of a screen, and look at what it made.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.style import Style
from rich.terminal_theme import MONOKAI
from rich.text import Span, Text

from agent.demo import EXTENSIONS, PROJECT
from supervisor.control.client import ControlClient, Endpoint
from tests.support.browser import Browser
from tests.support.patience import PATIENCE_S
from wire import control, frames

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
ZOT = [sys.executable, "-m", "pyzot"]
WIDTH = 1280
COLUMNS, LINES = 122, 14
SCREEN_LINES = 46
BURSTS_S = (2.0, 1.0, 3.0)
"""How long a tool is called again and again: the histories of the screen and the charts of the report show it."""
PAUSE_S = 1.2
MORE = ("weather", "cost-meter")
CITIES = ("Berlin", "Lima", "Oslo")
COMMANDS = ("ls", "rm -rf build", "git diff", "make test")
PATHS = ("prices.py", "prices.py", "deploy.env", "missing.py")
REPORT_HEIGHT = 960


def record(folder: Path) -> None:
    """Makes the pictures in `folder`. Raises if a program fails or does not show what is expected in time."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="zot-") as place:
        work = Path(place)
        shutil.copytree(PROJECT, work / "price-list")
        browser = Browser(work / "profile")
        try:
            screen, report = _pages(work)
            _picture(browser, screen, folder / "top.png", height=None)
            _picture(browser, report, folder / "report.png", height=REPORT_HEIGHT)
            _picture(browser, _conversation(work), folder / "screen.png", height=None)
        finally:
            browser.close()


def _pages(work: Path) -> tuple[Path, Path]:
    """Two pages about a host of the demo's extensions that is used for a while: the screen of `zot top`, and the
    report."""
    environment = {**os.environ, "ZOT_HOME": str(work / "home"), "PYTHONPATH": str(ROOT)}
    stats, report = work / "demo.stats", work / "report.html"
    extensions = [f"--ext={ROOT / 'examples' / 'extensions' / name}" for name in (*EXTENSIONS, *MORE)]
    extensions.append(f"--ext={_broken(work / 'notes')}")
    outline = [sys.executable, str(ROOT / "examples" / "mcp" / "outline.py")]
    subprocess.run([*ZOT, "mcp", "add", "outline", "--", *outline], env=environment, check=True, capture_output=True)
    host = [*ZOT, "host", *extensions, "--stats", str(stats), "--cwd", str(work / "price-list")]
    with _running(host, environment) as pid:
        socket = work / "home" / "run" / f"{pid}.sock"
        _wait(socket.exists, "the host's socket")
        client = ControlClient(Endpoint(pid, socket), PATIENCE_S)
        _wait(lambda: _states(client) == {"ready", "failed"}, "its extensions")
        with _screen(environment, f"{sys.executable} -m pyzot top {pid}") as shown:
            _wait(lambda: "guard" in shown(), "zot top")
            _use(client)
            screen = _as_page(shown(), work / "top.html")
        client.close()
    make = [*ZOT, "report", str(stats), "-o", str(report)]
    subprocess.run(make, env=environment, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return screen, report


def _conversation(work: Path) -> Path:
    """A page of the screen after the demo's prompt, with a command that is being completed."""
    environment = {**os.environ, "ZOT_HOME": str(work / "home"), "PYTHONPATH": str(ROOT)}
    with _screen(environment, f"{sys.executable} -m pyzot demo --interactive", SCREEN_LINES) as shown:
        _wait(lambda: "4 extensions" in shown(), "the screen")
        _type("Enter")
        _wait(lambda: "ready" in shown() and "5 turns" in shown(), "the answer")
        _type("-l", "/m")
        _wait(lambda: "/model" in shown(), "the menu")
        page = _as_page(shown(), work / "screen.html")
        _type("C-c")
        _type("C-d")
    return page


def _type(*keys: str) -> None:
    subprocess.run([*_tmux(), "send-keys", "-t", "0", *keys], check=True)


def _as_page(screen: str, page: Path) -> Path:
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True)
        text = Text.from_ansi(screen.rstrip())
        text.spans = [Span(start, end, _not_reversed(style)) for start, end, style in text.spans]
        console.print(text, soft_wrap=True)
        page.write_text(console.export_html(theme=MONOKAI, inline_styles=True), encoding="utf-8")
    return page


def _not_reversed(style: str | Style) -> str | Style:
    """The style with the colours that a terminal would show. A page has no default colours that could be exchanged."""
    if isinstance(style, str) or not style.reverse:
        return style
    back = "white" if style.color is None or style.color.is_default else style.color.name
    front = "black" if style.bgcolor is None or style.bgcolor.is_default else style.bgcolor.name
    return Style(color=front, bgcolor=back, bold=style.bold)


def _broken(folder: Path) -> Path:
    """An extension that fails each time it starts, until it is given up."""
    folder.mkdir()
    (folder / "notes.py").write_text('raise SystemExit("no such table: notes")\n')
    manifest = {"name": "notes", "exec": sys.executable, "args": ["notes.py"], "restart": {"backoff_s": [0.5, 0.5]}}
    (folder / "extension.json").write_text(json.dumps(manifest))
    return folder


def _use(client: ControlClient) -> None:
    """Uses tools and guards as several agents at once would, in bursts with pauses between them."""
    number = 0
    for seconds in BURSTS_S:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            args = frames.Raw(json.dumps({"path": PATHS[number % len(PATHS)]}).encode())
            client.ask(frames.ToolCall(client.next_id(), "todo_count", args), frames.ToolResult)
            for city in CITIES:
                args = frames.Raw(json.dumps({"city": city}).encode())
                client.ask(frames.ToolCall(client.next_id(), "weather", args), frames.ToolResult)
            command = COMMANDS[number % len(COMMANDS)]
            args = frames.Raw(json.dumps({"command": command}).encode())
            call = frames.EventIntercept(client.next_id(), "tool_call", "c1", "bash", args)
            client.ask(call, frames.InterceptResponse)
            number += 1
        if seconds != BURSTS_S[-1]:
            time.sleep(PAUSE_S)


def _states(client: ControlClient) -> set[str]:
    found = client.ask(control.GetStats(client.next_id()), control.StatsReply).stats.extensions
    return {extension.state for extension in found.values()}


@contextmanager
def _running(command: list[str], environment: dict[str, str]) -> Iterator[int]:
    """A process, which is stopped and waited for at the end."""
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


@contextmanager
def _screen(environment: dict[str, str], command: str, lines: int = LINES) -> Iterator[Any]:
    """A terminal in which the command runs; yields a function that returns what it shows, with its colours."""
    tmux = _tmux()
    start = [*tmux, "new-session", "-d", "-x", str(COLUMNS), "-y", str(lines), command]
    subprocess.run(start, env=environment, check=True)
    show = [*tmux, "capture-pane", "-p", "-e", "-t", "0"]
    try:
        yield lambda: subprocess.run(show, check=True, capture_output=True, text=True).stdout
    finally:
        subprocess.run([*tmux, "kill-server"], check=True)


def _tmux() -> list[str]:
    return ["tmux", "-L", f"zot-pictures-{os.getpid()}", "-f", os.devnull]


def _wait(is_there: Any, what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_there():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not there within {PATIENCE_S:g} s")
        time.sleep(0.1)


def _picture(browser: Browser, page: Path, picture: Path, *, height: int | None) -> None:
    """Writes what a window of `WIDTH` shows of the page: its first `height` pixels, or all of it."""
    browser.open(page, width=WIDTH, height=height or 200)
    if height is None:
        box = "document.querySelector('pre').getBoundingClientRect()"
        edges = [browser.evaluate(f"{box}.{edge}") for edge in ("x", "y", "width", "height")]
        area = dict(zip(("x", "y", "width", "height"), edges, strict=True), scale=1)
    else:
        area = {"x": 0, "y": 0, "width": WIDTH, "height": height, "scale": 1}
    shot = browser.on_page("Page.captureScreenshot", format="png", clip=area, captureBeyondViewport=True)
    picture.write_bytes(base64.b64decode(shot["data"]))


if __name__ == "__main__":
    record(IMAGES)
