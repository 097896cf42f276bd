"""The tool `skill`: which skill a call names, and what is said of a faulty call."""

from __future__ import annotations

import pytest

from agent.skills.skill import Skill
from agent.tools.outcome import ToolError
from agent.tools.toolbox import find_skill

ONE, TWO = Skill(name="one"), Skill(name="two words")


def test_the_skill_of_this_name():
    assert find_skill({"name": "two words"}, (ONE, TWO)) is TWO
    assert find_skill({"name": " one\n", "more": 1}, (ONE, TWO)) is ONE


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({}, "skill: name is required"),
        ({"name": " "}, "skill: name is required"),
        ({"name": None}, "skill: name is required"),
        ({"name": 3}, "skill: invalid args: name must be a string, not a number"),
        ({"name": "One"}, 'skill: no skill named "One"; there are one and two words'),
    ],
)
def test_a_faulty_call_says_what_is_wrong(args, said):
    with pytest.raises(ToolError) as caught:
        find_skill(args, (ONE, TWO))
    assert str(caught.value) == said
