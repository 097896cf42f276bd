"""A session as one document: `markdown` and `html` for people, `json` for programs. Pure: each gives a text. Messages
become a `conversation` first, also those of a batch's task and on a terminal; `html_parts` escapes it for every page.

`agent.sessions.portable` writes and reads zot's own form, a `.zotsession` file.
"""
