"""The cost of a batch, beside the same runs as programs of their own."""
