"""The floor of a run: a fork, one streamed request with the SDK, the end.

argv: base URL, number of forks, how many at the same time, the SDK: `whole`, as `import anthropic` loads it, or
`filtered`, as the model worker does. All that can be shared is made before the forks: the modules, the client and its
SSL context, and a first request. Prints an object: the seconds and processor seconds of all forks, forking included,
and how many failed.
"""

import gc
import json
import os
import resource
import sys
import time

ARGS = {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}


def request(client):
    for _ in client.messages.create(**ARGS, stream=True):
        pass


def used():
    own, forks = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + forks.ru_utime + forks.ru_stime


def main():
    base_url, count, jobs, sdk = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    if sdk == "filtered":
        from agent.model.sdk_import.load import load_sdk

        load_sdk()
    import anthropic

    if count > 1:  # not when refusals are counted
        first = anthropic.Anthropic(api_key="k", base_url=base_url)
        request(first)
        first.close()
    client = anthropic.Anthropic(api_key="k", base_url=base_url)
    gc.collect()
    gc.freeze()
    began, before, running, failed = time.monotonic(), used(), 0, 0
    for _ in range(count):
        if running == jobs:
            failed += os.wait()[1] != 0
            running -= 1
        if os.fork() == 0:
            try:
                request(client)
            except BaseException:
                os._exit(1)
            os._exit(0)
        running += 1
    for _ in range(running):
        failed += os.wait()[1] != 0
    print(json.dumps({"wall_s": time.monotonic() - began, "cpu_s": used() - before, "failed": failed}))


main()
