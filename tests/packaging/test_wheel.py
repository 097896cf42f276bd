"""The wheel, installed beside the distribution `supervisor` and used in a project that has folders of our names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from email.parser import BytesParser
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.replay_script import Script, ok
from tests.support.zot_process import ROOT, Zot

pytestmark = pytest.mark.slow

NAMESAKE = "supervisor==4.3.0"
"""A well-known distribution whose top-level package has the name of ours."""
SHADOWING = "raise SystemExit('the package of the user was imported')\n"
PROGRAMS = {"agent", "cli", "supervisor", "wire"}
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]


class Installation(NamedTuple):
    wheel: Path
    python: Path
    zot: Path
    site: Path


def run(*argv: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*map(str, argv)], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The wheel and the namesake in a new environment; what both need comes from the environment of the tests."""
    folder = tmp_path_factory.mktemp("wheel")
    run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT)
    (wheel,) = folder.glob("pyzot-*.whl")
    environment = folder / "env"
    venv.create(environment, symlinks=True, with_pip=False)
    python = environment / "bin" / "python"
    install = [*PIP[:3], "--python", str(python), *PIP[3:], "install", "--no-deps", "--no-compile"]
    namesake = subprocess.run([*install, NAMESAKE], capture_output=True, text=True)
    if namesake.returncode != 0:
        pytest.skip(f"{NAMESAKE} cannot be downloaded: {namesake.stderr.strip().splitlines()[-1]}")
    run(*install, wheel)
    (site,) = environment.glob("lib/python*/site-packages")
    # A line in a .pth file adds a folder, but not what the .pth files in there would add: no checkout is on the path.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return Installation(wheel, python, environment / "bin" / "zot", site)


@pytest.fixture
def project(tmp_path: Path) -> Zot:
    """A project with folders and modules of the names of ours, and `PYTHONPATH=.`"""
    zot = Zot(tmp_path)
    for name in PROGRAMS:
        (zot.cwd / name).mkdir()
        (zot.cwd / name / "__init__.py").write_text(SHADOWING)
    zot.env["PYTHONPATH"] = "."
    return zot


