import { createLocalWorkspace, type LocalWorkspace } from "./local.ts";
import { conformance } from "./conformance.ts";

conformance("bash in Node", () => {
  const workspaces = new Map<string, LocalWorkspace>();
  return {
    fetch: (request) => {
      const id = new URL(request.url).pathname.split("/")[3] ?? "";
      const workspace = workspaces.get(id) ?? createLocalWorkspace();
      workspaces.set(id, workspace);
      return workspace.fetch(request);
    },
  };
});
