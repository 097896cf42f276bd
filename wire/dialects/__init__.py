"""The protocols that extensions speak: `base` is what every dialect can do, `zot` is zot's own.

The frames of zot's protocol are defined in `wire.frames`.
"""
