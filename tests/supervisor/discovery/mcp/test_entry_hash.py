"""Trust of an entry ends when how it is started changes, or a file of the project that it names."""

from __future__ import annotations

import itertools
import json
import os
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from supervisor.discovery.admission import Admission, Consent
from supervisor.discovery.found_extension import FoundExtension
from supervisor.discovery.steps import Allowance, finish
from supervisor.discovery.trust_rules import TrustState
from supervisor.discovery.trust_store import TrustStore
from tests.support.mcp_files import found_in, server_of, write_servers
from tests.support.project_extension import append

ENTRY = {
    "command": "node", "args": ["server.js", "--config=conf/a.json"], "env": {"LIB": "./lib.js", "KEY": "${KEY:-}"},
}  # fmt: skip


@pytest.fixture
def project(tmp_path):
    made = tmp_path / "project"
    (made / "conf").mkdir(parents=True)
    for name in ("server.js", "conf/a.json", "lib.js", "other.js"):
        (made / name).write_text("1")
    write_servers(made / ".mcp.json", one=ENTRY, two={"command": "y"})
    return made


@pytest.fixture
def store(tmp_path):
    return TrustStore(tmp_path / "home")


def trust(store, project):
    found = server_of(project, "one")
    store.trust(found.place, found.manifest, found=found)
    assert store.judge(found).is_trusted


def judged(store, project):
    found = server_of(project, "one")
    return store.examine(found.place, found.manifest, found)


FLIPS = [
    ({"command": "nodejs"}, "command"),
    ({"args": ["server.js"]}, "args"),
    ({"env": {**ENTRY["env"], "MORE": "1"}}, "env"),
    ({"cwd": "conf"}, "cwd"),
    ({"env_policy": "inherit"}, "env_policy"),
]


@pytest.mark.parametrize(("fields", "part"), FLIPS)
def test_a_change_of_the_entry_ends_the_trust(project, store, fields, part):
    trust(store, project)
    write_servers(project / ".mcp.json", one={**ENTRY, **fields})
    found = judged(store, project)
    assert found.standing is TrustState.CHANGED
    assert found.reason == "its entry or a file that it names has changed"
    assert part in {change.split()[0] for change in found.changes}


def test_a_new_variable_ends_the_trust(project, store):
    trust(store, project)
    write_servers(project / ".mcp.json", one={**ENTRY, "env": {**ENTRY["env"], "T": "${GITHUB_TOKEN:-}"}})
    assert judged(store, project).reason == "it now asks for GITHUB_TOKEN"


@pytest.mark.parametrize("name", ["server.js", "conf/a.json", "lib.js"])
@pytest.mark.parametrize("how", ["changed", "gone", "executable", "link"])
def test_a_change_of_a_named_file_ends_the_trust(project, store, name, how):
    trust(store, project)
    file = project / name
    if how == "changed":
        file.write_text("2")
    elif how == "executable":
        file.chmod(0o755)
    else:
        file.unlink()
        if how == "link":
            file.symlink_to(project / "other.js")
    found = judged(store, project)
    assert found.standing is TrustState.CHANGED
    assert any(change.startswith(f"./{name}") for change in found.changes)


@pytest.mark.parametrize(
    "fields",
    [{"disabled": False}, {"limits": {"rss_mb": 100}}, {"timeout": 5000}, {"required": True}, {"description": "x"}],
)
def test_other_fields_keep_the_trust(project, store, fields):
    trust(store, project)
    write_servers(project / ".mcp.json", one={**ENTRY, **fields}, three={"command": "z"})
    (project / "other.js").write_text("2")
    assert judged(store, project).is_trusted


def test_what_is_trusted_is_one_entry(project, store):
    trust(store, project)
    two = server_of(project, "two")
    assert store.judge(two).standing is TrustState.NEVER_SEEN
    write_servers(project / ".mcp.json", uno=ENTRY)
    assert store.judge(server_of(project, "uno")).standing is TrustState.NEVER_SEEN


