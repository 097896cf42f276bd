"""The built-in tools, and the toolbox that offers them together with the tools of extensions.

read, write, edit and bash each have a file; `file_worker` and `shell` run them in processes.
"""
