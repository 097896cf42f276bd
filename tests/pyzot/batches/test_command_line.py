"""The options of a batch and the flags of `zot batch`."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyzot.batches.command_line import command


def test_options_are_written_as_flags():
    given = {
        "jobs": 4, "redo": ["failed", "-x"], "run_memory": 1 << 30, "workspace": "copy", "deadline": 90,
        "max_cost_usd": 0.1, "no_ext": True, "retries": None, "output_schema": {"type": "integer"}, "cwd": "/x",
        "api_key": "secret",
    }  # fmt: skip
    assert command(given, Path("a b"), ["zot"], with_events=False, is_quiet=True) == [
        "zot", "batch", "-", "--json", "--output=a b", "--no-events", "--quiet", "--jobs=4", "--redo=failed",
        "--redo=-x", "--run-memory=1073741824", "--workspace=copy", "--deadline=90000ms",
        "--max-cost-usd=0.100000000", "--no-ext", '--output-schema={"type": "integer"}',
    ]  # fmt: skip
    assert command({}, "-x", ["zot"], with_events=True, is_quiet=False)[1:] == ["batch", "-", "--json", "--output=-x"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("jobs", "4"), ("jobs", True), ("cwd", 5), ("api_key", 5), ("deadline", "2h"), ("redo", 5), ("workspace", 1)],
)
def test_a_value_of_another_type_is_refused_by_name(name, value):
    with pytest.raises(TypeError, match=f"^{name} "):
        command({name: value}, "runs", ["zot"], with_events=False, is_quiet=True)


def test_a_batch_on_a_cluster_takes_its_folder_as_a_path_and_no_key():
    given = {"engine": "ray", "address": "head:6379", "upload": Path("project")}
    written = command(given, "runs", ["zot"], with_events=False, is_quiet=False)
    assert written[-3:] == ["--engine=ray", "--address=head:6379", "--upload=project"]
    with pytest.raises(ValueError, match=r"^api_key: with engine='ray' a key does not travel: set its variable"):
        command({**given, "api_key": "secret"}, "runs", ["zot"], with_events=False, is_quiet=False)
    command({"api_key": "secret", "engine": "local"}, "runs", ["zot"], with_events=False, is_quiet=False)


def test_an_unknown_option_is_refused_with_the_nearest():
    with pytest.raises(TypeError, match=r"no option 'job'; did you mean 'jobs'\?"):
        command({"job": 1}, "runs", ["zot"], with_events=False, is_quiet=True)
    with pytest.raises(TypeError, match=r"no option 'timeout'; did you mean 'task_timeout'\?"):
        command({"timeout": 1}, "runs", ["zot"], with_events=False, is_quiet=True)
    with pytest.raises(TypeError, match=r"^folder is a path"):
        command({}, 5, ["zot"], with_events=False, is_quiet=True)
