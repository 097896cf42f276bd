"""A web endpoint that streams an agent's answer as it comes.

    pip install fastapi uvicorn
    ANTHROPIC_API_KEY=… uvicorn fastapi_stream:app --workers 2
    curl -N localhost:8000/ask --json '{"question": "What does this project do?"}'

Each worker of the server has agents of its own, each of which answers one question at a time; further questions wait. A
client that goes away ends its prompt; its agent answers the next question.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from pyzot import AsyncRuntime, Error, TextDelta, ZotError

AGENTS = 2
"""Of each worker."""


class Pool:
    """Agents, each of which is lent to one request at a time. They are started when they are first needed."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(AGENTS)
        self._free: list[AsyncRuntime] = []

    @asynccontextmanager
    async def agent(self) -> AsyncIterator[AsyncRuntime]:
        async with self._turns:
            zot = self._free.pop() if self._free else await AsyncRuntime(tools=["read"], max_steps=20, timeout=120)
            try:
                await zot.clear()  # this waits for the end of a prompt whose client has gone
                yield zot
            except ZotError:  # the agent has ended: the next question starts another one
                await zot.close()
                raise
            except BaseException:
                self._free.append(zot)
                raise
            self._free.append(zot)

    async def close(self) -> None:
        for zot in self._free:
            await zot.close()


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    yield
    await pool.close()


class Question(BaseModel):
    question: str


app = FastAPI(lifespan=lifespan)
pool = Pool()


@app.post("/ask")
async def ask(asked: Question) -> StreamingResponse:
    return StreamingResponse(answer(asked.question), media_type="text/plain; charset=utf-8")


async def answer(question: str) -> AsyncIterator[str]:
    async with pool.agent() as zot, zot.prompt(question) as events:
        async for event in events:
            match event:
                case TextDelta(delta):
                    yield delta
                case Error(message):
                    yield f"\n{message}\n"
