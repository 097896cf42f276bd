"""Markdown of a message stays within it."""

from __future__ import annotations

from html.parser import HTMLParser

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agent.sessions.export.markdown import PARSED_CHARACTERS, contain_markdown, export_markdown, fenced_block
from agent.sessions.reading.history import read_history
from agent.sessions.rows import Meta, message_line, meta_line
from agent.transcript import Message, Text, ToolCall, ToolResult
from tests.support.session_files import ID, TIME, write_session


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain *text*", "plain *text*"),
        ("a <b>c</b> `<d>` <https://x.y> 1 < 2", "a &lt;b>c&lt;/b> `<d>` <https://x.y> 1 &lt; 2"),
        ("```html\n<b>\n```\n<i>", "```html\n<b>\n```\n&lt;i>"),
        ("\\<img> \\\\<img> &lt;b>", "&lt;img> \\\\&lt;img> &amp;lt;b>"),
        ("\\`<b>`", "\\`&lt;b>`"),
        ("a `b\n<i>` <u>", "a `b\n<i>` &lt;u>"),
        ("`a\nb` <img> `c`", "`a\nb` &lt;img> `c`"),
        ("`a\n\nb` <img> `c`", "`a\n\nb` &lt;img> `c`"),
        ("[x](a`b) `c` <img src=x> ` d", "[x](a`b) `c` &lt;img src=x> ` d"),
        ("`` a `b` `<i>`", "`` a `b` `&lt;i>`"),
        ("|a|b|\n|-|-|\n|`x | <img> `|", "|a|b|\n|-|-|\n|`x | &lt;img> `|"),
        ("```\nopen", "```\nopen\n```"),
        ("~~~~ py 1\nopen\n~~~", "```py 1\nopen\n~~~\n```"),
        ("```", "```\n\n```"),
        ("```\n", "```\n\n```\n"),
        ("```\nx\n    ```", "````\nx\n    ```\n````"),
        ("```\nx\n   ``` ", "```\nx\n```"),
        ("~~~|`\n|-|-|\n<img>", "```\n|-|-|\n<img>\n```"),
        ("- ~~~|`\n  |-|-|\n  <img>", "- ~~~`\n  |-|-|\n  <img>"),
        ("- ```\n  <b>\n  ```\n\n<i>", "- ```\n  <b>\n  ```\n\n&lt;i>"),
        ("1. a\n   ```\n   open", "1. a\n   ```\n   open"),
        ("```\r<script>", "```\n<script>\n```"),
        ("<!-- open", "&lt;!-- open"),
        ("    <indented>", "```\n<indented>\n```"),
        ("[^1]: a\n\n    <img>\n\nb", "[^1]: a\n\n```\n<img>\n```\n\nb"),
    ],
)
def test_fences_are_closed_and_tags_are_shown(text, shown):
    assert contain_markdown(text) == shown


SIGNS = [
    *("`", "``", "```", "~~~", "\\", "\n", "\n\n", "    ", " ", "- ", "> ", "1. ", "|", "\n|-|-|\n", "[^1]: ", "[x]: "),
    *("\t", "<img src=x>", "<img\nsrc=x>", "</b>", "<!--", "-->", "<?", "<script>", "<", ">", "&", "&lt;"),
    *("<https://x`y>", "https://x", "www.x.y", "[a](", "![", "](", ")", '"', "'", "(", "a", "*", "_", "~~", "#", "="),
    *("$", "\\`", "\\<", "$$"),
]


@given(st.lists(st.sampled_from(SIGNS), max_size=16).map("".join))
@example("\\<img src=x>")
@example("\\`<img src=x>`")
@example("`a\nb` <img src=x> `c`")
@example("[x](a`b) `c` <img src=x> ` d")
@example("|a|b|\n|-|-|\n|`x | <img src=x> `|")
@example("`` a `b` `<img src=x>`")
@example("see https://x`<img src=x>`")
@example("https://x</b>`<img src=x>`")
@example("~~~|`\n|-|-|\n<img src=x>")
@example("- ~~~|`\n  |-|-|\n  <img src=x>")
@example("[^1]: a\n\n    <img src=x>\n\na[^1]")
def test_no_reader_of_markdown_that_allows_html_finds_any(text):
    """Neither markdown-it nor GitHub's own reader, with its extensions and without."""
    document = f"# T\n\n{contain_markdown(text)}\n\n## After\n"
    pages = [
        MarkdownIt("commonmark", {"html": True}).render(document),
        MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(document),
        cmarkgfm.markdown_to_html(document, Options.CMARK_OPT_UNSAFE),
        cmarkgfm.markdown_to_html_with_extensions(
            document,
            Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES,
            extensions=["table", "strikethrough", "autolink", "tasklist"],
        ),
    ]
    for page in pages:
        found = Elements()
        found.feed(page)
        found.close()
        assert not found.others, (found.others, page)
        assert page.endswith("<h2>After</h2>\n") or "footnotes" in page


class Elements(HTMLParser):
    """Notes what Markdown itself does not make: these elements, comments and declarations."""

    def __init__(self) -> None:
        super().__init__()
        self.others: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag in ("script", "b") or ("src", "x") in attrs:
            self.others.append(tag)

    def handle_comment(self, data):
        self.others.append(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


@pytest.mark.parametrize("text", ["", "a", "```", "a ```` b\n", "`" * 50])
def test_a_fence_is_longer_than_any_in_the_text(text):
    first, *inner, last = fenced_block(text, "text").split("\n")
    assert first == last + "text"
    assert last not in "\n".join(inner)


def test_names_of_tools_and_arguments_stay_on_their_line(tmp_path):
    name = "x\n---\n\n- a"
    call = Message("assistant", (ToolCall("t", name, b'{"a\\n---":"v"}'),), TIME)
    result = Message("tool", (ToolResult("t", (Text("r"),)),), TIME)
    path = write_session(tmp_path, "/p", [meta_line(Meta(id=ID)), message_line(call), message_line(result)])
    document = export_markdown(read_history(path))
    for line in ("**Call of x --- - a**", "a ---:", "**Result of x --- - a**"):
        assert f"\n\n{line}\n\n" in document


def test_a_text_that_is_too_long_to_be_parsed_is_code():
    assert contain_markdown("<b>" * PARSED_CHARACTERS).startswith("```\n<b>")
