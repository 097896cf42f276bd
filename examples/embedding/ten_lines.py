"""Streams an answer and says what it has cost. `ANTHROPIC_API_KEY=… python ten_lines.py`"""

from pyzot import Error, Runtime, TextDelta

with Runtime() as zot:
    for event in zot.prompt("What does this project do? Answer in two sentences."):
        match event:
            case TextDelta(delta):
                print(delta, end="", flush=True)
            case Error(message):
                print(message)
    print(f"\n{zot.cost.output} tokens, ${zot.cost.cost_usd}")
