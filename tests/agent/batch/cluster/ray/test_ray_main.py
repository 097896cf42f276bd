"""The process for Ray, and what it tells without a cluster."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from agent.batch.cluster.ray.ray_carrier import RayCarrier
from cli.version import VERSION
from supervisor.process.teardown import stop_all
from tests.support.patience import soon
from tests.support.ray_bench import Told
from tests.support.ray_cluster import need_ray

ROOT = Path(__file__).parents[5]


def test_a_folder_that_cannot_be_uploaded_is_told_before_the_cluster_is_asked(loop, tmp_path):
    told = Told()
    carrier = RayCarrier(loop, told, version=VERSION, address="127.0.0.2:1", upload=str(tmp_path), env=os.environ)
    carrier.start()
    soon(loop, lambda: bool(told.failed))
    assert told.failed == f"--upload {tmp_path}: it is empty, or .gitignore leaves out all that is in it"
    stop_all(loop, carrier.stoppables())


@pytest.mark.parametrize("address", ["127.0.0.2:1", "ray://127.0.0.2:1"])
def test_an_address_at_which_nothing_answers_is_named(loop, address):
    need_ray()
    told = Told()
    carrier = RayCarrier(loop, told, version=VERSION, address=address, env={})
    carrier.start()
    soon(loop, lambda: bool(told.failed))
    assert told.failed.startswith(f"nothing answers at {address} (")
    stop_all(loop, carrier.stoppables())


@pytest.mark.parametrize("address", ["local", "http://a:1", "somewhere", "a:0", "ray://", "a:99999"])
def test_an_address_of_another_form_is_refused_before_anything_starts(loop, address):
    told = Told()
    carrier = RayCarrier(loop, told, version=VERSION, env={"RAY_ADDRESS": address})
    carrier.start()
    soon(loop, lambda: bool(told.failed))
    assert told.failed.startswith(f"RAY_ADDRESS {address}")
    assert carrier.child is None


def test_without_ray_the_extra_is_named(loop, tmp_path, monkeypatch):
    (tmp_path / "ray.py").write_text("raise ModuleNotFoundError('no Ray in this test')")
    told = Told()
    carrier = RayCarrier(loop, told, version=VERSION, env=os.environ | {"PYTHONPATH": str(tmp_path), "RAY_ADDRESS": ""})
    carrier.start()
    soon(loop, lambda: bool(told.failed))
    assert told.failed.startswith("--engine ray needs Ray: pip install 'pyzot[ray]'")
    stop_all(loop, carrier.stoppables())


def test_only_the_process_for_ray_imports_ray():
    sources = [path for name in ("agent", "cli", "pyzot", "supervisor", "wire") for path in (ROOT / name).rglob("*.py")]
    importing = re.compile(r"""^\s*(import|from) ray\b|import_module\(["']ray\b""", re.MULTILINE)
    found = [str(path.relative_to(ROOT)) for path in sources if importing.search(path.read_text("utf-8"))]
    assert found == ["agent/batch/cluster/ray/ray_main.py"]


def test_the_driver_imports_no_ray():
    program = [sys.executable, "-c", "import agent.batch.cluster.ray.ray_carrier, sys; print('ray' in sys.modules)"]
    assert subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True).stdout == "False\n"
