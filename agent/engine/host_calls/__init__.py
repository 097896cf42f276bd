"""Calls of extensions to the agent: prompts, the model, the session, a folder for notes.

`answers` carries out each call of `wire.dialects.host_calls`; `sent_prompts` bounds the prompts, which a headless run
and the rpc server run in their turn; `workspace` is the folder.
"""
