"""Helpers of the file tools: atomic writing, regular files only, diffs.

The processes that run the file tools are in `agent.tools.file_worker`.
"""
