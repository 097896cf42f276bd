"""The content of extensions: the hash that shows whether the user has trusted it, and whether files have changed since
they were hashed. What the user has trusted is in `supervisor/discovery`.
"""
