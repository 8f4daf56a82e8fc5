import { useParams } from "@tanstack/react-router";
import { Domains } from "../../components/domains";
import { CommandLine } from "../../components/copy";

/** The host names that are the URL of a toolset. */
export function ToolsetDomains() {
  const { slug } = useParams({ from: "/toolsets/$slug" });
  return (
    <>
      <Domains slug={slug} />
      <CommandLine command={`sluice toolset domain ${slug}`} />
    </>
  );
}