@pytest.mark.parametrize(
    ("entry", "covered"),
    [
        ({"command": "./run.sh"}, ["./run.sh"]),
        ({"command": "run.sh", "cwd": "bin"}, ["./bin/index.js", "./bin/package.json", "./bin/run.sh"]),
        ({"command": "node", "args": ["bin"]}, ["./bin/index.js", "./bin/package.json"]),
        ({"command": "uv", "args": ["--directory", "bin", "run", "run.sh"]},
         ["./bin/index.js", "./bin/package.json", "./bin/run.sh", "./run.sh"]),
        ({"command": "sh", "args": ["-c", "exec ./run.sh --x"]}, ["./run.sh"]),
        ({"command": "node", "env": {"NODE_OPTIONS": "--require ./run.sh"}}, ["./run.sh"]),
        ({"command": "python", "env": {"PYTHONPATH": "lib:${workspaceFolder}/run.sh"}}, ["./run.sh"]),
        ({"command": "npx", "args": ["-y", "server-filesystem", "docs"]}, []),
        ({"command": "cat", "args": ["/etc/passwd", "../outside"]}, []),
        ({"command": "./linked.sh"}, ["./linked.sh"]),
        ({"command": "node", "args": ["bin/index"]}, ["./bin/index.js"]),
        ({"command": "python", "args": ["-m", "server"]}, ["./server.py"]),
        ({"command": "python", "args": ["-m", "app"]}, ["./app/__init__.py", "./app/__main__.py"]),
        ({"command": "python", "args": ["-m", "app.mcp"]},
         ["./app/__init__.py", "./app/__main__.py", "./app/mcp.py"]),
        ({"command": "uv", "args": ["run", "fastmcp", "run", "app.mcp:server"]},
         ["./app/__init__.py", "./app/__main__.py", "./app/mcp.py", "./server.py"]),
    ],
)  # fmt: skip
def test_which_files_an_entry_names(tmp_path, entry, covered):
    project = tmp_path / "project"
    (project / "bin").mkdir(parents=True)
    (project / "docs").mkdir()
    (project / "app").mkdir()
    for name in ("app/__init__.py", "app/__main__.py", "app/mcp.py", "server.py"):
        (project / name).write_text(name)
    for name in ("run.sh", "bin/run.sh", "bin/index.js", "bin/package.json", "docs/text.md", "../outside"):
        (project / name).write_text(name)
    (project / "linked.sh").symlink_to("run.sh")
    write_servers(project / ".mcp.json", one=entry)
    found = server_of(project, "one")
    content = TrustStore(tmp_path / "home").examine(found.place, found.manifest, found).content
    assert content is not None
    assert sorted(content.files) == sorted(covered)


def test_where_a_link_leads_counts(project, store):
    (project / "server.js").unlink()
    (project / "server.js").symlink_to("/usr/bin/env")
    trust(store, project)
    (project / "server.js").unlink()
    (project / "server.js").symlink_to("/usr/bin/true")
    assert judged(store, project).standing is TrustState.CHANGED


def test_behind_a_link_the_folder_above_is_that_of_where_it_leads(project, store):
    (project / "lib" / "in").mkdir(parents=True)
    (project / "lib" / "run.sh").write_text("one")
    (project / "run.sh").write_text("another")
    (project / "link").symlink_to("lib/in")
    write_servers(project / ".mcp.json", one={"command": "sh", "args": ["run.sh", "link/../run.sh"]})
    trust(store, project)
    (project / "lib" / "run.sh").write_text("two")
    assert judged(store, project).standing is TrustState.CHANGED


@pytest.mark.slow
def test_many_ways_to_write_one_folder_take_no_time(project, store):
    """The product of words, folders and files would be looked up before each start, trusted or not."""
    words = ["." + "/" * number for number in range(1200)]
    write_servers(project / ".mcp.json", one={"command": "x", "args": words})
    trust(store, project)
    folders = [f"folder{number}" for number in range(9)]
    for name in folders:
        (project / name).mkdir()
    write_servers(project / ".mcp.json", one={"command": "x", "args": folders})
    assert "more than 8 folders" in judged(store, project).reason


