"""The content of extensions: the hash that shows whether the user has trusted it, and whether files have changed since
they were hashed. The records of trust are in `supervisor/discovery`.
"""
