import { useQuery } from "@tanstack/react-query";
import { CommandLine } from "../../components/copy";
import { Card, Fact } from "../../components/page";
import { can } from "../../lib/roles";
import { sessionQuery } from "../../lib/session";
import { MakeAccount, SetPassword } from "./account";
import { Members } from "./members";
import { OpenIDConnect } from "./openid";
import { Passkeys } from "./passkeys";
import { Sessions } from "./sessions";

/** Your account, and who may enter the workspace. */
export function People() {
  const session = useQuery(sessionQuery).data;
  if (!session) return null; // The sign-in form is shown instead.
  const admin = can(session.role, "admin");
  return (
    <>
      <div className="space-y-5">
        <div className="grid items-start gap-5 lg:grid-cols-2">
          <Card title="You">
            <dl>
              <Fact name="Name">{session.name}</Fact>
              {session.member ? <Fact name="E-mail">{session.member.email}</Fact> : null}
              <Fact name="Role">{session.role}</Fact>
              <Fact name="Workspace">{session.workspace.name}</Fact>
            </dl>
          </Card>
          {session.member ? <SetPassword session={session} /> : admin ? <MakeAccount /> : null}
        </div>
        {session.member ? <Passkeys session={session} /> : null}
        <Sessions />
        {admin ? <Members /> : null}
        {admin ? <OpenIDConnect /> : null}
      </div>
      <CommandLine command={admin ? "sluice member list" : "sluice session list"} />
    </>
  );
}
