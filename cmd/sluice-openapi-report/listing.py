"""Writes the tools that FastMCP (4.1) makes of a specification, as tools/list shows them."""

import asyncio
import json
import sys
from importlib.metadata import version

import httpx2
import yaml
from fastmcp import Client, FastMCP


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """Reads dates as texts, as JSON has them."""


Loader.yaml_implicit_resolvers = {
    first: [r for r in resolvers if r[0] != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in Loader.yaml_implicit_resolvers.items()
}


def texts(v):
    """Gives the members of objects names that are texts, as JSON has them."""
    if isinstance(v, dict):
        return {str(k): texts(x) for k, x in v.items()}
    return [texts(x) for x in v] if isinstance(v, list) else v


def read(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    return json.loads(text) if text.lstrip().startswith("{") else texts(yaml.load(text, Loader))


async def main():
    server = FastMCP.from_openapi(read(sys.argv[1]), client=httpx2.AsyncClient(base_url="http://127.0.0.1:1"))
    async with Client(server) as client:
        tools = await client.list_tools()
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        dump = [t.model_dump(mode="json", by_alias=True, exclude_none=True) for t in tools]
        json.dump({"version": version("fastmcp"), "tools": dump}, f, separators=(",", ":"), ensure_ascii=False)


asyncio.run(main())
