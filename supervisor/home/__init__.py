"""The user's folders and small files: `$ZOT_HOME`, the runtime folder, the configuration; how files are opened,
replaced and rotated (`safe_files`), and folders deleted; and the root of a repository.

`supervisor.discovery` finds what is in the folders of extensions.
"""
