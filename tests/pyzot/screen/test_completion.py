"""Completion while typing. A path that is completed is read as the image that it names."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from pyzot.screen.commands import images_in
from pyzot.screen.terminal.completion import InputCompleter

COMMANDS = [("/help", "Show it."), ("/hello", "[e]"), ("/deploy.prod", ""), ("/grüße", "")]


def completer_in(folder):
    return InputCompleter(lambda: COMMANDS, lambda command: [("one", command), ("Only", "")], str(folder))


def completed(before, folder="/nowhere", after=""):
    """The texts of the whole input with each completion."""
    document = Document(before + after, len(before))
    found = completer_in(folder).get_completions(document, CompleteEvent())
    return [before[: len(before) + each.start_position] + each.text + after for each in found]


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("/", ["/help", "/hello", "/deploy.prod", "/grüße"]),
        ("/HEL", ["/help", "/hello"]),
        ("/deploy.", ["/deploy.prod"]),
        ("/grü", ["/grüße"]),
        ("/help ", ["/help one", "/help Only"]),
        ("/deploy.prod o", ["/deploy.prod one", "/deploy.prod Only"]),
        ("/help one ", []),
        ("go /hel", []),
        ("/usr/b", []),
        ("hello", []),
        ("a@b", []),
        ("", []),
    ],
)
def test_commands_and_arguments(before, found):
    assert completed(before) == found


def test_descriptions_are_shown():
    found = list(completer_in("/").get_completions(Document("/help o"), CompleteEvent()))
    assert [each.display_meta_text for each in found] == ["/help", ""]


def test_paths(tmp_path):
    (tmp_path / "my folder").mkdir()
    for name in ("a.png", "my shot.png", "my folder/in it.png", 'a"b.png', "a\nb.png"):
        (tmp_path / name).write_bytes(b"x")
    assert completed("see @", tmp_path) == ["see @a.png", 'see @"my folder/', 'see @"my shot.png"']
    assert completed("see @my", tmp_path) == ['see @"my folder/', 'see @"my shot.png"']
    assert completed('see @"', tmp_path) == ['see @"a.png"', 'see @"my folder/', 'see @"my shot.png"']
    assert completed('see @"my folder/', tmp_path) == ['see @"my folder/in it.png"']
    assert completed("/help @a", tmp_path) == ["/help @a.png"]
    assert completed("one\n@a", tmp_path, " more\ntwo") == ["one\n@a.png more\ntwo"]
    assert completed("@missing/", tmp_path) == completed("@a.png ", tmp_path) == []


@given(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=20), st.data())
@example("a b", None)
@example('a"b', None)
@example("\u00a0", None)
@example("~", None)
def test_a_completed_path_is_read_as_the_image_that_it_names(tmp_path_factory, stem, data):
    folder = tmp_path_factory.mktemp("images")
    image = folder / f"x{stem}.png"
    image.write_bytes(b"x")
    for begun in ("@", '@"', f"@{image.name[: data.draw(st.integers(0, 9))]}" if data is not None else "@x"):
        for text in completed(f"see {begun}", folder):
            assert images_in(f"{text} now", str(folder)) == [str(image)]
    if not set(stem) & {'"', "\n"}:
        assert completed("see @", folder)
