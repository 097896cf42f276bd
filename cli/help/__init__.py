"""Help and completion: what a person sees of a command before it runs.

`help_text` reads a docstring, `page` makes a page of it, `command_classes` makes typer use the page, `show` is `zot
help`, `unknown_command` has the errors for a word that is no command, and `completion` gives a shell the names that a
word may become. What the commands do is in the other rooms.
"""
