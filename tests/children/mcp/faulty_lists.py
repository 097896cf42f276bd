"""Faults of the lists of tools: their pages, their length, what is in them, and how often they change."""

from __future__ import annotations

from faults import Faulty, echo, fault
from server import LATER, McpError, tool

FAULTS = {}


class Many(Faulty):
    """All tools but `echo` do what `echo` does."""

    def call(self, request_id, params):
        return super().call(request_id, {**params, "name": "echo"})


def numbered(number, description="One of many."):
    return tool(echo, description, {"text": "string"}, name=f"tool-{number}").definition


@fault(FAULTS, "same-cursor")
class SameCursor(Faulty):
    """Ignores cursors: each page is the first, with the same cursor for the next."""

    def list_tools(self, cursor):
        return {**super().list_tools(None), "nextCursor": "again"}


@fault(FAULTS, "endless-cursors")
class EndlessCursors(Many):
    """Each page has one more tool and another cursor."""

    def list_tools(self, cursor):
        number = int(cursor or 0)
        page = [self.tools["echo"].definition] if cursor is None else [numbered(number)]
        return {"tools": page, "nextCursor": str(number + 1)}


@fault(FAULTS, "endless-empty-pages")
class EndlessEmptyPages(Faulty):
    """Each page but the first is empty and names another cursor."""

    def list_tools(self, cursor):
        page = [] if cursor else [self.tools["echo"].definition]
        return {"tools": page, "nextCursor": f"{cursor}+"}


@fault(FAULTS, "fails-on-second-page")
class FailsOnSecondPage(Faulty):
    """The second page is an error."""

    def list_tools(self, cursor):
        if cursor is not None:
            raise McpError(-32603, "no second page")
        return {**super().list_tools(None), "nextCursor": "2"}


@fault(FAULTS, "many-tools")
class ManyTools(Many):
    """Ten thousand tools on one page."""

    def list_tools(self, cursor):
        return {"tools": [self.tools["echo"].definition, *(numbered(number) for number in range(10_000))]}


@fault(FAULTS, "wordy-tools")
class WordyTools(Many):
    """Forty tools with 8 kB of description each: about 80,000 tokens."""

    def list_tools(self, cursor):
        words = "All about this tool. " * 400
        return {"tools": [self.tools["echo"].definition, *(numbered(number, words) for number in range(40))]}


@fault(FAULTS, "list-is-no-list")
class ListIsNoList(Faulty):
    """`tools` is null."""

    def list_tools(self, cursor):
        return {"tools": None}


@fault(FAULTS, "list-fails")
class ListFails(Faulty):
    """`tools/list` is an error."""

    def list_tools(self, cursor):
        raise McpError(-32603, "cannot list")


@fault(FAULTS, "never-lists")
class NeverLists(Faulty):
    """`tools/list` is never answered."""

    def list_tools(self, cursor):
        return LATER


@fault(FAULTS, "changes-for-ever")
class ChangesForEver(Faulty):
    """Says after each list that the list has changed. It never does."""

    changes = -1


@fault(FAULTS, "changes-at-start")
class ChangesAtStart(Faulty):
    """Says four times at its start that the list has changed."""

    changes = 4


@fault(FAULTS, "renames-for-ever")
class RenamesForEver(Many):
    """Every list has other tools than the last, and the server says so."""

    changes = -1
    lists = 0

    def list_tools(self, cursor):
        self.lists += 1
        return {"tools": [self.tools["echo"].definition, numbered(self.lists)]}


@fault(FAULTS, "floods")
class Floods(Faulty):
    """Sends notifications without a pause once the client is ready; reads between them."""

    def on_client_ready(self):
        for number in range(200):
            self.notify("notifications/message", level="debug", data=f"message {number} of many")
            self.notify("notifications/resources/list_changed")
            self.notify("notifications/progress", progressToken=10**9, progress=number)
        self.after(0, self.on_client_ready)


@fault(FAULTS, "floods-deaf")
class FloodsDeaf(Floods):
    """The same, and no longer reads once it has told its tools."""

    def on_answered(self, method):
        while method == "tools/list":
            self.notify("notifications/message", level="debug", data="one of many")


def strange_tools():
    """Each of these would cost a run all its tools, or has members of other types than the protocol says."""
    empty = {"type": "object"}
    either = {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    old = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "type": "object",
        "properties": {
            "pair": {"type": "array", "items": [{"type": "string"}, {"type": "number"}]},
            "above": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
        },
    }
    keys = {"type": "object", "properties": {"with space": {"type": "string"}}}
    return [
        None,
        "echo",
        {},
        {"name": 7, "inputSchema": empty},
        {"name": "", "inputSchema": empty},
        {"name": "no-schema"},
        {"name": "null-schema", "inputSchema": None},
        {"name": "schema-is-a-list", "inputSchema": []},
        {"name": "any-of", "description": "anyOf at the top.", "inputSchema": either},
        {"name": "bad-keys", "description": "A key with a space.", "inputSchema": keys},
        {"name": "task-only", "inputSchema": empty, "execution": {"taskSupport": "required"}},
        {"name": "draft-04", "description": "An old schema.", "inputSchema": old},
        {"name": "dots.and/slashes", "inputSchema": empty},
        {"name": "n" * 128, "inputSchema": empty},
        {"name": "equal", "description": "The first.", "inputSchema": empty},
        {"name": "equal", "description": "The second.", "inputSchema": empty},
        {"name": "null-description", "description": None, "inputSchema": empty},
        {"name": "odd-annotations", "inputSchema": empty, "annotations": {"readOnlyHint": "yes", "x": [1]}},
        {"name": "annotations-are-a-list", "inputSchema": empty, "annotations": [1]},
    ]


@fault(FAULTS, "strange-tools")
class StrangeTools(Faulty):
    """A tool for everything that can be wrong with one, and `echo`."""

    def list_tools(self, cursor):
        return {"tools": [*strange_tools(), self.tools["echo"].definition]}

    def call(self, request_id, params):
        return {"content": [{"type": "text", "text": params["name"]}]}
