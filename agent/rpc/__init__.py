"""`zot rpc`: another program drives the agent by lines on stdin and stdout.

`server` is the process: stdin, stdout, signals, one prompt after another. `requests` answers the client, while a prompt
runs, too. All of it is on the one loop.
"""
