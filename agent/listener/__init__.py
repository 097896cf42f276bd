"""`zot rpc --listen PATH`: serves rpc clients on a Unix socket, each in a process of its own.

`listener` accepts the clients and has no engine. For each client it forks a process from a warm template
(`template_main`), which is the server of `zot rpc` on that connection (`conversation_main`): so the crash of one
conversation hurts no other. `conversation` is the listener's end of such a process. The model workers are the
listener's: `shared_workers` lends one to a conversation for one request at a time.
"""
