"""Prices of models, and the cost of a text."""

PRICES = {  # beginning of a model's name: dollars per million tokens (input, output)
    "claude-opus": (5.0, 25.0),
    "claude-sonnet": (3.0, 15.0),
    "claude-haiku": (1.0, 5.0),
}
UNKNOWN = (3.0, 15.0)
CHARACTERS_PER_TOKEN = 4
OVERHEAD = 2_000
"""Tokens of the system prompt and the tools. Extensions do not see these."""


def tokens(characters):
    return -(-characters // CHARACTERS_PER_TOKEN)


def cost_of(model, read, written):
    """Dollars of one request, from the characters that the model read and wrote."""
    prices = next((prices for name, prices in PRICES.items() if model.startswith(name)), UNKNOWN)
    return ((tokens(read) + OVERHEAD) * prices[0] + tokens(written) * prices[1]) / 1_000_000
