import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { CodeBlock, CommandLine } from "../../components/copy";
import { Card, Fact } from "../../components/page";
import { sessionQuery } from "../../lib/session";

/** What the node is, and how the workspace and the node are kept elsewhere. */
export function About() {
  const session = useQuery(sessionQuery).data;
  if (!session) return null; // The sign-in form is shown instead.
  return (
    <>
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <Card title="Backup of the node">
          <p className="mb-3 text-muted">
            Records, contents and keys of one moment, encrypted with age. It is made on the machine of the control plane: who opens it has every key, so it does not pass through a
            browser.
          </p>
          <CodeBlock label="the command that makes a backup" text="sluice backup sluice.backup --recipient age1…" />
          <p className="mt-3 mb-2 text-muted">A new data directory is made of it on the machine, once the old control plane is stopped:</p>
          <CodeBlock label="the command that restores a backup" text="sluice restore sluice.backup --identity age.key --data DIR" />
        </Card>
        <Card title="About">
          <dl>
            <Fact name="Version of the node">{session.version}</Fact>
            <Fact name="Workspace">{session.workspace.name}</Fact>
            <Fact name="Licences">
              <a className="text-accent underline" href="/licences.txt">
                Of the parts of the console
              </a>
            </Fact>
            <Fact name="Admin API">
              <Link to="/reference" className="text-accent underline">
                Its reference
              </Link>
            </Fact>
          </dl>
        </Card>
      </div>
      <CommandLine command="sluice backup sluice.backup --recipient age1…" />
    </>
  );
}
