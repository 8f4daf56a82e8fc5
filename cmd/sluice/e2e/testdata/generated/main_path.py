"""Does the main path with the client that openapi-python-client generated:

main_path.py URL TOKEN SPECIFICATION KEY. It writes "done" at its end, and the first
thing that is wrong otherwise. The package of the client is beside it.
"""

import sys
import time

import httpx
from sluice_admin_api_client import AuthenticatedClient
from sluice_admin_api_client.api.authentication import get_authentication, set_authentication
from sluice_admin_api_client.api.releases import deploy_toolset, test_toolset
from sluice_admin_api_client.api.tools import list_tools, patch_tool
from sluice_admin_api_client.api.toolsets import create_toolset, delete_toolset, get_toolset, list_toolsets
from sluice_admin_api_client.api.usage import get_usage, list_calls
from sluice_admin_api_client.models import (
    CreateDeploy,
    CreateSource,
    CreateToolset,
    DeployRequest,
    OpenAPISource,
    PatchTool,
    Problem,
    SetAuth,
    SetAuthAuthType,
    TestRequest,
    ToolsetStatus,
)

url, token, specification, key = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=token, timeout=httpx.Timeout(30))


def check(ok, what, got):
    if not ok:
        sys.exit(f"{what}: {got!r}")


def good(what, answer, status=200):
    """Returns what the answer was read into, which must be no problem."""
    check(answer.status_code == status and not isinstance(answer.parsed, Problem), what, answer)
    return answer.parsed


with open(specification, encoding="utf-8") as f:
    document = f.read()

made = good(
    "create",
    create_toolset.sync_detailed(
        client=client,
        body=CreateToolset(
            slug="python",
            source=CreateSource(openapi=OpenAPISource(document=document, file_name="notes.yaml")),
            deploy=CreateDeploy(skip=True),
        ),
    ),
    201,
)
check(made.status == ToolsetStatus.DRAFT and made.tool_count == 2, "created", made)

# Without a credential the API refuses the test, and nothing is deployed.
tested = good("test without a key", test_toolset.sync_detailed(made.id, client=client, body=TestRequest(tool="list_notes")))
check(not tested.passed and tested.upstream_status == 401, "test without a key", tested)

good(
    "set authentication",
    set_authentication.sync_detailed(made.id, client=client, body=SetAuth(auth_type=SetAuthAuthType.HEADER, header_name="X-Key", api_key=key)),
)
kept = good("authentication", get_authentication.sync_detailed(made.id, client=client))
check(kept.api_key_last_4 == key[-4:] and key not in str(kept.to_dict()), "authentication", kept)

tested = good("test", test_toolset.sync_detailed(made.id, client=client, body=TestRequest(tool="list_notes", keep_draft=True)))
check(tested.passed and tested.upstream_status == 200 and not tested.deployed, "test", tested)
live = good("deploy", deploy_toolset.sync_detailed(made.id, client=client, body=DeployRequest()))
check(live.status == ToolsetStatus.LIVE and live.revision == 1, "deploy", live)

named = {t.slug: t for t in good("list", list_toolsets.sync_detailed(client=client, q="python")).items}
check("python" in named and named["python"].url == live.url, "list", named)
tools = {t.name for t in good("tools", list_tools.sync_detailed(made.id, client=client, limit=1)).items}
check(len(tools) == 1, "a page of tools", tools)
patched = good("patch", patch_tool.sync_detailed(made.id, "add_note", client=client, body=PatchTool(title="Write a note")))
check(patched.title == "Write a note", "patch", patched)

called = httpx.post(
    live.url,
    json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_notes", "arguments": {"limit": 2}}},
    headers={"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"},
    timeout=30,
)
check(called.status_code == 200 and "first note" in called.text, "call", (called.status_code, called.text))

# The gateway reports its counters every few seconds.
for _ in range(150):
    usage = good("usage", get_usage.sync_detailed(client=client, toolset="python", range_="1h"))
    calls = good("calls", list_calls.sync_detailed(client=client, toolset="python")).items
    if usage.totals.calls and calls:
        break
    time.sleep(0.2)
check(usage.totals.calls == 1 and usage.totals.errors == 0 and usage.totals.tokens_before > 0, "usage", usage)
check(calls[0].tool == "list_notes", "calls", calls)

absent = get_toolset.sync_detailed("no-such-toolset", client=client)
check(absent.status_code == 404 and isinstance(absent.parsed, Problem) and absent.parsed.code == "not_found", "absent", absent)
stale = delete_toolset.sync_detailed(made.id, client=client, if_match='"of-another-time"')
check(stale.status_code == 412 and isinstance(stale.parsed, Problem), "a delete of another state", stale)
etag = get_toolset.sync_detailed(made.id, client=client).headers["ETag"]
good("delete", delete_toolset.sync_detailed(made.id, client=client, if_match=etag), 204)
check(get_toolset.sync_detailed(made.id, client=client).status_code == 404, "deleted", made.id)
print("done")
