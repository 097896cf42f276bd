"""The diff that an edit answers with."""

from hypothesis import given
from hypothesis import strategies as st

from agent.tools.files.diff import MAX_LINE_BYTES, render


def replaced(old: str, *changes: tuple[str, str]) -> str:
    """The diff for replacing each (unique) first text by the second."""
    data = old.encode()
    spots = sorted((data.index(a.encode()), data.index(a.encode()) + len(a.encode()), b.encode()) for a, b in changes)
    return render(data, spots)


def numbered(count: int) -> str:
    return "".join(f"<{n}>\n" for n in range(count))


def test_three_lines_of_context_and_dots_between_distant_changes() -> None:
    diff = replaced(numbered(30), ("<5>", "five"), ("<20>", "twenty"))
    first = " <2>\n <3>\n <4>\n-<5>\n+five\n <6>\n <7>\n <8>\n"
    second = " <17>\n <18>\n <19>\n-<20>\n+twenty\n <21>\n <22>\n <23>\n"
    assert diff == first + "...\n" + second


def test_changes_whose_contexts_meet_are_shown_together() -> None:
    assert "..." not in replaced(numbered(30), ("<5>", "a"), ("<12>", "b"))
    assert "..." in replaced(numbered(30), ("<5>", "a"), ("<13>", "b"))


def test_context_ends_at_the_ends_of_the_file() -> None:
    assert replaced("a\nb\n", ("a", "x")) == "-a\n+x\n b\n"
    assert replaced("a\nb\n", ("b", "x")) == " a\n-b\n+x\n"


def test_quoted_lines_inside_an_edit_are_context() -> None:
    old, new = numbered(20), numbered(20).replace("<3>", "x").replace("<16>", "y")
    diff = render(old.encode(), [(0, len(old), new.encode())])
    assert diff.count("-") == diff.count("+") == 2
    assert diff.count("...") == 1


def test_two_changes_in_one_line_are_one() -> None:
    assert replaced("one two\n", ("one", "1"), ("two", "2")) == "-one two\n+1 2\n"


def test_removed_and_inserted_lines() -> None:
    assert replaced("a\nb\nc\n", ("b\n", "")) == " a\n-b\n c\n"
    assert render(b"a\nc\n", [(2, 2, b"b\n")]) == " a\n+b\n c\n"
    assert render(b"a\n", [(2, 2, b"b\n")]) == " a\n+b\n"


def test_joined_lines() -> None:
    assert replaced("a\nb\nc\n", ("\nb", "b")) == "-a\n-b\n+ab\n c\n"


def test_a_missing_final_line_end_is_said() -> None:
    assert render(b"a", [(1, 1, b"\n")]) == "-a\n\\ No newline at end of file\n+a\n"


def test_a_long_line_is_cut() -> None:
    diff = replaced("x" * 5000 + "!\n", ("!", "?"))
    assert diff.split("\n")[0] == "-" + "x" * MAX_LINE_BYTES + " ... [3001 more bytes]"


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n"]), max_size=25)


@given(LINES, LINES, LINES, LINES, st.text("ab\n", max_size=6), st.text("ab\n", max_size=6))
def test_the_diff_tells_the_new_text(
    head: list[str], old: list[str], new: list[str], middle: list[str], old_part: str, new_part: str
) -> None:
    """Removing the `-` lines of each hunk gives lines of the new text, removing the `+` lines those of the old."""
    before = "".join(head) + "".join(old) + "".join(middle) + old_part + "end\n"
    first = len("".join(head))
    second = first + len("".join(old) + "".join(middle))
    spots = [
        (first, first + len("".join(old)), "".join(new).encode()),
        (second, second + len(old_part), new_part.encode()),
    ]
    after = "".join(head) + "".join(new) + "".join(middle) + new_part + "end\n"
    diff = render(before.encode(), spots)
    assert (diff == "") == (before == after)
    old_side, new_side = before, after
    for hunk in diff.split("...\n"):
        lines = hunk.splitlines(keepends=True)
        shown_old = "".join(line[1:] for line in lines if line[0] in " -")
        shown_new = "".join(line[1:] for line in lines if line[0] in " +")
        assert shown_old in old_side
        assert shown_new in new_side
        # The lines before a hunk are the same on both sides, so hunks are found in order.
        skipped = next(
            n
            for n in range(len(old_side) + 1)
            if old_side.startswith(shown_old, n) and new_side.startswith(shown_new, n) and old_side[:n] == new_side[:n]
        )
        old_side, new_side = old_side[skipped + len(shown_old) :], new_side[skipped + len(shown_new) :]


def test_a_block_with_too_many_equal_lines_counts_as_changed_whole() -> None:
    old, new = "x\n" + "}\n" * 200 + "y\n", "y\n" + "}\n" * 199 + "x\n"
    diff = render(old.encode(), [(0, len(old), new.encode())])
    removed, added = ("".join(sign + line + "\n" for line in text.split()) for sign, text in (("-", old), ("+", new)))
    assert diff == removed + added
