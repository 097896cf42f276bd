"""`zot ext status` and `zot ext call` with a real host, and without one."""

from __future__ import annotations

import json
import shutil
import signal

import pytest

from tests.support.extension_folder import extension
from tests.support.host_process import hosting
from tests.support.zot_process import wait_until

LATER = {"restart": {"backoff_s": [60, 60]}}
BAD_TOOL = """
import json, sys
for line in (
    {"type": "hello", "name": "faulty"},
    {"type": "register_tool", "name": "count", "schema": {"type": "object", "properties": {"n": {"type": "integer"}},
     "required": ["n"], "additionalProperties": False}},
    {"type": "ready"},
):
    print(json.dumps(line), flush=True)
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        image = {"type": "image", "mime_type": "image/png", "data": "AA=="}
        content = [{"type": "text", "text": "no such table"}, image]
        print(json.dumps({"type": "tool_result", "id": frame["id"], "is_error": True, "content": content}), flush=True)
    if frame["type"] == "shutdown":
        break
"""


def written(zot, name: str, source: str, **manifest):
    folder = extension(zot.folder, "echo", name=name)
    (folder / "main.py").write_text(source)
    fields = json.loads((folder / "extension.json").read_text())
    fields["args"] = [*fields["args"][:-1], str(folder / "main.py")]
    (folder / "extension.json").write_text(json.dumps({**fields, **manifest}))
    return folder


@pytest.fixture
def host(zot):
    made = [
        extension(zot.folder, "echo", limits={"rss_mb": 500}),
        extension(zot.folder, "never_answers"),
        extension(zot.folder, "exits_before_hello", **LATER),
        written(zot, "faulty", BAD_TOOL),
    ]
    with hosting(zot, *made) as running:
        yield running


def test_status_of_extensions_that_work_wait_and_have_failed(host):
    zot = host.zot
    host.call("echo", "hi")
    good = zot.run("ext", "status", "echo")
    assert (good.status, good.stderr) == (0, "")
    assert good.text.startswith("echo: ready for ")
    labels = [line.split()[0] for line in good.text.splitlines() if line and not line.startswith("20")]
    assert labels == [
        "echo:",
        "since",
        "starts",
        "use",
        "limits",
        "calls",
        "tools",
        "definitions",
        "guards",
        "folder",
        "log",
    ]
    assert "ready" in good.text
    assert f"zot host {host.pid}" in good.text
    assert " of 500; over them: restart" in good.text
    assert len(good.text.splitlines()) <= 24
    record = json.loads(zot.run("ext", "status", "echo", "--json", "--host", str(host.pid)).stdout)
    assert (record["host"], record["state"], record["tools"]) == (host.pid, "ready", ["echo"])
    assert record["last_lines"][0]["line"].startswith("[zot] starting echo")
    assert record["last_lines"][0]["level"] == "zot"

    bad = zot.run("ext", "status", "exits_before_hello")
    assert bad.status == 1
    lines = bad.text.splitlines()
    assert lines[0].startswith("exits_before_hello: backoff for ")
    assert "exited before its hello (exit 3)" in lines[1]
    assert lines[2] == (
        f"to do       zot ext logs exits_before_hello -t; then zot ext restart exits_before_hello --host {host.pid}"
    )
    assert lines[-1].split(maxsplit=3)[1::2] == ["zot", "ended: exit 3"]

    missing = zot.run("ext", "status", "ecko")
    assert (missing.status, missing.stderr.splitlines()[0][:26]) == (2, "zot: no such extension: 'e")


def test_status_shows_what_an_extension_is_asked_now(host):
    from supervisor.control.client import ControlError
    from wire import frames

    host.client.send(frames.ToolCall("x", "hang", frames.Raw(b"{}")))
    wait_until(lambda: host.stats()["never_answers"].pending == 1)
    shown = host.zot.run("ext", "status", "never_answers").text
    assert "\nwaits       hang, asked " in shown
    host.client.send(frames.Cancel("x", "enough"))
    with pytest.raises(ControlError, match="enough"):
        host.client.answer_to("x", frames.ToolResult, 30.0)


