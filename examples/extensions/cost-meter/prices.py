"""What models cost, and how much of them a text is."""

PRICES = {  # the beginning of a model's name -> dollars for a million tokens: what it reads, what it writes
    "claude-opus": (5.0, 25.0),
    "claude-sonnet": (3.0, 15.0),
    "claude-haiku": (1.0, 5.0),
}
UNKNOWN = (3.0, 15.0)
CHARACTERS_PER_TOKEN = 4
OVERHEAD = 2_000
"""Tokens of the system prompt and the tools, which no extension sees."""


def tokens(characters):
    return -(-characters // CHARACTERS_PER_TOKEN)


def cost_of(model, read, written):
    """Dollars for one request, from the characters that the model was given and gave."""
    prices = next((prices for name, prices in PRICES.items() if model.startswith(name)), UNKNOWN)
    return ((tokens(read) + OVERHEAD) * prices[0] + tokens(written) * prices[1]) / 1_000_000