def test_a_run_starts_what_was_hashed(project, store, tmp_path):
    trust(store, project)
    admission = Admission(tmp_path / "home", Consent())
    discovery = found_in(project, admit=admission.for_one_start())
    [found] = discovery.found
    assert found.is_hashed
    assert found.change == ""
    (project / "lib.js").write_text("other")
    assert "lib.js has changed since it was checked" in found.change
    assert [skipped.name for skipped in discovery.skipped if skipped.untrusted] == ["two"]


def test_consent_by_place(project, tmp_path):
    one = server_of(project, "one")
    admission = Admission(tmp_path / "home", Consent(folders=frozenset({one.place})))
    discovery = found_in(project, admit=admission.for_one_start())
    assert [found.manifest.name for found in discovery.found] == ["one"]
    everything = Admission(tmp_path / "home", Consent(whole_project=True))
    assert len(found_in(project, admit=everything.for_one_start()).found) == 2


def test_a_new_version_is_judged_in_a_project_and_not_in_the_user_s_file(project, store, tmp_path):
    trust(store, project)
    admission = Admission(tmp_path / "home", Consent())
    old = server_of(project, "one")
    write_servers(project / ".mcp.json", one={**ENTRY, "args": []})
    now = server_of(project, "one")
    assert finish(admission.may_run(now, old.manifest)) == (
        "not trusted (its entry or a file that it names has changed)"
    )
    write_servers(tmp_path / "home" / "mcp.json", one={"command": "x", "env": {"T": "${HOME}"}})
    [mine] = found_in(tmp_path, tmp_path / "home").found
    assert isinstance(finish(admission.may_run(mine, old.manifest)), FoundExtension)


def test_too_much_is_not_read(project, store):
    (project / "server.js").write_bytes(b"")
    with (project / "server.js").open("wb") as file:
        file.truncate(2**31)
    found = server_of(project, "one")
    assert "more than 512 MB would be read" in store.examine(found.place, found.manifest, found).reason
    steps = store.judging(found.place, found.manifest, Allowance(files=0), is_shown=True, found=found)
    assert "more than 0 files" in finish(steps).reason


def test_a_record_survives_in_the_file(project, store):
    trust(store, project)
    rows = json.loads(store.path.read_text())["extensions"]
    assert list(rows) == [f"{project}/.mcp.json/one"]
    assert rows[f"{project}/.mcp.json/one"]["env"] == ["KEY"]
    assert store.revoke(server_of(project, "one").place)
    assert judged(store, project).standing is TrustState.NEVER_SEEN


# --- commands of a shell ----------------------------------------------------------------------------------------------

SPELLINGS = [
    "./run.sh", "cd srv&&sh index.sh", "(./run.sh)", "true|./run.sh", "exec sh<run.sh", "$PWD/run.sh", '"$PWD"/run.sh',
    "`./run.sh`", "$(./run.sh)", "{ ./run.sh; }", "./run.sh&", "./ru''n.sh", "./r\\un.sh", "./run.*", "sh ./run.s?",
    "sh ./[r]un.sh", "sh ./{run,x}.sh", "F=run; sh $F.sh", ". ./run.sh", "eval './ru''n.sh'", "sh -c 'sh ./run.sh'",
    "cat run.sh|sh", "sh 0<run.sh", "true;./run.sh", "true||./run.sh>/dev/null", "cd srv; (cd deep; sh index.sh)",
    "cd srv\nsh index.sh", "echo nur|rev|xargs -I% sh %.sh", "for f in run; do sh $f.sh; done", "sh 'my run.sh'",
    "sh my\\ run.sh", 'sh "my"\' run.sh\'', "printf ./r%s.sh un|sh", "$HOME/run.sh", "~/run.sh", 'sh r"u"n.sh',
    "sh <<E\n. ./run.sh\nE", "exec 3<run.sh; sh <&3", "x() { ./run.sh; }; x", 'cd "$PWD/srv" && exec sh index.sh',
    "command ./run.sh", "nohup ./run.sh 2>&1", 'sh -c "cd srv;sh index.sh"',
]  # fmt: skip


