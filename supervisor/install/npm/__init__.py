"""What is installed with npm: the SDK that extensions of the Copilot CLI import.

`run` runs the user's npm; `copilot_sdk` installs the SDK in one step.
"""
