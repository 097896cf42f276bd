"""Shared by servers with a fault: the name of the fault, and a tool `echo`."""

from __future__ import annotations

from server import Server, text, tool


def echo(server, call, args):
    return text(args.get("text", ""))


class Faulty(Server):
    """Its name is that of its fault."""

    def __init__(self, *_args):
        super().__init__()
        self.add(tool(echo, "Returns its text.", {"text": "string"}))

    def add(self, *tools):
        for one in tools:
            self.tools[one.definition["name"]] = one


def fault(table, name):
    """Puts a class into a table of faults, under this name."""

    def named(cls):
        cls.name = name
        table[name] = cls
        return cls

    return named
