import { CommandLine } from "../../components/copy";
import { PrivateAddresses } from "../toolset/grants";

/** The private addresses that toolsets of the workspace may call. */
export function Addresses() {
  return (
    <>
      <PrivateAddresses />
      <CommandLine command="sluice grant list" />
    </>
  );
}
