"""A sound server with a tool for each thing that a tool can do. argv: [--era legacy|modern|both] [--name NAME] …"""

from __future__ import annotations

import argparse
import os

from server import LATER, Definition, McpError, Server, text, tool

# A pixel, as PNG.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PICTURES = {
    "png": ("image/png", PIXEL),
    "lying": ("image/jpeg", PIXEL),
    "svg": ("image/svg+xml", "PHN2Zy8+"),
    "junk": ("image/png", "bm8gcGljdHVyZQ=="),
    "no base64": ("image/png", "***"),
}
POINT = {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]}


def echo(server, call, args):
    return text(args.get("text", ""))


def add(server, call, args):
    total = {"sum": args["a"] + args["b"]}
    return text(total, structuredContent=total)


def structured(server, call, args):
    return {"content": [], "structuredContent": {"answer": [1, 2, {"deep": None}]}}


def nothing(server, call, args):
    return {"content": []}


def fail(server, call, args):
    return text(args.get("text", "it failed"), isError=True)


def refuse(server, call, args):
    raise McpError(-32602, "the arguments do not fit", {"field": "x"})


def progress(server, call, args):
    """Reports `steps` times, `seconds` apart; then answers."""
    steps, seconds = args.get("steps", 3), args.get("seconds", 0)

    def step(number):
        if call not in server.open_calls:
            return
        if number > steps:
            server.finish(call, text(f"{steps} steps"))
        else:
            message = None if args.get("mute") else f"step {number}"
            server.progress(call, number, steps, message)
            server.after(seconds, lambda: step(number + 1))

    server.after(0, lambda: step(1))
    return LATER


def slow(server, call, args):
    """Answers after `seconds`, unless it is cancelled."""
    server.after(args.get("seconds", 3600), lambda: server.finish(call, text("slept")))
    return LATER


def cancelled(server, call, args):
    return text(server.cancelled)


def picture(server, call, args):
    mime, data = PICTURES[args.get("kind", "png")]
    return {"content": [{"type": "image", "data": data, "mimeType": mime}]}


def links(server, call, args):
    return {
        "content": [
            {"type": "resource_link", "uri": "file:///notes.txt", "name": "notes", "mimeType": "text/plain"},
            {"type": "resource", "resource": {"uri": "memo://1", "mimeType": "text/plain", "text": "a memo"}},
            {"type": "resource", "resource": {"uri": "memo://2", "mimeType": "application/zip", "blob": "UEsDBA=="}},
            {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
        ]
    }


def log(server, call, args):
    if not server.is_modern or server.log_level:
        server.notify("notifications/message", level=args.get("level", "notice"), logger="x", data=args.get("data"))
    return text("logged")


def ask(server, call, args):
    """Sends the client a request of this `method` and returns what it answered."""

    def on_answer(answer):
        server.finish(call, text({key: answer[key] for key in ("result", "error") if key in answer}))

    server.ask(args["method"], on_answer, **args.get("params", {}))
    return LATER


def rounds(server, call, args):
    """Takes `times` rounds until its result is complete. The modern era only."""
    done = int(server.open_calls[call].get("requestState", "0"))
    if done >= args.get("times", 3):
        return text(f"{done} rounds")
    return {"resultType": "input_required", "requestState": str(done + 1)}


def question(server, call, args):
    """Wants an answer of the user, and returns it. The modern era only."""
    if "inputResponses" in server.open_calls[call]:
        return text(server.open_calls[call]["inputResponses"])
    params = {
        "mode": "form",
        "message": "Which colour?",
        "requestedSchema": {"type": "object", "properties": {"colour": {"type": "string"}}},
    }
    wanted = {"colour": {"method": "elicitation/create", "params": params}}
    return {"resultType": "input_required", "inputRequests": wanted, "requestState": "1"}


def grow(server, call, args):
    """Adds a tool with this name and says so."""

    def grown(server, call, args):
        return text("grown")

    server.tools[args["name"]] = tool(grown, "Has grown.", name=args["name"])
    server.tell_changed()
    return text("added")


def shrink(server, call, args):
    del server.tools[args["name"]]
    server.tell_changed()
    return text("removed")


def pongs(server, call, args):
    return text(server.pongs)


def environment(server, call, args):
    return text(dict(os.environ))


def meta(server, call, args):
    return text(server.open_calls[call].get("_meta", {}))


TOOLS = (
    tool(echo, "Returns its text.", {"text": "string"}, annotations={"readOnlyHint": True, "title": "Echo"}),
    tool(add, "Adds two numbers.", {"a": "number", "b": "number"}, outputSchema=POINT),
    tool(structured, "Returns structured content alone."),
    tool(nothing, "Returns no content."),
    tool(fail, "Fails as tools do.", {"text": "string"}),
    tool(refuse, "Fails as requests do."),
    tool(progress, "Reports progress.", {"steps": "integer", "seconds": "number", "mute": "boolean"}),
    tool(slow, "Takes its time.", {"seconds": "number"}, annotations={"idempotentHint": True}),
    tool(cancelled, "Tells which calls were cancelled."),
    tool(picture, "Returns an image.", {"kind": "string"}),
    tool(links, "Returns all that is neither text nor image."),
    tool(log, "Logs.", {"level": "string", "data": "string"}),
    tool(ask, "Asks the client.", {"method": "string", "params": "object"}),
    tool(grow, "Adds a tool.", {"name": "string"}),
    tool(shrink, "Removes a tool.", {"name": "string"}),
    tool(pongs, "Counts the answered pings."),
    tool(environment, "Tells its environment."),
    tool(meta, "Returns the _meta of its call."),
)
MODERN_TOOLS = (
    tool(rounds, "Takes several rounds.", {"times": "integer"}),
    tool(question, "Asks the user."),
)


def greet(args):
    if "name" not in args:
        raise McpError(-32602, "greet: name is missing")
    words = f"Greet {args['name']}, {args.get('tone', 'plainly')}."
    return {"description": "A greeting", "messages": [{"role": "user", "content": {"type": "text", "text": words}}]}


def rules(args):
    said = (("user", "First rule."), ("assistant", "Understood."), ("user", "Second rule."))
    return {"messages": [{"role": role, "content": {"type": "text", "text": words}} for role, words in said]}


PROMPTS = (
    Definition(
        greet,
        name="greet",
        description="Greets somebody.",
        arguments=[{"name": "name", "required": True}, {"name": "tone", "description": "How"}],
    ),
    Definition(rules, name="rules", description="The rules."),
)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", choices=("legacy", "modern", "both"), default="legacy")
    parser.add_argument("--name", default="reference")
    parser.add_argument("--instructions")
    parser.add_argument("--answer-version", dest="offered_version")
    parser.add_argument("--early", action="store_true")
    parser.add_argument("--pings", type=int, default=0)
    parser.add_argument("--pages", type=int, default=1)
    parser.add_argument("--changes", type=int, default=0)
    parser.add_argument("--no-prompts", action="store_true")
    options = vars(parser.parse_args())
    server = Server()
    server.prompts = () if options.pop("no_prompts") else PROMPTS
    vars(server).update(options)
    tools = TOOLS + (MODERN_TOOLS if server.era != "legacy" else ())
    server.tools = {one.definition["name"]: one for one in tools}
    server.run()


main()
