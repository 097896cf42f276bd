"""The elements of a page, which has to be well-formed."""

from __future__ import annotations

import json
from html.parser import HTMLParser

VOID = {"meta", "input", "br", "link"}


class Page(HTMLParser):
    """Every element must be closed by its own end tag, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.content: dict[int, str] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, self.getpos()

    def handle_data(self, data):
        at = len(self.elements) - 1
        self.content[at] = self.content.get(at, "") + data

    def of(self, tag, **wanted):
        """Attributes and text of the elements of a kind."""
        return [
            (attributes, self.content.get(at, ""))
            for at, (name, attributes) in enumerate(self.elements)
            if name == tag and all(attributes.get(key.rstrip("_")) == value for key, value in wanted.items())
        ]

    def tables(self, *labels):
        """The texts of the cells of each table with such a label, row by row, without the head."""
        found = {label: [] for label in labels}
        rows = None
        for at, (tag, attributes) in enumerate(self.elements):
            if tag == "div" and attributes.get("class") == "scroll":
                rows = found.get(attributes["aria-label"])
            elif tag == "section":
                rows = None
            elif rows is not None and tag == "tr":
                rows.append([])
            elif rows and tag in {"td", "th"} and attributes.get("scope") != "col":
                rows[-1].append(self.content.get(at, ""))
            elif rows and rows[-1]:
                rows[-1][-1] += self.content.get(at, "")
        return [[row for row in rows if row] for rows in found.values()]

    @property
    def data(self):
        ((_, text),) = self.of("script", id="data")
        return json.loads(text)
