import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useId, useState } from "react";
import { fileClass, TextField } from "../../components/field";
import { FormDialog } from "../../components/formdialog";
import { api } from "../../lib/api";
import { plural } from "../../lib/format";
import { finish } from "../../lib/jobs";
import { PLUGINS, type Version } from "./queries";

/** Sends a signed module with its golden cases to the node, which checks all of them. */
export function PublishPlugin({ open, close }: { open: boolean; close: () => void }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [files, setFiles] = useState<{ module?: File | undefined; signature?: File | undefined; cases: File[] }>({ cases: [] });
  const [oci, setOCI] = useState("");
  const [fault, setFault] = useState("");
  const [phase, setPhase] = useState("");
  const publish = useMutation({
    mutationFn: () => {
      const form = new FormData();
      if (oci.trim()) form.append("oci", oci.trim());
      else if (files.module) form.append("module", files.module, "plugin.wasm");
      if (files.signature) form.append("signature", files.signature, "plugin.sig");
      for (const file of files.cases) form.append("case", file, file.name);
      return finish<Version>(api.POST("/v1/plugins", { body: {} as never, bodySerializer: () => form }), setPhase);
    },
    onSuccess: async (made) => {
      close();
      await navigate({ to: "/plugins/$name", params: { name: made.name }, search: { version: made.version } });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: PLUGINS }),
  });
  return (
    <FormDialog
      title="Publish a plugin"
      open={open}
      close={() => {
        setFiles({ cases: [] });
        setFault("");
        close();
      }}
      does={publish}
      action="Publish it"
      command={oci.trim() ? `sluice plugin publish --oci ${oci.trim()} --cases DIR` : "sluice plugin publish DIR --key publisher.key"}
      noValidate
      submit={() => {
        if (!oci.trim() && !files.module) return setFault("Choose the module.");
        if (!oci.trim() && !files.signature) return setFault("Choose its signature: a plugin that nobody signed is not published.");
        if (files.cases.length === 0) return setFault("Choose its golden cases: they are run before it can be bound.");
        setFault("");
        setPhase("");
        publish.mutate();
      }}
    >
      <p className="text-muted">
        It is built and signed where its source and its private key are: <code className="font-mono break-words text-text">sluice plugin build</code> embeds the manifest,{" "}
        <code className="font-mono break-words text-text">sluice plugin sign</code> writes the signature beside it. A version never changes once it is published.
      </p>
      <FileField label="Module" accept=".wasm,application/wasm" hint="The .wasm file, with its manifest in it" onFiles={([module]) => setFiles((f) => ({ ...f, module }))} />
      <FileField label="Signature" accept=".sig" hint="The .wasm.sig file" onFiles={([signature]) => setFiles((f) => ({ ...f, signature }))} />
      <FileField label="Golden cases" accept=".json" multiple hint={files.cases.length > 0 ? `${plural(files.cases.length, "case")}.` : "The .json files of its directory testdata: all of them"} onFiles={(cases) => setFiles((f) => ({ ...f, cases }))} />
      <details>
        <summary className="min-h-6 text-accent">It was pushed to the registry</summary>
        <div className="mt-2">
          <TextField label="Name and tag" autoComplete="off" spellCheck={false} placeholder="mask:1.0.0" hint="Instead of the module; NAME@DIGEST, too. The signature may be what cosign stored beside it." value={oci} onChange={(e) => setOCI(e.target.value)} />
        </div>
      </details>
      <p role="status" className={fault ? "text-bad" : "text-muted"}>
        {publish.isPending ? phase || "Checking it" : fault}
      </p>
    </FormDialog>
  );
}

function FileField({ label, accept, hint, multiple = false, onFiles }: { label: string; accept: string; hint: string; multiple?: boolean; onFiles: (files: File[]) => void }) {
  const id = useId();
  return (
    <div>
      <label htmlFor={id} className="mb-1 block font-medium">
        {label}
      </label>
      <input id={id} type="file" accept={accept} multiple={multiple} className={fileClass} aria-describedby={`${id}-note`} onChange={(e) => onFiles([...(e.target.files ?? [])])} />
      <p id={`${id}-note`} className="mt-1 text-muted">
        {hint}
      </p>
    </div>
  );
}
