"""Writes the tools that FastMCP (4.1) makes of a specification, as tools/list shows them."""

import asyncio
import json
import sys
from importlib.metadata import version

import httpx2
from fastmcp import Client, FastMCP


async def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        spec = json.load(f)
    server = FastMCP.from_openapi(spec, client=httpx2.AsyncClient(base_url="http://127.0.0.1:1"))
    async with Client(server) as client:
        tools = await client.list_tools()
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        dump = [t.model_dump(mode="json", by_alias=True, exclude_none=True) for t in tools]
        json.dump({"version": version("fastmcp"), "tools": dump}, f, separators=(",", ":"), ensure_ascii=False)


asyncio.run(main())
