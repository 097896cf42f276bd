"""The model: requests, the worker process that imports the SDK, streamed replies, prices, failures.

Only `worker_main` imports the SDK, in its own process.
"""
