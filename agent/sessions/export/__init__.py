"""A session as one document: `markdown` and `html` for people, `json` for programs. Pure: each gives a text.

`agent.sessions.portable` writes and reads zot's own form, a `.zotsession` file.
"""
