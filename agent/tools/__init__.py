"""The built-in tools, and the toolbox that offers them together with the tools of extensions.

read, write, edit and bash have a file each; `file_worker` and `shell` run them in processes.
"""
