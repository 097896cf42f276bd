"""The model calls functions of this program, which know the orders of a shop.

    ANTHROPIC_API_KEY=… python functions.py "Who has not paid? Remind them."

A function becomes a tool by its type hints and its docstring. It runs in this process, in a thread. The model
reads its exceptions: a `ToolError` as plain text; any other one is a bug, and stderr gets its traceback, too.
"""

import sys

from pyzot import Error, Runtime, TextDelta, ToolError

ORDERS = {17: ("Ada", 4200, "paid"), 18: ("Grace", 1999, "open"), 19: ("Ada", 350, "open")}


def orders(customer: str | None = None) -> list[dict[str, object]]:
    """List the orders of one customer, or all. Amounts are cents."""
    return [
        {"order": number, "customer": name, "amount": amount, "state": state}
        for number, (name, amount, state) in ORDERS.items()
        if customer in (None, name)
    ]


def remind(order: int) -> str:
    """Remind the customer of an order that is open.

    Args:
        order: Its number.
    """
    name, amount, state = ORDERS[order]
    if state != "open":
        raise ToolError(f"order {order} is {state}")
    print(f"\n[letter to {name}: {amount / 100:.2f} are due for order {order}]")
    return "sent"


def main(question: str) -> None:
    with Runtime(functions=[orders, remind], no_tools=True) as zot:
        for event in zot.prompt(question):
            match event:
                case TextDelta(delta):
                    print(delta, end="", flush=True)
                case Error(message):
                    print(message)
        print()


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or sys.exit(__doc__))
