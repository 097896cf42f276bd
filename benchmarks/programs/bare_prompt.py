"""The floor of the screen: a bare prompt of prompt_toolkit on the terminal of this process."""

from prompt_toolkit import PromptSession

session: PromptSession[str] = PromptSession()
while True:
    try:
        session.prompt("> ")
    except (EOFError, KeyboardInterrupt):
        break
