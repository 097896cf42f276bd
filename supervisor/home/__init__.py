"""The user's folders and small files: `$ZOT_HOME`, the runtime folder, the configuration; and the root of a repository.

What is in the folders of extensions is found in `supervisor.discovery`.
"""
