import { createLocalWorkspace } from "../sandbox/local.ts";

/** A workspace for sessions on the bench, and what stands in it. */
export interface TestWorkspace {
  /** The binding of a deployment. */
  readonly env: { readonly SANDBOX: { readonly fetch: (request: Request) => Promise<Response> } };
  /** Method and path behind the sandbox's id of every request of a session, in order. */
  readonly asked: readonly string[];
  readonly put: (path: string, text: string) => Promise<void>;
  /** Text of a file; null if there is none. */
  readonly text: (path: string) => Promise<string | null>;
  /** Begins anew over the same files: commands that run are lost. */
  readonly restart: () => void;
  /** While true, no request of a session is answered. */
  silent: boolean;
  /** Requests of a session to this route are refused as unsupported. */
  refuse: string | null;
}

/** Opens a workspace that holds these files. */
export const workspaceWith = async (files: Readonly<Record<string, string>> = {}): Promise<TestWorkspace> => {
  let server = createLocalWorkspace();
  const fetch = (request: Request): Promise<Response> => server.fetch(request);
  const asked: string[] = [];
  const urlOf = (path: string): string => `http://sandbox/v1/sandbox/any/file/workspace/${path}`;
  const put = async (path: string, text: string): Promise<void> => {
    const { status } = await fetch(new Request(urlOf(path), { method: "PUT", body: text }));
    if (status !== 200) throw new Error(`${path} was not written: ${status}`);
  };
  for (const [path, text] of Object.entries(files)) await put(path, text);
  const workspace: TestWorkspace = {
    asked,
    put,
    text: async (path) => {
      const answer = await fetch(new Request(urlOf(path)));
      return answer.status === 404 ? null : answer.text();
    },
    restart: () => {
      server = server.restart();
    },
    silent: false,
    refuse: null,
    env: {
      SANDBOX: {
        fetch: async (request) => {
          const route = new URL(request.url).pathname.split("/").slice(4).join("/");
          asked.push(`${request.method} ${route}`);
          if (route.split("/")[0] === workspace.refuse)
            return Response.json({ error: "not here", code: "unsupported" }, { status: 501 });
          return workspace.silent ? new Promise(() => undefined) : fetch(request);
        },
      },
    },
  };
  return workspace;
};
