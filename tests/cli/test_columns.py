"""A table fits its width: columns give way in their order, and the others stay whole."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cli.columns import align_columns, fit_columns

ROWS = [("NAME", "CPU", "NOTE", "FOLDER"), ("a-long-name", "12", "fine", "/somewhere/else"), ("b", "7", "", "/x")]


def test_a_table_that_fits_is_as_it_was():
    assert (
        fit_columns(ROWS, None, (3, 2))
        == fit_columns(ROWS, 80, (3, 2))
        == [line.rstrip() for line in align_columns(ROWS)]
    )


def test_columns_give_way_in_their_order_and_numbers_stay_right():
    assert fit_columns(ROWS, 22, (3, 2), right=(1,)) == [
        "NAME         CPU  NOTE",
        "a-long-name   12  fine",
        "b              7",
    ]
    assert fit_columns(ROWS, 21, (3, 2), right=(1,)) == ["NAME         CPU", "a-long-name   12", "b              7"]


def test_what_may_not_give_way_is_never_cut():
    assert fit_columns(ROWS, 5, (3, 2, 1)) == ["NAME", "a-long-name", "b"]


@given(
    st.integers(1, 5).flatmap(
        lambda columns: st.lists(
            st.lists(st.text(st.characters(categories=["L", "N"]), max_size=9), min_size=columns, max_size=columns),
            min_size=1,
            max_size=4,
        )
    ),
    st.integers(1, 60),
)
def test_lines_fit_or_only_the_first_column_is_left(rows, width):
    lines = fit_columns(rows, width, range(len(rows[0]) - 1, 0, -1))
    if max(map(len, lines)) > width:
        assert lines == [row[0] for row in rows]
    for row, line in zip(rows, lines, strict=True):
        assert line.startswith(row[0])
