import { createLocalWorkspace } from "../sandbox/local.ts";

/** A workspace for sessions on the bench, and what stands in it. */
export interface TestWorkspace {
  /** The binding of a deployment. */
  readonly env: { readonly SANDBOX: { readonly fetch: (request: Request) => Promise<Response> } };
  /** Method and path behind the sandbox's id of every request of a session, in order. */
  readonly asked: readonly string[];
  readonly put: (path: string, text: string) => Promise<void>;
  /** While true, no request of a session is answered. */
  silent: boolean;
}

/** Opens a workspace that holds these files. */
export const workspaceWith = async (files: Readonly<Record<string, string>> = {}): Promise<TestWorkspace> => {
  const { fetch } = createLocalWorkspace();
  const asked: string[] = [];
  const put = async (path: string, text: string): Promise<void> => {
    const url = `http://sandbox/v1/sandbox/any/file/workspace/${path}`;
    const { status } = await fetch(new Request(url, { method: "PUT", body: text }));
    if (status !== 200) throw new Error(`${path} was not written: ${status}`);
  };
  for (const [path, text] of Object.entries(files)) await put(path, text);
  const workspace: TestWorkspace = {
    asked,
    put,
    silent: false,
    env: {
      SANDBOX: {
        fetch: (request) => {
          const route = new URL(request.url).pathname.split("/").slice(4).join("/");
          asked.push(`${request.method} ${route}`);
          return workspace.silent ? new Promise(() => undefined) : fetch(request);
        },
      },
    },
  };
  return workspace;
};
