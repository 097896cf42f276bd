"""The folders and small files of the user: `$ZOT_HOME`, the runtime folder, the configuration.

Folders of extensions are found in `supervisor.discovery`.
"""
