import { Select } from "./field";

/** What a member or a program may do. */
export function Roles({ now = "editor" }: { now?: string }) {
  return (
    <Select label="Role" name="role" defaultValue={now}>
      <option value="viewer">Viewer: reads</option>
      <option value="editor">Editor: changes and deploys toolsets</option>
      <option value="publisher">Publisher: connectors and plugins too</option>
      <option value="admin">Administrator: everything</option>
    </Select>
  );
}
