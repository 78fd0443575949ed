import type { Team } from "../config/team.ts";
import { createSandbox } from "../sandbox/client.ts";
import type { SkillFiles } from "../sandbox/contract.ts";
import { createWorkspaceFiles } from "../sandbox/workspace-files.ts";
import { sandboxId } from "../sandbox/id.ts";
import { authorPattern } from "../tools/schema.ts";
import type { Engine } from "./engine.ts";
import type { Bindings } from "./secrets/secrets.ts";
import { skillFilesOf } from "./skill-files.ts";

/** Finds the sandboxes of a deployment. */

interface SandboxFetcher {
  fetch(request: Request): Promise<Response>;
}
/** Returns whether a binding accepts requests. */
export const isFetcher = (value: unknown): value is SandboxFetcher =>
  typeof value === "object" && value !== null && "fetch" in value;

/** Reason why a deployment has no sandboxes. */
export const missingSandbox =
  'this deployment has no SANDBOX binding; add services = [{ binding = "SANDBOX", service = … }] to its environment in wrangler.toml';

/** Fails every use of the sandbox by a custom tool; the built-in sandbox tools are not run at all. */
const noSandbox: SandboxFetcher = {
  fetch: async () => Response.json({ error: missingSandbox, code: "unsupported" }, { status: 501 }),
};

/** Maps toolboxes that are declared but answer `unavailable` to the reason. */
export const unavailableIn = (env: Bindings): ReadonlyMap<string, string> =>
  new Map(
    isFetcher(env["SANDBOX"])
      ? []
      : ["filesystem", "search", "exec", "git"].map((box) => [box, missingSandbox]),
  );

/** Returns the variables that set the author of commits in the sandbox. */
const authorVariables = (author: string): Readonly<Record<string, string>> => {
  const [, name = "", mail = ""] = authorPattern.exec(author) ?? [];
  return {
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: mail,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: mail,
  };
};

const fetcherOf = ({ SANDBOX: binding }: Bindings): SandboxFetcher =>
  isFetcher(binding) ? binding : noSandbox;

/** Returns the access of people to the files of sandboxes. */
export const workspacesOf =
  (team: Team, env: Bindings): Engine["workspace"] =>
  (session) =>
    createWorkspaceFiles(fetcherOf(env), sandboxId(team.name, session, session.id));

/** Returns the access of sessions to their sandboxes. */
export const sandboxesOf = (team: Team, env: Bindings): Engine["sandbox"] => {
  const fetcher = fetcherOf(env);
  const { limits, env: variables } = team.sandbox;
  const settings = { limits, env: { ...authorVariables(team.git.author), ...variables } };
  let known: SkillFiles | null | undefined;
  const skills = (): SkillFiles | null => (known === undefined ? (known = skillFilesOf(team)) : known);
  return (session, prepare = async () => undefined) =>
    createSandbox(fetcher, sandboxId(team.name, session, session.id), { settings, skills, prepare });
};
