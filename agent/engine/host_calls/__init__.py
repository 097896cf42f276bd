"""Calls of extensions to the agent: prompts, the model, the session, a folder for notes.

`answers` carries out each call of `wire.dialects.host_calls`; `sent_prompts` limits the prompts, which a headless run
and the rpc server run in order; `workspace` is the folder.
"""
