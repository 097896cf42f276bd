"""The model: requests, the worker process that imports the SDK, replies as they stream, prices, failures.

Only `worker_main` imports the SDK, in a process of its own.
"""