def test_only_two_packages_lie_at_the_top_level(installation):
    with zipfile.ZipFile(installation.wheel) as wheel:
        names = wheel.namelist()
        (metadata,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        fields = BytesParser().parsebytes(wheel.read(metadata))
    top = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    assert top == {"pyzot", "zotext"}
    assert {name.split("/")[2] for name in names if name.startswith("pyzot/_programs/")} == PROGRAMS
    assert {"pyzot/py.typed", "zotext/py.typed"} <= set(names)
    assert "pyzot/_programs/agent/skills/builtin/write-zot-extension/SKILL.md" in names
    launch = ROOT / "supervisor" / "discovery" / "copilot" / "launch"
    assert {f"pyzot/_programs/{path.relative_to(ROOT)}" for path in launch.glob("*.mjs")} <= set(names)
    assert not [name for name in names if "__pycache__" in name or "node_modules" in name]
    assert "Typing :: Typed" in fields.get_all("Classifier")
    for field in ("Name", "Version", "Summary", "Author", "License-Expression", "Requires-Python", "Keywords"):
        assert fields[field], field


def test_the_namesake_keeps_its_package_and_ours_keeps_to_itself(installation, tmp_path):
    code = """
import importlib.util, sys, supervisor, pyzot, zotext
found = {name: importlib.util.find_spec(name) is not None for name in ("agent", "cli", "wire")}
print(supervisor.__path__[0], pyzot.__version__, any(found.values()), "msgspec" in sys.modules)
"""
    done = run(installation.python, "-I", "-c", code, cwd=tmp_path)
    place, version, found, is_heavy = done.stdout.split()
    assert Path(place) == installation.site / "supervisor"
    assert (installation.site / "supervisor" / "supervisord.py").is_file()
    assert (f"zot {version}\n", found, is_heavy) == (run(installation.zot, "--version").stdout, "False", "False")


def test_the_demo_runs(installation, tmp_path):
    env = {**os.environ, "ZOT_HOME": str(tmp_path / "home")}
    done = run(installation.zot, "demo", "--json", cwd=tmp_path, env=env)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert (records[-2]["type"], records[-2]["status"], records[-1]["type"]) == ("result", "ok", "done")
    assert len(records[-2]["extensions"]) >= 3


ENTRIES = {
    "the command": ["{zot}"],
    "-m": ["{python}", "-m", "pyzot"],
    "-I -m": ["{python}", "-I", "-m", "pyzot"],
    "by path": ["{python}", "{site}/pyzot/__main__.py"],
}


@pytest.mark.parametrize(
    "entry", [pytest.param(name, marks=[pytest.mark.slow] * (name in ("-m", "by path"))) for name in ENTRIES]
)
def test_a_run_with_tools_in_a_project_with_packages_of_our_names(installation, project, entry):
    command = [part.format(**{k: str(v) for k, v in installation._asdict().items()}) for part in ENTRIES[entry]]
    script = (
        Script(project.cwd)
        .call(("write", {"path": "made", "content": "x\n"}), results=[ok("x\n")])
        .call(("bash", {"command": "cat made"}), results=[ok("$ cat made\n\nx\n\n[exit 0]  Took 0.0s")])
        .answer("Done.")
    )
    outcome = project.replay(script, command=command)
    assert "of the user was imported" not in outcome.stderr
    assert outcome.result.status == "ok", outcome.stderr
    assert (project.cwd / "made").read_text() == "x\n"


def test_a_program_in_such_a_project_embeds_an_agent(installation, project):
    """Also with a folder of our name that is no package: it does not hide what is installed."""
    for name in ("pyzot", "zotext"):
        (project.cwd / name).mkdir()
    cassette = Script(project.cwd).answer("Done.").write(project.folder / "cassette.jsonl")
    program = project.cwd / "program.py"
    program.write_text(f"""
import asyncio
from pyzot import AsyncRuntime, Runtime

with Runtime(replay={str(cassette)!r}) as zot:
    print(zot.run("go", check=True).text, zot.state().cwd)

async def main():
    async with AsyncRuntime(replay={str(cassette)!r}) as zot:
        print((await zot.run("go", check=True)).text)

asyncio.run(main())
""")
    for argv in ([program], ["-I", program]):
        done = run(installation.python, *argv, cwd=project.cwd, env=project.env)
        assert done.stdout == f"Done. {project.cwd}\nDone.\n"


def test_the_model_worker_runs(installation, project):
    from tests.support.messages_server import MessagesServer, text_reply

    with MessagesServer(text_reply("Hello")) as server:
        outcome = project.run("--json", "--base-url", server.base_url, "go", command=[str(installation.zot)])
    assert outcome.result.text == "Hello", outcome.stderr


CHILDREN = {
    "checker of arguments": ("supervisor/registry/checker_main.py", ["-P"], []),
    "file worker": ("agent/tools/file_worker/main.py", ["-I", "-S"], []),
    "model worker": ("agent/model/worker/worker_main.py", [], []),
    "reaper": ("supervisor/cleanup/reaper_main.py", ["-I", "-S"], ["{pid}", ""]),
}


@pytest.mark.parametrize("child", CHILDREN)
@pytest.mark.parametrize("isolated", [False, True], ids=["", "-I"])
def test_each_child_of_ours_finds_its_modules(installation, project, child, isolated):
    """Each is started by its path, as the host does, and ends at the end of its input."""
    program, flags, argv = CHILDREN[child]
    flags = [*flags, *(["-I"] if isolated and "-I" not in flags else [])]
    path = installation.site / "pyzot" / "_programs" / program
    words = [word.format(pid=os.getpid()) for word in argv]
    done = subprocess.run(
        [str(installation.python), *flags, str(path), *words],
        cwd=project.cwd,
        env=project.env,
        input=b"",
        capture_output=True,
    )
    assert b"Traceback" not in done.stderr, done.stderr
    assert b"ModuleNotFoundError" not in done.stderr, done.stderr
    assert b"of the user was imported" not in done.stderr


def test_the_input_line_of_a_drive_runs(installation, project):
    ours, theirs = os.openpty()
    example = installation.site / "pyzot" / "_programs" / "cli" / "examples" / "extensions" / "todo"
    command, env = [str(installation.zot)], {"TERM": "xterm"}
    with project.start("ext", "drive", example, command=command, stdin=theirs, stdout=theirs, env=env) as running:
        os.close(theirs)
        seen = b""
        while b"zot>" not in seen:
            seen += os.read(ours, 65536)
        os.write(ours, b"/todo\r\x04")
        while b"shutdown_ack" not in seen:
            seen += os.read(ours, 65536)
        outcome = running.finish()
    os.close(ours)
    assert (outcome.status, outcome.leftovers) == (0, []), outcome.stderr
    assert b"command_invoked" in seen


def test_a_new_extension_gets_the_sdk_of_the_wheel(installation, project):
    for language, file in (("python", "zotext/__init__.py"), ("typescript", "vendor/zotext/index.js")):
        outcome = project.run("ext", "new", f"my-{language}", "--lang", language, command=[str(installation.zot)])
        assert outcome.status == 0, outcome.stderr
        assert (project.cwd / f"my-{language}" / file).is_file()
