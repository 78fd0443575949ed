import { createLocalWorkspace } from "../sandbox/local.ts";
import type { LocalWorkspace } from "../sandbox/local.ts";

/**
 * The `SANDBOX` of the test Worker, in the process that runs it: a workspace per id. `/down/:id` and `/up/:id` break and
 * mend the line to one of them, `/asked/:id` counts its requests, `/running/:id` its commands.
 */
export const createSandboxBinding = (): ((request: Request) => Promise<Response>) => {
  const workspaces = new Map<string, LocalWorkspace>();
  const down = new Set<string>();
  const asked = new Map<string, number>();
  const runningIn = async (id: string): Promise<Response> => {
    const answer = await workspaces.get(id)?.fetch(new Request(`http://sandbox/v1/sandbox/${id}/running`));
    const running = answer === undefined ? null : await answer.json<{ commands: number }>();
    return Response.json({ running: running?.commands ?? 0 });
  };
  const control = async (what: string, id: string): Promise<Response> => {
    if (what === "running") return runningIn(id);
    if (what === "down") down.add(id);
    if (what === "up") down.delete(id);
    return Response.json({ asked: asked.get(id) ?? 0 });
  };
  return async (request) => {
    const [, first = "", second = "", third = ""] = new URL(request.url).pathname.split("/");
    if (first !== "v1") return control(first, second);
    asked.set(third, (asked.get(third) ?? 0) + 1);
    if (down.has(third))
      return Response.json(
        { error: "the sandbox could not be reached", code: "exec_transport_error" },
        { status: 502 },
      );
    const workspace = workspaces.get(third) ?? createLocalWorkspace();
    workspaces.set(third, workspace);
    const { method, url } = request;
    const body = method === "GET" ? null : await request.arrayBuffer();
    const answer = await workspace.fetch(new Request(url, { method, headers: [...request.headers], body }));
    const { status } = answer;
    const content = status === 204 ? null : await answer.arrayBuffer();
    return new Response(content, { status, headers: [...answer.headers] });
  };
};
