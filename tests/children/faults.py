"""Shared by the children with a fault: their table, and how the sound part of them behaves."""

import signal
import sys

FAULTS = {}
"""The children of all modules by their name."""
ALL_POINTS = ("tool_call", "turn_start", "assistant_message")


def fault(function):
    FAULTS[function.__name__] = function
    return function


def echo(voice, before_answer=lambda: None):
    """Answers each call with its text, and allows what it is asked."""
    for request in voice.requests():
        before_answer()
        if request.tool is None:
            voice.allow(request)
        else:
            voice.answer(request, request.args.get("text", ""))


def echo_tool(voice, *tools):
    voice.greet(*(tools or ("echo",)))
    echo(voice)


def complain(voice, words, status):
    print(f"{voice.name}: {words}", file=sys.stderr)
    return status


def pause():
    while True:
        signal.pause()
