"""Extensions written for the Copilot CLI: a folder with an `extension.mjs`, with or without a manifest beside it."""
