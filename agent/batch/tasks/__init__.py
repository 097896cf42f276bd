"""The tasks of a batch: reading them, checking them before anything starts, choosing among them, and their digests."""
