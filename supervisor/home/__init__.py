"""The user's folders and small files: `$ZOT_HOME`, the runtime folder, the configuration.

The folders of extensions are found in `supervisor.discovery`.
"""
