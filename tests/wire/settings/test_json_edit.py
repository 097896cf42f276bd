"""A member is put into a file of the user's, or taken out, and nothing else of its text changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.any_message import JSON
from wire.settings.json_edit import remove_member, set_member
from wire.settings.mcp_file import plain_json

FOUR = """\
{
    "inputs": [ {"id" : 1} ],
    "mcpServers": {
        "a": { "command": "x" },
        "b": {
            "command": "y"
        }
    },
    "z": 1.0
}
"""
ENTRY = {"command": "npx", "args": ["-y", "ü"]}
FOUR_WITH_C = FOUR.replace(
    "        }\n    },\n",
    '        },\n        "c": {\n            "command": "npx",\n            "args": [\n                "-y",\n'
    '                "ü"\n            ]\n        }\n    },\n',
)


def test_a_member_goes_behind_the_last_in_the_indentation_of_the_file():
    assert set_member(FOUR.encode(), "mcpServers", "c", ENTRY).decode() == FOUR_WITH_C


def test_it_takes_the_place_of_the_one_of_its_name():
    changed = set_member(FOUR.encode(), "mcpServers", "b", {"command": "n"}).decode()
    assert changed == FOUR.replace('"command": "y"', '"command": "n"')


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_taking_it_out_leaves_the_others_as_they_were(name):
    left = remove_member(FOUR_WITH_C.encode(), "mcpServers", name).decode()
    if name == "c":
        assert left == FOUR
    assert '"inputs": [ {"id" : 1} ],\n' in left
    assert list(json.loads(left)["mcpServers"]) == [other for other in "abc" if other != name]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "s": {\n    "n": 1\n  }\n}\n'),
        (" \n", '{\n  "s": {\n    "n": 1\n  }\n}\n'),
        ("{}", '{\n  "s": {\n    "n": 1\n  }\n}'),
        ('{"s": {}}', '{"s": {"n": 1}}'),
        ('{"s": {"a": 2}}\n', '{"s": {"a": 2, "n": 1}}\n'),
        ('{"a": 2}', '{"a": 2, "s": {"n": 1}}'),
        ('{\n\t"s": {}\n}', '{\n\t"s": {\n\t\t"n": 1\n\t}\n}'),
        ('{\r\n  "s": {\r\n  }\r\n}', '{\r\n  "s": {\r\n    "n": 1\r\n  }\r\n}'),
        ('{\n  "a": 2\n}\n', '{\n  "a": 2,\n  "s": {\n    "n": 1\n  }\n}\n'),
        ('{"s": 0, "s": {"n": 2, "n": 3}}', '{"s": 0, "s": {"n": 2, "n": 1}}'),
    ],
)
def test_files_of_every_shape(before, after):
    assert set_member(before.encode(), "s", "n", 1).decode() == after


def test_the_last_one_leaves_an_empty_object():
    assert remove_member(b'{"s": { "n": 1 }, "t": 2}', "s", "n") == b'{"s": {}, "t": 2}'
    assert remove_member(b'{"s": {"n": 1, "n": 2}}', "s", "n") == b'{"s": {}}'
    assert remove_member(b'{"t": 2}', "s", "n") == b'{"t": 2}'


@given(
    st.dictionaries(st.text(), JSON),
    st.dictionaries(st.text(), JSON),
    st.text(),
    JSON,
    st.sampled_from([None, 1, 2, "\t"]),
    st.sampled_from([(",", ":"), (", ", ": "), (" ,  ", " : ")]),
)
def test_the_result_is_always_the_change_and_no_other(rest: dict, held: dict, name: str, value: Any, indent, marks):
    before = {**rest, "s": held}
    text = json.dumps(before, indent=indent, separators=marks).encode()
    added = set_member(text, "s", name, value)
    assert json.loads(added) == {**rest, "s": {**held, name: value}}
    taken = remove_member(added, "s", name)
    assert json.loads(taken) == {**rest, "s": {key: kept for key, kept in held.items() if key != name}}
    if name not in held and held:
        assert taken == text


COMMENTED = """\
{ // servers
  "s": {
    // the first
    "a": 1, // a
    /* the second */
    "b": 2, // b, ü
  },
}
"""


def test_comments_stay_with_what_they_are_about():
    added = set_member(COMMENTED.encode(), "s", "c", 3).decode()
    assert added == COMMENTED.replace("// b, ü\n", '// b, ü\n    "c": 3\n')
    assert plain_json(added.encode())
    assert remove_member(added.encode(), "s", "c").decode().replace(" // b, ü", ", // b, ü") == COMMENTED
    assert remove_member(COMMENTED.encode(), "s", "a").decode() == COMMENTED.replace('"a": 1, // a\n    ', "")
    last = remove_member(COMMENTED.encode(), "s", "b").decode()
    assert "// a\n    /* the second */, // b, ü\n" in last
    assert json.loads(plain_json(last.encode())) == {"s": {"a": 1}}
    no_comma = COMMENTED.replace("2, // b, ü\n  },", "2 // b\n  }")
    assert '"b": 2, // b\n    "c": 3\n  }' in set_member(no_comma.encode(), "s", "c", 3).decode()


def test_a_byte_order_mark_stays():
    assert set_member(b'\xef\xbb\xbf{"s": {}}', "s", "n", 1) == b'\xef\xbb\xbf{"s": {"n": 1}}'
