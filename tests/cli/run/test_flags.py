"""The flags of a run and the fields of its request belong together."""

from __future__ import annotations

import typer

from agent.options import RunRequest
from cli.app import app
from cli.run.request import NOT_IN_A_REQUEST, request_from

TURNED_ROUND = {
    "no_tools": "tools", "no_ext": "discover", "no_session": "keep_session", "continue_": "continue_last",
    "no_skills": "skills", "with_skills": "user_skills", "no_context_files": "context_files",
    "no_auto_compact": "auto_compact",
}  # fmt: skip
"""Fields that have another name than their flag, mostly because the flag turns something off."""


def parameters() -> dict[str, object]:
    """The parameters of a run, as without any flag."""
    command = typer.main.get_command(app)
    return {parameter.name: parameter.default for parameter in command.params if parameter.expose_value}


def test_each_field_of_a_request_has_a_flag():
    flags = {TURNED_ROUND.get(name, name) for name in parameters()} - set(NOT_IN_A_REQUEST)
    assert flags == set(RunRequest.__struct_fields__) - {"home"}


def test_no_flag_makes_the_default_request():
    assert request_from(parameters()) == RunRequest()


def test_flags_become_the_fields_of_their_names():
    given = {"max_steps": 3, "extensions": ("a", "b"), "reasoning": "low", "tools": "read, edit", "no_ext": True}
    wanted = RunRequest(
        max_steps=3, extensions=("a", "b"), reasoning="low", tools=frozenset({"read", "edit"}), discover=False
    )
    assert request_from(parameters() | given) == wanted
    assert request_from(parameters() | {"no_tools": True, "tools": "none"}).tools == frozenset()