@pytest.fixture
def scripts(tmp_path, monkeypatch):
    """A project with scripts, in the home of the user."""
    made = tmp_path / "home" / "project"
    (made / "srv" / "deep").mkdir(parents=True)
    for name in ("run.sh", "srv/index.sh", "srv/deep/index.sh", "my run.sh", "text.md", "srv/run.sh"):
        (made / name).write_text(f'echo "{name}" >> "$RAN"\n')
        (made / name).chmod(0o644 if name in ("text.md", "my run.sh") else 0o755)
    monkeypatch.setenv("HOME", str(made))
    return made


def content_of(project, tmp_path, **entry):
    write_servers(project / ".mcp.json", one=entry)
    found = server_of(project, "one")
    return TrustStore(tmp_path / "zot").examine(found.place, found.manifest, found).content


SHELLS = [["sh", "-c"], ["/bin/bash", "-o", "pipefail", "-lc"], ["env", "A=1", "sh", "-ec"]]


@pytest.mark.parametrize(
    ("text", "shell"),
    [*((SPELLINGS[0], shell) for shell in SHELLS), *zip(SPELLINGS[1:], itertools.cycle(SHELLS), strict=False)],
)
def test_however_a_shell_is_told_to_run_a_script_its_change_ends_the_trust(scripts, tmp_path, text, shell):
    write_servers(scripts / ".mcp.json", one={"command": shell[0], "args": [*shell[1:], text]})
    store = TrustStore(tmp_path / "zot")
    trust(store, scripts)
    run = "my run.sh" if "my" in text else "srv/deep/index.sh" if "deep" in text else "srv/index.sh"
    append(scripts / (run if "index" in text or "my" in text else "run.sh"))
    assert judged(store, scripts).standing is TrustState.CHANGED


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("exec ./run.sh --x", ["./run.sh"]),
        ("cd srv && exec sh index.sh 2>/dev/null", ["./srv/index.sh"]),
        (". ~/run.sh; nvm use 20 && npx -y server@1.2", ["./run.sh"]),
        ("npx -y server-filesystem $HOME \"$PWD/srv\"", []),
        ("exec \"$@\"", []),
        ("sh -c 'cd srv; sh -c \"cd deep && sh index.sh\"'", ["./srv/deep/index.sh", "./srv/index.sh"]),
        ("$X", ["./my run.sh", "./run.sh", "./srv/deep/index.sh", "./srv/index.sh", "./srv/run.sh"]),
    ],
)  # fmt: skip
def test_all_programs_count_only_if_the_command_cannot_be_read(scripts, tmp_path, text, covered):
    assert sorted(content_of(scripts, tmp_path, command="sh", args=["-c", text]).files) == covered


def test_which_files_are_programs(scripts, tmp_path):
    (scripts / "tool").write_text("#!/bin/sh\n")
    (scripts / "data").write_text("#")
    (scripts / "app.py").write_text("")
    (scripts / "package.json").write_text("{}")
    (scripts / ".git").mkdir()
    (scripts / ".git" / "hook.sh").write_text("")
    (scripts / "linked").symlink_to("run.sh")
    (scripts / "more").symlink_to("srv/deep")
    os.mkfifo(scripts / "pipe")
    content = content_of(scripts, tmp_path, command="sh", args=["-c", "$X"])
    more = {"./tool", "./app.py", "./package.json", "./linked"}
    assert more <= set(content.files)
    assert not {path for path in content.files if path.endswith(("data", "text.md", "hook.sh", "pipe"))}
    assert "./more ->" in content.parts