def test_status_without_a_host_says_why_and_what_to_do(zot):
    zot.env.pop("XDG_RUNTIME_DIR", None)
    installed = zot.home / "extensions"
    installed.mkdir(parents=True)
    shutil.copytree(extension(zot.folder, "echo"), installed / "echo")
    shutil.copytree(extension(zot.folder, "recorder", zot.folder / "seen", enabled=False), installed / "recorder")
    (installed / "broken").mkdir()
    (installed / "broken" / "extension.json").write_text('{"name": "broken"}')
    project = zot.cwd / ".zot" / "extensions" / "blocker"
    shutil.copytree(extension(zot.folder, "blocker"), project)
    for name, state, to_do in (
        ("echo", "not running", "zot host, or any run of zot, starts it"),
        ("recorder", "disabled", "zot ext enable recorder"),
        ("blocker", "not trusted", "zot ext trust blocker"),
        ("broken", "broken", f"zot ext doctor {installed / 'broken'}"),
    ):
        outcome = zot.run("ext", "status", name)
        lines = outcome.text.splitlines()
        assert (outcome.status, lines[0], lines[2]) == (1, f"{name}: {state}", f"to do       {to_do}")
    assert json.loads(zot.run("ext", "status", "recorder", "--json").stdout)["state"] == "disabled"
    unknown = zot.run("ext", "status", "ecco")
    assert (unknown.status, unknown.stderr) == (
        2,
        "zot: no such extension: 'ecco'; did you mean 'echo'? (see zot ext status --help)\n",
    )


# --- calls -----------------------------------------------------------------------------------------------------


def test_a_call_prints_the_text_of_the_result(host):
    zot = host.zot
    done = zot.run("ext", "call", "echo", "echo", '{"text": "hi"}')
    assert (done.status, done.stdout, done.stderr) == (0, b"hi\n", "")
    (zot.folder / "args").write_text('{"text": "from a pipe"}')
    with (zot.folder / "args").open() as args:
        done = zot.run("ext", "call", "echo", "echo", "-", stdin=args)
    assert (done.status, done.stdout) == (0, b"from a pipe\n")
    done = zot.run("ext", "call", "echo", "echo", '{"text": "hi"}', "--json")
    assert json.loads(done.stdout) == {"content": [{"type": "text", "text": "hi"}]}
    failed = zot.run("ext", "call", "faulty", "count", '{"n": 1}')
    assert (failed.status, failed.stdout) == (1, b"no such table\n[image/png; with --json its data is printed]\n")


IMPOSSIBLE: list[tuple[tuple[str, ...], int, str]] = [
    (("echo", "echo", '{"text":\n oops}'), 2, "zot: the arguments:2:2: not JSON: "),
    (("echo", "echo", "[1]"), 2, "zot: the arguments: a tool takes a JSON object, such as "),
    (("echo", "ecko", "{}"), 2, "zot: no such tool of echo: 'ecko'; did you mean 'echo'?"),
    (("echo", "zzz", "{}"), 2, "zot: no such tool of echo: 'zzz'; there is echo"),
    (("echo", "count", "{}"), 2, "zot: echo has no tool 'count': it belongs to faulty; zot ext call faulty count"),
    (("ecko", "echo", "{}"), 2, "zot: no such extension in a running host: 'ecko'; did you mean 'echo'?"),
    (("faulty", "count", "{}"), 2, 'zot: faulty count: invalid args: /: "n" is a required property'),
    (("faulty", "count", '{"n": "x"}'), 2, "zot: faulty count: invalid args: /n: "),
    (("echo", "echo", "{}", "--timeout", "soon"), 2, "zot: --timeout: 'soon' is not a length of time"),
    (("exits_before_hello", "x"), 1, "zot ext call: exits_before_hello offers no tool now; zot ext status "),
]


def test_a_call_that_cannot_be_made_says_what_is_wrong(host):
    for words, status, said in IMPOSSIBLE:
        outcome = host.zot.run("ext", "call", *words)
        assert (outcome.status, outcome.stdout) == (status, b"")
        assert outcome.stderr.startswith(said)
    assert host.stats()["faulty"].calls == 0


def test_a_call_ends_with_its_time_or_with_ctrl_c_and_is_cancelled(host):
    late = host.zot.run("ext", "call", "never_answers", "hang", "--timeout", "200ms")
    assert (late.status, late.stdout) == (6, b"")
    assert late.stderr == "zot ext call: no answer within 0.2 s; the call is cancelled\n"
    assert host.stats()["never_answers"].pending == 0
    with host.zot.start("ext", "call", "never_answers", "hang") as running:
        wait_until(lambda: host.stats()["never_answers"].pending == 1)
        running.signal(signal.SIGINT)
        assert running.finish().status == 130
        assert "Traceback" not in running.errors()
    wait_until(lambda: host.stats()["never_answers"].pending == 0)


def test_a_call_without_a_host_says_how_to_start_one(zot):
    zot.env.pop("XDG_RUNTIME_DIR", None)
    outcome = zot.run("ext", "call", "echo", "echo")
    assert (outcome.status, outcome.stderr) == (
        1,
        "zot ext call: no host runs echo; start one: zot host, or zot host -e FOLDER\n",
    )
