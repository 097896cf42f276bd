"""One prompt after another: turns, the model, tools, sessions and cassettes, on top of the supervisor.

The command line is in `cli`; extensions are kept by `supervisor`.
"""
