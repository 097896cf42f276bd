"""The built-in tools and the toolbox that offers them beside those of extensions.

Each of read, write, edit and bash has a file; the processes that run them are in `file_worker` and `shell`.
"""
