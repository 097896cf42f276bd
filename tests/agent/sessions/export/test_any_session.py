"""Any session can be exported, and no text of it becomes a part of the document that does something."""

from __future__ import annotations

import tempfile
from html.parser import HTMLParser
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agent.sessions.export.html import export_html
from agent.sessions.export.json import export_json
from agent.sessions.export.markdown import contain_markdown, export_markdown
from agent.sessions.reading.history import read_history
from agent.sessions.rows import Meta, compaction_line, message_line, meta_line
from agent.transcript import Image, Message, Text, Thinking, ToolCall, ToolResult
from tests.support.session_files import HOSTILE, PNG, TABLE, TIME
from wire.rpc.sessions import Export

PIECES = st.sampled_from(
    [
        *("<script>", "</script>", "<img src=x onerror=a>", '" onload="x', "'", "&", "<!--", "<?", "]]>", "<style>"),
        *("```", "~~~", "````\n", "\n", "    ", "- ", "> ", "1. ", "|", "---\n", "# ", "a", " ", "<https://x.y>"),
        *("[a](javascript:a)", "[b](https://example.org)", "![c](data:x)", "[x]: http://x\n"),
        *("\x1b[2J", "\u202e", "\x00", "\r", "\u2028", TABLE, HOSTILE),
    ]
)
TEXTS = st.lists(PIECES, max_size=8).map("".join) | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
KINDS = st.sampled_from(["image/png", "image/svg+xml", '"><script>'])
IMAGES = st.builds(Image, KINDS, st.sampled_from([PNG, "", '"x', "AA="]))
ARGS = st.sampled_from([b"{}", b"{bad", b'{"a<b>": "</pre><script>", "n": [1]}', b'"x"', b"null"])
IDS = st.sampled_from(["t1", "t2", '"><b>'])
PARTS = st.builds(Text, TEXTS) | IMAGES
BLOCKS = st.one_of(
    PARTS,
    st.builds(Thinking, TEXTS, st.just("s")),
    st.builds(ToolCall, IDS, TEXTS.map(lambda text: text or "t"), ARGS),
    st.builds(ToolResult, IDS, st.lists(PARTS, max_size=3).map(tuple), st.booleans()),
)
ROLES = st.sampled_from(["user", "assistant", "tool"])
MESSAGES = st.builds(Message, ROLES, st.lists(BLOCKS, min_size=1, max_size=4).map(tuple), TEXTS | st.just(TIME))
ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "main", "header", "footer", "article", "details", "summary"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "dl", "div", "dt", "dd", "bdi", "p", "span", "time", "a", "b", "code", "em"),
    *("strong", "pre", "figure", "img", "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td"),
    *("hr", "br"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "title", "dir", "alt", "src", "start"),
}


class Checked(HTMLParser):
    """Refuses elements and attributes that do something."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.styles = 0

    def handle_starttag(self, tag, attrs):
        assert tag in ELEMENTS, tag
        self.styles += tag == "style"
        for name, value in attrs:
            assert name in ATTRIBUTES, (tag, name)
            if name == "href":
                assert value.startswith(("#m", "http://", "https://", "mailto:")), value
            if name == "src":
                assert value.startswith("data:image/png;base64,"), value

    def handle_comment(self, data):
        raise AssertionError(data)

    def unknown_decl(self, data):
        raise AssertionError(data)


@given(st.lists(MESSAGES, max_size=5), TEXTS, st.lists(MESSAGES, max_size=2))
def test_any_session(messages, title, compacted):
    rows = [meta_line(Meta(id="x", title=title)), *map(message_line, messages), compaction_line(compacted)]
    with tempfile.TemporaryDirectory() as made:
        path = Path(made, "s.jsonl")
        path.write_bytes(b"".join(rows))
        history = read_history(path)
    page = export_html(history)
    checked = Checked()
    checked.feed(page)
    checked.close()
    assert checked.styles == 1
    assert not set(page) & {"\x1b", "\u202e", "\x00", "\r"}
    document = export_markdown(history)
    assert not set(document) & {"\x1b", "\u202e", "\x00", "\r"}
    tokens = MarkdownIt("commonmark").parse(document)
    assert not any(token.type == "html_block" for token in tokens)
    opened = [index for index, token in enumerate(tokens) if token.type == "heading_open" and token.level == 0]
    headings = [tokens[index + 1].content for index in opened]
    for number in range(1, len(history.messages) + 1):
        assert any(heading.startswith(f"{number}. ") for heading in headings), (number, document)
    found = msgspec.json.decode(export_json(history), type=Export)
    assert len(found.messages) == len(history.messages)


@given(TEXTS)
def test_text_stays_within_its_message(text):
    tokens = MarkdownIt("commonmark").parse(f"{contain_markdown(text)}\n\n## After\n")
    assert [token.content for token in tokens[-3:]] == ["", "After", ""]
    assert (tokens[-3].type, tokens[-3].level) == ("heading_open", 0)
