"""The command line of `zot` before a command runs: help, completion, and which command is meant.

`root_group` tells a prompt from a command. `help_text` reads a docstring, `page` makes a page of it, `command_classes`
makes typer use the page, `show` is `zot help`, `unknown_command` has the errors for a word that is no command, and
`completion` gives a shell the names that a word may become. The work of the commands is in the other rooms.
"""
