import { CodeBlock } from "../../components/copy";

/** The signing secret of a webhook: the API shows it once. */
export function Secret({ secret }: { secret: string }) {
  return (
    <div className="space-y-2">
      <p>Its messages are signed with this secret. Copy it now: it is not shown again.</p>
      <CodeBlock label="the signing secret" text={secret} />
    </div>
  );
}
