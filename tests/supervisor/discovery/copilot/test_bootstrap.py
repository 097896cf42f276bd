"""How extensions start, import, write and end under the bootstrap, with Node and the real SDK."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from supervisor.discovery.copilot.sdk import BOOTSTRAP
from tests.support.copilot_host import VERSIONS, RefusedError, extension, sdk

EACH_SDK = pytest.mark.parametrize("version", [pytest.param("oldest", marks=pytest.mark.slow), "newest"])
BOTH = pytest.mark.parametrize("version", VERSIONS)


# Starts


def test_an_extension_that_throws_ends_with_its_stack(running):
    host = running("throws-at-top")
    assert host.exited() == 1
    assert "throws-at-top/extension.mjs:6" in host.stderr
    assert "TypeError: Cannot read properties of undefined (reading 'tools')" in host.stderr
    assert not host.received


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("syntax-error", "SyntaxError: Unexpected token '}'"),
        ("uses-require", "Error: require() does not find the Copilot SDK; use import"),
    ],
)
def test_a_start_that_fails_says_why(running, version, name, words):
    host = running(name, version)
    assert (host.exited(), host.received) == (1, [])
    assert words in host.stderr
    assert f"{name}/extension.mjs" in host.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"EXTENSION_PATH": ""}, "EXTENSION_PATH is not set; it names the path of an extension.mjs"),
        ({"COPILOT_SDK_PATH": "/nowhere"}, "COPILOT_SDK_PATH=/nowhere is to be the folder of the package @github/co"),
        ({"SESSION_ID": ""}, "joinSession() is intended for extensions running as child processes"),
    ],
)
def test_what_is_missing_is_named(running, env, words):
    host = running("minimal", env=env)
    assert host.exited() == 1
    assert words in host.stderr


@pytest.mark.slow
def test_a_node_that_is_too_old_is_named(running, tmp_path):
    old = tmp_path / "old.cjs"
    old.write_text(
        "const m = require('node:module'); delete m.register; delete m.registerHooks; m.syncBuiltinESMExports();"
    )
    host = running("minimal", node=("node", "--require", str(old)))
    assert host.exited() == 1
    assert "zot cannot start this extension: Node 20.6 or newer is needed; this is v" in host.stderr


@pytest.mark.slow
@BOTH
def test_an_extension_that_never_joins_lives_until_it_is_ended(running, version):
    host = running("never-joins", version)
    host.process.stdin.close()
    host.terminate()
    assert (host.exited(), host.received) == (-15, [])


# Imports


def copied(name, folder):
    return shutil.copytree(extension(name).parent, folder) / "extension.mjs"


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("name", ["with space", "ünï-コード", "100%25#a?b", "tab\tand\nline", "quo'te\"s"])
def test_a_path_may_have_any_characters(running, tmp_path, version, name):
    host = running(copied("imports-beside", tmp_path / name), version)
    assert [tool["name"] for tool in host.joined()["tools"]] == ["lazy"]
    assert host.call("lazy")["result"] == "loaded late, from lib/lazy.mjs"


@pytest.mark.slow
@BOTH
def test_a_linked_file_finds_what_lies_beside_the_real_one(joined, tmp_path, version):
    (tmp_path / "linked").mkdir()
    link = tmp_path / "linked" / "extension.mjs"
    link.symlink_to(extension("imports-beside"))
    host = joined(link, version)
    assert host.call("lazy")["result"] == "loaded late, from lib/lazy.mjs"


@pytest.mark.slow
@BOTH
def test_all_exports_of_both_entries_are_there(joined, tmp_path, version):
    host = joined("imports-main", version)
    names = json.loads(host.call("names")["result"])
    for entry, file in (("main", "index"), ("extension", "extension")):
        listing = tmp_path / f"{entry}.mjs"
        url = (sdk(version) / "dist" / f"{file}.js").as_uri()
        listing.write_text(f"console.log(JSON.stringify(Object.keys(await import({json.dumps(url)}))));\n")
        done = subprocess.run(["node", listing], capture_output=True, check=True)
        assert sorted(names[entry]) == sorted(json.loads(done.stdout)), entry


@pytest.mark.slow
@pytest.mark.parametrize(("chosen", "beside"), [("newest", "oldest"), ("oldest", "newest")])
def test_an_sdk_in_the_project_does_not_get_in_between(joined, tmp_path, chosen, beside):
    """The one that was chosen is used, whatever lies beside the extension; `require()` finds the one beside it."""
    place = tmp_path / "project" / ".github" / "extensions"
    place.mkdir(parents=True)
    (tmp_path / "project" / "node_modules").symlink_to(sdk(beside).parents[1])
    host = joined(copied("imports-main", place / "it"), chosen)
    names = json.loads(host.call("names")["result"])
    assert ("defineFactory" in names["main"]) is (chosen == "newest")
    other = joined(copied("uses-require", place / "other"), chosen)
    assert other.call("required")["result"] == "by require"


@pytest.mark.slow
def test_a_part_of_the_sdk_that_is_no_entry_is_refused_by_node(running):
    host = running(text='import "@github/copilot-sdk/dist/client.js";\n')
    assert host.exited() == 1
    assert "ERR_PACKAGE_PATH_NOT_EXPORTED" in host.stderr


@pytest.mark.slow
def test_an_sdk_behind_a_link(joined, tmp_path):
    (tmp_path / "sdk").symlink_to(sdk())
    host = joined("minimal", sdk=tmp_path / "sdk")
    assert host.end() == 0


# stdout


@EACH_SDK
def test_what_an_extension_writes_to_stdout_is_not_in_between_its_messages(joined, version):
    host = joined("noisy", version)
    for turn in range(10):
        answer = host.call("noise", {"text": "é", "times": 5000}, f"call-{turn}")
        assert answer["result"] == "é" * 5000
    assert host.hook("preToolUse", toolName="bash", toolArgs={}) == {"additionalContext": "heard"}
    assert (host.end(), host.noise) == (0, b"")
    for words in ("console.log", "console of node:console", "log of node:console", "a part of a line", "bytes"):
        for where in ("top", "joined", "tool", "hook"):
            assert f"{where}: {words}" in host.stderr
    assert "turn 49" in host.stderr
    assert host.stderr.count("Content-Length: 5\n\nhello") == host.stderr.count("Content-Length: ten") == 13


@pytest.mark.slow
@BOTH
def test_noise_past_the_streams_of_node_leaves_the_messages_whole(joined, version):
    host = joined("writes-descriptor", version)
    assert host.call("noise")["result"] == "done"
    assert host.end() == 0
    assert host.noise == b"before the join\nwithout an end of linefrom a program\n"


@pytest.mark.slow
@BOTH
def test_a_huge_result_comes_whole(joined, version):
    host = joined("huge-result", version)
    assert len(host.call("huge", {"size": 5_000_000})["result"]) == 5_000_000
    assert host.call("small", call_id="2")["result"] == "small"


@pytest.mark.slow
@BOTH
def test_a_flood_and_a_second_join_which_is_refused(joined, version):
    host = joined("floods", version)
    assert host.call("flood", {"what": "both", "times": 300})["result"] == "flooded"
    host.run_until(lambda: len(host.asked("session.send")) == len(host.asked("session.log")) == 300)
    twice = joined("joins-twice", version)
    assert twice.call("first_join")["result"].startswith("joinSession() was called before")
    assert len(twice.asked("session.resume")) == 1


# Ends


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("name", ["minimal", "workbench", "guide-session"])
def test_a_plain_extension_ends_with_its_stdin(joined, version, name):
    host = joined(name, version)
    assert (host.end(), host.stderr) == (0, "")


@pytest.mark.slow
@BOTH
def test_a_top_level_that_waits_does_not_make_the_end_a_failure(joined, version):
    host = joined(
        version=version,
        text='import { joinSession } from "@github/copilot-sdk/extension";\n'
        "const session = await joinSession();\nawait new Promise((resolve) => session.on('never', resolve));\n",
    )
    assert (host.end(), host.stderr) == (0, "")


@pytest.mark.slow
@BOTH
def test_timers_keep_it_alive_and_sigterm_ends_it(joined, version):
    host = joined("keeps-alive", version)
    host.process.stdin.close()
    host.terminate()
    assert host.exited() == -15


@pytest.mark.slow
@BOTH
def test_one_that_ignores_sigterm(joined, version):
    host = joined("ignores-sigterm", version)
    host.terminate()
    host.run_until(lambda: host.request("zot.ping", {}) and "not now" in host.stderr)
    assert host.call("stubborn")["result"] == "stubborn"
    host.terminate(9)
    assert host.exited() == -9


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize(
    ("name", "tool", "status", "words"),
    [
        ("unhandled-rejection", "forget", 1, "Error: nobody waits for this"),
        ("unhandled-rejection", "forget_rpc", 1, "ResponseError: Unhandled method session.mode.get"),
        ("exits-in-call", "leave", 3, ""),
    ],
)
def test_an_end_in_a_call(joined, version, name, tool, status, words):
    host = joined(name, version)

    def refuse(_params):
        raise RefusedError("Unhandled method session.mode.get")

    host.answers["session.mode.get"] = refuse
    host.begin_call(tool)
    assert host.exited() == status
    assert words in host.stderr


@pytest.mark.slow
@BOTH
def test_a_hook_that_never_returns_holds_up_nothing_else(joined, version):
    host = joined("slow-hook", version)
    host.write({"id": 99, "method": "hooks.invoke", "params": {"sessionId": "session-1", "hookType": "preToolUse",
                "input": {"timestamp": 1, "cwd": "/", "toolName": "bash", "toolArgs": {}}}})  # fmt: skip
    host.begin_call("slow")
    assert host.hook("preToolUse", toolName="edit", toolArgs={}) == {"additionalContext": "in time"}
    assert 99 not in host.results
    assert host.end() == 0


def test_the_bootstrap_is_where_it_is_looked_for():
    assert BOOTSTRAP.is_file()
