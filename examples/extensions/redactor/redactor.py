#!/usr/bin/env python3
"""Replaces secrets in the assistant's messages and tells the user how many there were."""

import json
import re
import sys

# Tried in this order. The text that a group `keep` matches is not replaced.
SECRETS = {
    "private-key": re.compile(
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|\Z)", re.DOTALL
    ),
    "password": re.compile(
        r"(?P<keep>passw(?:or)?d\s{0,8}=\s{0,8})(?![=\s]|\[redacted:)(?:\"[^\"\n]+\"?|'[^'\n]+'?|[^\s\"',;&]+)",
        re.IGNORECASE,
    ),
    "anthropic-key": re.compile(r"\bsk-ant-[\w-]{10,}"),
    "api-key": re.compile(r"\bsk-(?=[\w-]{0,40}\d)[\w-]{20,}"),
    "github-token": re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{22,})"),
    "aws-key-id": re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
}


def redact(text):
    """Returns the text without its secrets, and how many of each kind it had."""
    counts = {}
    for kind, pattern in SECRETS.items():
        kept = r"\g<keep>" if "keep" in pattern.groupindex else ""
        text, found = pattern.subn(f"{kept}[redacted:{kind}]", text)
        if found:
            counts[kind] = found
    return text, counts


def send(**frame):
    print(json.dumps(frame), flush=True)


def judge(frame):
    """Answers one question of the host. An answer with only `id` shows the message unchanged."""
    text, counts = redact(frame.get("text") or "")
    if not counts:
        send(type="event_intercept_response", id=frame["id"])
        return
    send(type="event_intercept_response", id=frame["id"], replace_text=text)
    total = sum(counts.values())
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    send(type="notify", level="warn", message=f"redacted {total} secret{'s' if total > 1 else ''}: {kinds}")


def main():
    send(type="hello", name="redactor", version="1.0.0", capabilities=["events"])
    send(type="subscribe", intercept=["assistant_message"])
    send(type="ready")
    for line in sys.stdin.buffer:
        try:
            frame = json.loads(line)
            kind = frame["type"]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            print(f"ignored a line that is not a frame: {error!r}", file=sys.stderr, flush=True)
            continue
        if kind == "event_intercept":
            judge(frame)
        elif kind == "shutdown":
            send(type="shutdown_ack")
            break


if __name__ == "__main__":
    main()
