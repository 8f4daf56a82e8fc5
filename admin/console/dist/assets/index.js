// Signs in with the secret of a login link, and says who is signed in.
const status = document.getElementById("status");
const link = new URLSearchParams(location.hash.slice(1)).get("login");
async function session() {
  if (link) {
    history.replaceState(null, "", location.pathname);
    return fetch("/v1/session", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ link }) });
  }
  return fetch("/v1/session");
}
const answer = await session();
const body = await answer.json();
if (answer.ok) {
  status.textContent = `Signed in as ${body.name}, with the role ${body.role}.`;
} else if (link) {
  status.textContent = `${body.detail}.`;
}
