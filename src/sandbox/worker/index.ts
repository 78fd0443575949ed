import { Hono } from "hono";
import { exports } from "cloudflare:workers";
import { base32 } from "../sha256.ts";

import type { WorkspaceObject } from "./object.ts";

export { WorkspaceObject } from "./object.ts";

/** The objects' namespace, available during requests; the platform types `exports` for one Worker, not for two. */
const workspaces = (): DurableObjectNamespace<WorkspaceObject> =>
  (exports as unknown as { WorkspaceObject: DurableObjectNamespace<WorkspaceObject> }).WorkspaceObject;

const refuse = (error: string, status: 400 | 404): Response =>
  Response.json({ error, code: "invalid_request" }, { status });

/** The Worker behind the `SANDBOX` binding, with one object per sandbox id. */
const app = new Hono();
app.get("/health", () => Response.json({ ok: true }));
app.post("/v1/sandbox", () =>
  Response.json({ id: base32(crypto.getRandomValues(new Uint8Array(20))) }, { status: 201 }),
);
app.all("/v1/sandbox/:id/*", async (context) => {
  const id = context.req.param("id");
  if (!/^[a-z2-7]{1,128}$/.test(id)) return refuse("a sandbox id is base32 of at most 128 characters", 400);
  try {
    return await workspaces().getByName(id).fetch(context.req.raw);
  } catch {
    return Response.json(
      { error: "the sandbox was interrupted", code: "exec_transport_error" },
      { status: 502 },
    );
  }
});
app.notFound(() => refuse("no such route", 404));

export default app;
