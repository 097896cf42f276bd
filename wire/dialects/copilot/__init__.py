"""Copilot CLI's protocol: what extensions written for it say through `@github/copilot-sdk`."""
