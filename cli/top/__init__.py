"""`zot top`: `model` chooses the content, `screen` draws it, `live` updates it.

The figures come from the hosts' control sockets; `cli.number_format` formats them.
"""
