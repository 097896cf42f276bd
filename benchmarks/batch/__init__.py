"""What a batch costs, beside the same runs as programs of their own."""
