"""Variables in an entry are expanded once; one that is not set is an error that names it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.settings.mcp_server import ExpansionError, expand, variables_in

ENVIRON = {"A": "1", "EMPTY": "", "NESTED": "${A}", "workspaceFolder": "wrong"}


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("${A}", "1"),
        ("x${A}${A}y", "x11y"),
        ("${env:A}", "1"),
        ("${A:-2}", "1"),
        ("${B:-2}", "2"),
        ("${env:B:-2}", "2"),
        ("${B:-}", ""),
        ("${B:-http://x:1/-}", "http://x:1/-"),
        ("${EMPTY:-2}", ""),
        ("${NESTED}", "${A}"),
        ("${workspaceFolder}/x", "/w/x"),
        ("$A ${} ${A##*/} $(A) ${1}", "$A ${} ${A##*/} $(A) ${1}"),
        ("${A", "${A"),
    ],
)
def test_what_is_expanded(text: str, expanded: str) -> None:
    assert expand(text, ENVIRON, "/w") == expanded


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("${B}", "the variable B is not set"),
        ("${env:B}", "the variable B is not set"),
        ("${input:token}", "${input:token} is something that only an editor can fill in"),
        ("${A}${config:x.y}", "${config:x.y}"),
    ],
)
def test_what_fails(text: str, said: str) -> None:
    with pytest.raises(ExpansionError) as caught:
        expand(text, ENVIRON, "/w")
    assert said in str(caught.value)


@pytest.mark.parametrize("part", ["${A:-", "${", "${A:", "${A", "${env:A:-"])
def test_a_text_of_nothing_but_beginnings_takes_no_time(part: str) -> None:
    text = part * ((1 << 20) // len(part))
    assert expand(text, ENVIRON, "/w") == text
    assert list(variables_in(text)) == []


def test_names_of_variables() -> None:
    assert list(variables_in("${A} ${env:B:-x} ${workspaceFolder} ${C##x} ${input:d}")) == ["A", "B"]


@given(st.text(), st.dictionaries(st.text("AB", min_size=1), st.text()))
def test_any_text_is_expanded_or_refused(text: str, environ: dict[str, str]) -> None:
    try:
        expanded = expand(text, environ, "/w")
    except ExpansionError:
        return
    if "${" not in text:
        assert expanded == text


@given(st.text())
def test_values_are_not_looked_into(value: str) -> None:
    assert expand("<${A}>", {"A": value}, "/w") == f"<{value}>"
