"""The child process that talks to the Message Batches API, started only with `--batch-api`."""
