import type { ComponentType } from "react";
import { EDITORS_CREATE } from "../../components/empty";
import { Card, Page } from "../../components/page";
import { useCan } from "../../lib/session";

/** A step for who may create toolsets; who may not is told so before they fill anything in. */
export const ofEditors = (Step: ComponentType) =>
  function OfEditors() {
    if (useCan("editor")) return <Step />;
    return (
      <Page title="Create a toolset">
        <Card>
          <p>{EDITORS_CREATE}</p>
        </Card>
      </Page>
    );
  };
