"""The Dockerfile and the compose file of `examples/operations`: their words run, also as process 1."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
from pathlib import Path

import psutil
import pytest
import yaml

from tests.support.extension_folder import child_argv, folder
from tests.support.patience import PATIENCE_S
from tests.support.zot_fixtures import zot
from tests.support.zot_process import wait_until

__all__ = ["zot"]

FOLDER = Path(__file__).parents[2] / "examples" / "operations"
AS_PROCESS_1 = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"]
INSTRUCTION = re.compile(r"^([A-Z]+) +((?:.*\\\n)*.*)$", re.MULTILINE)


def instructions():
    """The arguments of each instruction of the Dockerfile, the last of each name."""
    return dict(INSTRUCTION.findall((FOLDER / "Dockerfile").read_text()))


def words(name):
    """The words of an instruction in its form of JSON, without `zot`."""
    found = json.loads(instructions()[name][instructions()[name].index("[") :])
    return found[1:] if found[0] == "zot" else found


def test_the_words_of_the_image_keep_a_host_and_tell_its_health(zot):
    assert words("ENTRYPOINT") == []
    check = words("HEALTHCHECK")
    assert zot.run(*check).status == 1
    with zot.start(*words("CMD")) as running:
        wait_until(lambda: list(zot.home.glob("run/*.sock")))
        assert zot.run(*check).status == 0
        running.signal(getattr(signal, instructions()["STOPSIGNAL"]))
        assert running.finish().status == 0
    assert zot.run(*check).status == 1


def test_the_image_runs_as_a_user_of_its_own():
    found = instructions()
    assert found["USER"] != "root"
    assert f"useradd --create-home --uid 1000 {found['USER']}" in found["RUN"]
    assert found["ENV"] == f"ZOT_HOME={found['VOLUME']}"


def test_the_commands_of_the_compose_file_are_taken(zot):
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
    with zot.start(*services["host"]["command"]) as running:
        wait_until(lambda: b'"event":"serving"' in running.errors().encode())
        json.loads(running.errors().splitlines()[0])
        running.signal(signal.SIGTERM)
        assert running.finish().status == 0
    assert services["agent"]["pid"] == "service:host"
    assert services["host"]["volumes"] == services["agent"]["volumes"]


def need_pid_namespace():
    argv = [*AS_PROCESS_1, "true"]
    if shutil.which("unshare") is None or subprocess.run(argv, capture_output=True, check=False).returncode:
        pytest.skip("no pid namespace may be made here")


def test_as_process_1_a_host_collects_what_extensions_leave_and_ends_when_told(zot):
    need_pid_namespace()
    command = ["/bin/sh", "-c", '(true &); exec "$0" "$@"', *child_argv("echo")]
    flags = ["host", "--no-ext", "-e", folder(zot.folder, "echo", command)]
    argv = [*AS_PROCESS_1, *zot.command, *map(str, flags)]
    with subprocess.Popen(argv, env=zot.env, cwd=zot.cwd, stderr=subprocess.PIPE, text=True) as process:
        wait_until((zot.home / "run" / "1.sock").exists)
        (host,) = psutil.Process(process.pid).children()
        wait_until(lambda: [each.status() == psutil.STATUS_ZOMBIE for each in host.children()] == [False, False])
        host.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=PATIENCE_S)[1]
    assert process.returncode == 0, said
    assert "pid=1" in said
