"""The user's folders and small files: `$ZOT_HOME`, the runtime folder, the configuration; how files are opened,
replaced and rotated (`safe_files`), and folders deleted; and the root of a repository.

What is in the folders of extensions is found in `supervisor.discovery`.
"""
