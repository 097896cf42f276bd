"""The screen: `zot` on a terminal, a client of `zot rpc` in another process than the engine.

`start` decides between a terminal and plain lines. `conversation` is the client: it takes what the user enters, sends
it in its turn, and gives records to a view. Rooms: `view` makes lines of records, `terminal` draws them and reads keys.
"""
