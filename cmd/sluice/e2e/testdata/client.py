"""Uses a toolset URL as an AI application does, with the official Python package:

client.py openapi|mcp URL. It writes "done" at its end, and the first thing that is wrong otherwise.
"""

import asyncio
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

kind, url = sys.argv[1:]
progressing = "test_slow" if kind == "openapi" else "test_tool_with_progress"


def check(ok, what, got):
    if not ok:
        sys.exit(f"{kind}: {what}: {got!r}")


async def session(use):
    async with streamable_http_client(url) as streams:
        async with ClientSession(streams[0], streams[1]) as client:
            await client.initialize()
            return await use(client)


async def first(client):
    tools = {t.name for t in (await client.list_tools()).tools}
    check({"test_image_content", "test_error_handling"} <= tools, "tools", tools)
    r = await client.call_tool("test_image_content", {})
    check(r.content[0].type == "image", "image", r)
    r = await client.call_tool("test_error_handling", {})
    failed = getattr(r, "is_error", None) or getattr(r, "isError", None)
    check(failed and "intentionally" in r.content[0].text, "tool error", r)
    try:
        r = await client.call_tool("nope", {})
        check(False, "unknown tool", r)
    except Exception as e:  # the class differs between versions of the package
        check("unknown tool" in str(e), "unknown tool", e)

    heard = []

    async def progress(value, total, message):
        heard.append(value)

    r = await client.call_tool(progressing, {}, progress_callback=progress)
    check(heard, "progress", (heard, r))

    task = asyncio.ensure_future(client.call_tool(progressing, {}))
    await asyncio.sleep(0.02)
    task.cancel()
    try:
        await task
        check(False, "cancellation", "the call was answered")
    except asyncio.CancelledError:
        pass
    r = await client.call_tool("test_image_content", {})
    check(r.content[0].type == "image", "after the cancellation", r)


async def again(client):
    r = await client.call_tool("test_image_content", {})
    check(r.content[0].type == "image", "reconnected", r)


async def main():
    await session(first)
    await session(again)
    print("done")


asyncio.run(main())
