"""The lines that a resumed session shows the user, and which provider and model it asks."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agent.sessions.choice import OpenedSession, SessionChoice
from agent.sessions.file import SessionFile
from agent.sessions.load import SessionError, load
from agent.sessions.rows import Meta, meta_line
from tests.support.session_files import ID, short_session, write_session

KNOWN = ("anthropic", "ollama")


@pytest.fixture
def opened(tmp_path):
    def make(**meta):
        path = write_session(tmp_path, "/one", [meta_line(Meta(id=ID, **meta))])
        return OpenedSession(SessionFile(path, Meta()), load(path))

    return make


@pytest.mark.parametrize(
    ("meta", "flag", "expected"),
    [
        ({"provider": "anthropic", "model": "m"}, None, ("anthropic", "m")),
        ({"provider": "ollama", "model": "m"}, None, ("ollama", "m")),
        ({"provider": "ollama", "model": "m"}, "ollama", ("ollama", "m")),
        ({"provider": "", "model": "m"}, None, ("anthropic", "m")),
        ({"provider": "replay", "model": "m"}, None, ("anthropic", "m")),
        ({"provider": "none", "model": "m"}, "anthropic", ("anthropic", "m")),
        ({"provider": "ollama", "model": ""}, None, (None, None)),
        ({"provider": "openai", "model": ""}, "ollama", ("ollama", None)),
    ],
)
def test_the_model_of_the_session_goes_on_silently(opened, meta, flag, expected):
    assert opened(**meta).model_for(flag, KNOWN) == (*expected, "")


@pytest.mark.parametrize(
    ("meta", "flag", "said"),
    [
        ({"provider": "openai", "model": "gpt"}, None, "gpt of openai, which is unknown here;"),
        ({"provider": "openai", "model": "gpt"}, "anthropic", "gpt of openai, which is unknown here;"),
        ({"provider": "anthropic", "model": "m"}, "ollama", "m of anthropic, which ollama has not;"),
        ({"provider": "replay", "model": "m"}, "ollama", "m of replay, which ollama has not;"),
    ],
)
def test_the_flag_wins_and_the_user_is_told_what_is_not_asked(opened, meta, flag, said):
    provider, model, remark = opened(**meta).model_for(flag, KNOWN)
    assert (provider, model) == (flag, None)
    assert said in remark
    assert "--model" in remark


@pytest.mark.parametrize(
    ("provider", "found"),
    [("ollama", "ollama"), ("anthropic", "anthropic"), ("", "anthropic"), ("replay", "anthropic"), ("openai", None)],
)
def test_another_model_is_asked_of_the_provider_of_the_session(opened, provider, found):
    assert opened(provider=provider, model="m").provider(KNOWN) == found
    assert opened(provider=provider).provider(KNOWN) is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"continue_last": True, "session": "x"}, "exclude each other"),
        ({"resume": "abcd", "session": "x"}, "exclude each other"),
        ({"resume": ""}, "--resume needs an ID"),
        ({"fork": True}, "--fork copies a session"),
        ({"continue_last": True, "keep_session": False}, "--no-session excludes"),
    ],
)
def test_flags_that_exclude_each_other_are_refused_before_a_file_is_read(given, said):
    nothing = SessionChoice(continue_last=False, resume=None, session=None, fork=False, keep_session=True)
    assert not nothing.check()
    with pytest.raises(SessionError, match=said):
        replace(nothing, **given).check()


def test_another_folder_is_said(tmp_path):
    path = short_session(tmp_path, "/one", "a", ID)
    opened = OpenedSession(SessionFile(path, Meta()), load(path))
    assert opened.remarks("/one") == ()
    assert opened.remarks("/two") == ("this session's folder was /one; it continues in /two",)
