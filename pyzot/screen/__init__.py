"""The screen: `zot` on a terminal, a client of `zot rpc` in another process than the engine.

`conversation` takes what the user enters and sends it in its turn, `scene` has all that is shown, and one of two views
shows it: `terminal` draws and reads keys, `plain` prints lines. The room `view` makes lines of records.
"""
