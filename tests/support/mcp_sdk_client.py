"""The official Python client against a server: `python mcp_sdk_client.py auto|legacy COMMAND ARG…`. Prints JSON."""

import asyncio
import json
import os
import sys

from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client


async def main(mode: str, command: str, *args: str) -> None:
    said: dict[str, object] = {}
    reports: list[object] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        reports.append([progress, message])

    parameters = StdioServerParameters(command=command, args=list(args), env=dict(os.environ))
    async with Client(stdio_client(parameters), mode=mode) as client:
        said["version"] = client.protocol_version
        said["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        said["prompts"] = [prompt.name for prompt in (await client.list_prompts()).prompts]
        for text in ("hi", "forbidden"):
            result = await client.call_tool("say", {"text": text})
            said["say" if text == "hi" else text] = [result.is_error, [block.text for block in result.content]]
        await client.call_tool("count", {}, progress_callback=report)
        said["count"] = reports
        said["draw"] = [block.type for block in (await client.call_tool("draw", {})).content]
        prompt = await client.get_prompt("plan", {"arguments": "a trip"})
        said["plan"] = [message.content.text for message in prompt.messages]
        try:
            await client.call_tool("nope", {})
        except MCPError as error:
            said["unknown"] = error.error.code
    print(json.dumps(said))


asyncio.run(main(*sys.argv[1:]))
