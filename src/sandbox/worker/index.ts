import { Hono } from "hono";
import { exports } from "cloudflare:workers";
import { getPlacedObject, jurisdictions } from "../jurisdiction.ts";
import { base32 } from "../sha256.ts";
import type { WorkspaceObject } from "./object.ts";

export { WorkspaceObject } from "./object.ts";

/**
 * Returns the objects' namespace, available during requests; the platform types `exports` for one Worker, not for
 * two.
 */
const workspaces = (): DurableObjectNamespace<WorkspaceObject> =>
  (exports as unknown as { WorkspaceObject: DurableObjectNamespace<WorkspaceObject> }).WorkspaceObject;

const sandboxIdPattern = new RegExp(`^(?:(${jurisdictions.join("|")})-)?[a-z2-7]{1,128}$`);

/** Returns the object of a sandbox, in the jurisdiction before its id; null if the id is invalid. */
const findWorkspace = (id: string): DurableObjectStub<WorkspaceObject> | null => {
  const match = sandboxIdPattern.exec(id);
  if (match === null) return null;
  const jurisdiction = jurisdictions.find((place) => place === match[1]) ?? null;
  return getPlacedObject(workspaces(), jurisdiction, id);
};

const refuse = (error: string, status: 400 | 404): Response =>
  Response.json({ error, code: "invalid_request" }, { status });

/** Worker behind the `SANDBOX` binding, with one object per sandbox id. */
const app = new Hono();
app.get("/health", () => Response.json({ ok: true }));
app.post("/v1/sandbox", () =>
  Response.json({ id: base32(crypto.getRandomValues(new Uint8Array(20))) }, { status: 201 }),
);
app.all("/v1/sandbox/:id/*", async (context) => {
  const workspace = findWorkspace(context.req.param("id"));
  if (workspace === null) return refuse("a sandbox id is base32 of at most 128 characters", 400);
  try {
    return await workspace.fetch(context.req.raw);
  } catch {
    return Response.json(
      { error: "the sandbox was interrupted", code: "exec_transport_error" },
      { status: 502 },
    );
  }
});
app.notFound(() => refuse("there is no such route", 404));

export default app;
