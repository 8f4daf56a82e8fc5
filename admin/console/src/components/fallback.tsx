import { Link, type ErrorComponentProps } from "@tanstack/react-router";
import { Page } from "./page";
import { ProblemNote } from "./problem";

export function NotFound() {
  return (
    <Page title="There is no such page">
      <p>
        Go to <Link to="/" className="text-accent underline">Home</Link> or to the{" "}
        <Link to="/toolsets" className="text-accent underline">toolsets</Link>.
      </p>
    </Page>
  );
}

export function Failed({ error, reset }: ErrorComponentProps) {
  return (
    <Page title="This page cannot be shown">
      <ProblemNote error={error} retry={reset} />
    </Page>
  );
}
