"""The processes of a batch: its runs, and the model workers that they share."""
