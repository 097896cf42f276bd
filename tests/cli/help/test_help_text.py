"""How a docstring becomes paragraphs, tables, examples and exit statuses."""

from __future__ import annotations

import inspect

from cli.help.help_text import HelpTable, parse


def test_paragraphs_are_one_line_each_and_the_first_sentence_is_the_summary():
    text = parse("Do a thing. Slowly,\nand well.\n\nMore of it\n  is here.\n")
    assert text.body == ("Do a thing. Slowly, and well.", "More of it is here.")
    assert text.summary == "Do a thing"


def test_the_dot_of_a_file_name_does_not_end_the_summary():
    assert parse("Read extension.json of an extension! And more.").summary == "Read extension.json of an extension"


def test_examples_have_a_line_each_with_what_they_are_for():
    text = parse(
        inspect.cleandoc("""Do it.

        Examples:
            zot demo                  a run
            zot x "two  words" | jq   piped
            zot ps
        """)
    )
    assert text.examples.rows[0] == ("zot demo", "a run")
    assert text.examples.rows[2] == ("zot ps", "")
    assert text.body == ("Do it.",)


def test_a_sentence_of_exit_statuses_is_a_row_for_each_number():
    text = parse("Do it.\n\nExit status: 0, also if there is nothing; 1 failed, or full; 2 usage, 130 interrupted.")
    assert text.exit_status.rows == (
        ("0", "also if there is nothing"),
        ("1", "failed, or full"),
        ("2", "usage"),
        ("130", "interrupted"),
    )
    assert parse("Exit status: 0, 1 failed.").exit_status.rows == (("0", "done"), ("1", "failed"))


def test_other_tables_stay_in_the_text():
    text = parse("Talk to it.\n\nAt the prompt:\n    ping        is it there\n    tool NAME   call it\n\nThe end.")
    table = HelpTable("At the prompt", (("ping", "is it there"), ("tool NAME", "call it")))
    assert text.body == ("Talk to it.", table, "The end.")


def test_an_empty_text_has_no_parts():
    assert (parse("").body, parse("").summary) == ((), "")
