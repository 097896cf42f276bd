"""What the file tools share: atomic writing, regular files only, line ends, diffs, images.

The processes that run the file tools are in `agent.tools.file_worker`.
"""
