"""The page: bounded, complete as far as that goes, and a result stands with its call."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest

from agent.sessions.export import html_parts
from agent.sessions.export.html import export_html
from agent.sessions.reading.history import read_history
from agent.sessions.rows import Meta, message_line, meta_line
from agent.transcript import Image, Message, Text, ToolCall, ToolResult
from tests.support.session_files import CONVERSATION, PNG, TIME, say, write_session


@pytest.fixture
def page(tmp_path):
    def page(*messages):
        rows = [meta_line(Meta(id="x", cwd="/p")), *map(message_line, messages)]
        return export_html(read_history(write_session(tmp_path, "/p", rows)))

    return page


def test_only_its_own_style_is_allowed(page):
    text = page(say("hello"))
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'" in text
    assert "http" not in text.replace("http-equiv", "")


def test_a_result_stands_with_its_call_and_not_again(page):
    text = page(*CONVERSATION)
    assert text.count("fatal: no repository") == 1
    assert 'class="tool bad"' in text
    assert '<span id="m3"></span>' in text


def test_results_without_calls_and_calls_without_results_are_shown(page):
    call = Message("assistant", (ToolCall("t1", "read", b"{}"),), TIME)
    late = Message("tool", (ToolResult("t9", (Text("lost"),)), ToolResult("t1", ())), TIME)
    assert "no result" in page(call)
    assert "no result" not in page(call, late)
    text = page(late, call)
    assert "lost" in text
    assert "of a call that is not before it" in text
    assert "no result" in text


def test_a_long_text_is_cut_and_says_so(page, monkeypatch):
    monkeypatch.setattr(html_parts, "TEXT_CHARACTERS", 10)
    text = page(say("x" * 25))
    assert '<pre class="text" dir="auto">\nxxxxxxxxxx</pre>' in text
    assert "15 more characters are left out" in text


def test_a_long_answer_is_not_read_as_markdown(page, monkeypatch):
    monkeypatch.setattr(html_parts, "PARSED_CHARACTERS", 10)
    assert "**bold** text" in page(say("**bold** text", "assistant"))
    assert "<strong>bold</strong>" in page(say("**bold**", "assistant"))
    monkeypatch.setattr(html_parts, "ALL_PARSED_CHARACTERS", 15)
    text = page(say("**bold**", "assistant"), say("**thin**", "assistant"))
    assert "<strong>bold</strong>" in text
    assert "**thin**</pre>" in text


@pytest.mark.parametrize(
    ("image", "note"),
    [
        (Image("image/svg+xml", PNG), "not shown"),
        (Image("image/png", 'x" onerror="a'), "an image that cannot be read"),
        (Image("image/png", "A" * 4 * 1024 * 1024), "too large for this page"),
    ],
)
def test_an_image_that_is_unfit_is_a_line(page, image, note):
    text = page(Message("user", (image,), TIME))
    assert "<img" not in text
    assert note in text


def test_all_images_together_have_a_limit(page, monkeypatch):
    monkeypatch.setattr(html_parts, "IMAGES_BYTES", 150)
    text = page(Message("user", (Image("image/png", PNG),) * 3, TIME))
    assert text.count("<img") == 2
    assert text.count("too large for this page") == 1


def test_a_session_without_messages_is_a_page(page):
    assert "has no messages" in page()