def test_a_project_with_too_many_files_is_refused_with_the_reason(scripts):
    write_servers(scripts / ".mcp.json", one={"command": "sh", "args": ["-c", "$X"]})
    found = server_of(scripts, "one")
    store = TrustStore(scripts / "zot")
    steps = store.judging(found.place, found.manifest, Allowance(files=7), is_shown=True, found=found)
    assert "all programs of the project count, and it has more than 7 files; name the program" in finish(steps).reason


PIECES = st.sampled_from(
    ["./run.sh", "run.sh", "srv", "srv/run.sh", "my run.sh", "cd ", "sh ", "sh -c ", ". ", "exec ", "cat ", "eval ",
     "x=", "$x", "$PWD", "$HOME/", "~/", "r", "un.sh", " ", " ", ";", "&&", "||", "|", "&", "(", ")", "{ ", "; }", "<",
     "'", '"', "`", "$(", "\\", "*", "?", "\n", "./", "/", "..", "true", "printf ", "index.sh", "deep", "if ", "then ",
     "fi"]
)  # fmt: skip


@given(st.lists(PIECES, min_size=1, max_size=9).map("".join))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_a_shell_really_runs_is_covered(scripts, tmp_path, text):
    ran = tmp_path / "ran"
    ran.write_text("")
    run = ["sh", "-c", text]
    env = {"PATH": os.environ["PATH"], "HOME": str(scripts), "RAN": str(ran)}
    subprocess.run(run, cwd=scripts, env=env, check=False, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    content = content_of(scripts, tmp_path, command="sh", args=["-c", text])
    assert {f"./{name}" for name in ran.read_text().splitlines()} <= set(content.files)


@pytest.mark.parametrize(
    ("command", "changed"),
    [
        (["npm", "start"], "package.json"), (["env", "A=1", "npm", "start"], "package.json"),
        (["make", "serve"], "GNUmakefile"), (["make", "-C", "srv", "serve"], "srv/makefile"),
        (["docker", "compose", "run", "x"], "compose.yml"), (["uv", "run", "serve"], "pyproject.toml"),
        (["env", "-S", "sh -c 'sh r''un.sh'"], "run.sh"), (["env", "-Ssh -c 'sh r''un.sh'"], "run.sh"),
        (["flock", "lock", "-c", "sh r''un.sh"], "run.sh"), (["sh", "-c", "cd srv; sh deep/../run.sh"], "srv/run.sh"),
        (["sh", "-c", "cd //$PWD/srv; sh index.sh"], "srv/index.sh"),
        (["sh", "-c", "sh /proc/self/cwd/run.sh"], "run.sh"), (["sh", "-c", ". /dev/fd/0 < run.sh"], "run.sh"),
    ],
)  # fmt: skip
def test_what_a_launcher_reads_where_it_starts_and_odd_ways_to_a_script_count(scripts, tmp_path, command, changed):
    (scripts / changed).open("a").close()
    assert f"./{changed}" in content_of(scripts, tmp_path, command=command[0], args=command[1:]).files


def test_a_program_that_reads_no_file_of_the_folder_is_not_asked_about_again_for_one(scripts, tmp_path):
    for name in ("package.json", "pyproject.toml", "Dockerfile", "Makefile"):
        (scripts / name).touch()
    for command in (["npx", "-y", "server@1"], ["uvx", "server"], ["docker", "run", "-i", "server"]):
        assert content_of(scripts, tmp_path, command=command[0], args=command[1:]).files == {}


@pytest.mark.parametrize("space", ["\xa0", "\x0b", "\x0c", "\x85", "\u2003", "\x1c"])
def test_white_space_that_is_none_for_a_shell_is_no_end_of_the_judgement(scripts, tmp_path, space):
    assert "./run.sh" in content_of(scripts, tmp_path, command="sh", args=["-c", f"sh{space}run.sh"]).files
