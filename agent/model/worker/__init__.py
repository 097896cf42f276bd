"""The process that talks to the model: the SDK with a connection, replies as lines, retries, rate limits."""
