"""Help and completion: what a person sees of a command before it runs.

`help_text` reads a docstring, `page` renders it and is `zot help`, `command_classes` makes typer use the page, and
`completion` gives a shell the names that a word may become. What the commands do is in the other rooms.
"""
