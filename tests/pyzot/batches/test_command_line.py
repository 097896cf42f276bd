"""The options of a batch and the flags of `zot batch`."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

from cli.batch.command import batch
from pyzot.batches import command_line
from pyzot.batches.command_line import FLAGS, UNWRITTEN, command

NOT_OPTIONS = {
    "json": "the batch is read as JSON",
    "no-events": "by on_event",
    "no-progress": "by on_stderr",
    "quiet": "by on_stderr",
    "output": "the folder is an argument",
    "resume": "a program goes on with a folder by naming it",
    "api-key": "an option, but given in the environment",
    "template": "a program makes its prompts itself",
    **dict.fromkeys(["slice", "filter", "shuffle", "seed", "limit", "shard"], "a program selects its tasks itself"),
}
"""Flags of `zot batch` that are no flags here, and why."""


def flags():
    """The long names of the flags, without the dashes."""
    for name, parameter in inspect.signature(batch, eval_str=True).parameters.items():
        if name not in ("ctx", "tasks"):
            option = parameter.annotation.__metadata__[0]
            words = [str(word) for word in (option.default, *(option.param_decls or ()))]
            declared = [word.lstrip("-") for word in words if word.startswith("--")]
            yield declared[0] if declared else name.replace("_", "-")


def test_each_flag_of_a_batch_is_an_option():
    found = set(flags())
    assert {name.replace("_", "-") for name in FLAGS} == found - NOT_OPTIONS.keys()
    assert found >= NOT_OPTIONS.keys()


def test_each_option_is_typed():
    tree = ast.parse(Path(command_line.__file__).read_text())
    (options,) = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == "BatchOptions"]
    assert {line.target.id for line in options.body if isinstance(line, ast.AnnAssign)} == {*FLAGS, *UNWRITTEN}


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


def test_an_unknown_option_is_refused_with_the_nearest():
    with pytest.raises(TypeError, match=r"no option 'job'; did you mean 'jobs'\?"):
        command({"job": 1}, "runs", ["zot"], with_events=False, is_quiet=True)
    with pytest.raises(TypeError, match=r"no option 'timeout'; did you mean 'task_timeout'\?"):
        command({"timeout": 1}, "runs", ["zot"], with_events=False, is_quiet=True)
    with pytest.raises(TypeError, match=r"^folder is a path"):
        command({}, 5, ["zot"], with_events=False, is_quiet=True)
