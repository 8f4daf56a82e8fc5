import { CommandLine } from "../../components/copy";
import { Domains } from "../../components/domains";

/** The host names at which the toolsets of the workspace are, and those of single toolsets. */
export function WorkspaceDomains() {
  return (
    <>
      <Domains />
      <CommandLine command="sluice domain list" />
    </>
  );
}
