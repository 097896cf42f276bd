"""The frontmatter of a skill: good YAML is read, bad YAML is told with its line, and nothing breaks the reader."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.skills.front_matter import DEPTH, LENGTH, FrontMatterError, split, values
from agent.skills.read import SkillError, read_skill


def contents(yaml_text):
    return {key: value.content for key, value in values(yaml_text, 2).items()}


def test_a_file_without_frontmatter_is_all_body():
    assert split("# Title\n\n---\n") == ("", 0, "# Title\n\n---\n")
    assert split("----\nname: x\n---\n")[0] == ""
    assert split("") == ("", 0, "")


def test_the_frontmatter_may_stand_after_blank_lines_and_have_any_line_ends():
    assert split("\n\n---\nname: a\n---\n\nBody\n") == ("name: a", 4, "Body\n")
    assert split("---\r\nname: a\r\n--- \r\nBody\r\n") == ("name: a\r", 2, "Body\r\n")


def test_what_has_no_end_is_told_with_the_line_of_its_beginning():
    with pytest.raises(FrontMatterError, match="has no end") as caught:
        split("\n---\nname: a\n# Title\n")
    assert caught.value.line == 2


def test_block_scalars_quotes_and_lists():
    assert contents(
        'description: >-\n  Two lines\n  in one.\nname: "a\\tb"\nshort: \'it\'\'s\'\nkept: |\n  one\n  two\n'
        "inline: [a, 'b c']\nlisted:\n  - a\n  - Bash(git log:*)\nnothing:\nnumber: 12\n"
    ) == {
        "description": "Two lines in one.", "name": "a\tb", "short": "it's", "kept": "one\ntwo\n",
        "inline": ["a", "b c"], "listed": ["a", "Bash(git log:*)"], "nothing": None, "number": "12",
    }  # fmt: skip


def test_what_is_neither_text_nor_list_is_said_to_be_so():
    found = values("a: {b: c}\nd: [[e]]\nf: &x g\nh: *x\ni: [*x]\n", 2)
    assert {key: value.kind for key, value in found.items()} == {
        "a": "keys with values", "d": "a list of other things than texts", "f": "text", "h": "an alias",
        "i": "a list of other things than texts",
    }  # fmt: skip
    assert found["h"].line == 5


@pytest.mark.parametrize(
    ("yaml_text", "line", "said"),
    [
        ("name: a\ndescription: b: c\n", 3, "not YAML: mapping values are not allowed"),
        ("name: a\n\tb: c\n", 3, "not YAML"),
        ("name: [a\n", 3, "not YAML"),
        ("name: 'a\n", 3, "not YAML"),
        ("- a\n", 2, "must be keys with values"),
        ("text\n", 2, "must be keys with values"),
        ("a: 1\nb: 2\na: 3\n", 4, "a is there twice; the first is in line 2"),
        ("a: \x07\n", 2, "not YAML"),
        ("x" * (LENGTH + 1), 2, "longer than 64 KiB"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(yaml_text, line, said):
    with pytest.raises(FrontMatterError, match=said) as caught:
        values(yaml_text, 2)
    assert caught.value.line == line


def test_only_comments_are_no_values():
    assert contents("# nothing yet\n") == {}
    assert contents("\n") == {}


def test_neither_depth_nor_aliases_nor_tags_cost_anything():
    deep = "[" * DEPTH + "]" * DEPTH
    assert contents("name: a\nother: " + deep)["name"] == "a"
    for deeper in (f"a: [{deep}]", "name: a\nother: " + "[{a: " * (LENGTH // 6), f"? [{deep}]\n: a"):
        assert str(fault_of(values, deeper, 2)) == f"nested deeper than {DEPTH} levels"
    bomb = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    assert contents(bomb)["i"] is None
    assert contents("name: !!python/object/apply:os.getcwd []\n") == {"name": []}


YAML_LIKE = st.text(alphabet="ab:-#\n\t '\"[]{}>|&*!%@,?~\\\ufeff\u2028\x00é" + string.digits, max_size=200)


def fault_of(read, *given):
    """The error that it raises; None if it raises none."""
    try:
        read(*given)
    except (FrontMatterError, SkillError) as error:
        return error
    return None


@given(YAML_LIKE)
def test_any_frontmatter_is_read_or_told(text):
    error = fault_of(values, text, 2)
    assert error is None or (str(error) and 2 <= error.line <= 2 + len(text))


@given(st.one_of(st.binary(max_size=300), YAML_LIKE.map(lambda text: f"---\n{text}\n---\nBody".encode())))
def test_any_file_is_a_skill_or_told(data):
    error = fault_of(read_skill, data, "/s/SKILL.md", "s")
    if error is None:
        assert read_skill(data, "/s/SKILL.md", "s")[0].name.isprintable()
    else:
        assert str(error)
        assert 0 <= error.line <= len(data) + 2
