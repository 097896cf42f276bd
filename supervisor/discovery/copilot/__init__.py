"""Extensions that were written for the Copilot CLI: `extension.mjs` in a folder, and the SDK from npm that it imports.

`launch` holds the program that Node runs in place of the extension, which it imports; `sdk` finds the SDK.
"""
