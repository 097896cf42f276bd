"""`zot top`: `model` chooses the content, `screen` draws it, `live` updates it.

The figures come from the hosts' control sockets; how they are written is in `cli.number_format`.
"""
