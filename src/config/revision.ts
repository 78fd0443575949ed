import type { Json } from "../chat/message.ts";
import { hexOf, sha256 } from "../sandbox/sha256.ts";
import { canonicalJson } from "../tools/canonical.ts";
import type { Provider, Team } from "./team.ts";

/** Computes the revision of a team: the part that a session pins, and its name. */

const connectionKeys = [
  "base_url",
  "api_key",
  "headers",
  "allow_literal_secrets",
  "rate_limit",
  "retry",
  "timeouts",
] as const;

const without = (value: object, keys: readonly string[]): object =>
  Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));

type Definable = Omit<Team, "revision" | "name" | "secrets">;

/** Returns the models' definitions without prices; an entry without more only allows its id, as `sessions` does. */
const definedModels = (models: Team["models"]): object =>
  Object.fromEntries(
    Object.entries(models)
      .map(([id, model]) => [id, without(model, ["price"])] as const)
      .filter(([, rest]) => Object.values(rest).some((value) => value !== undefined)),
  );

/** Returns the pinned models with the deployed ids and prices. */
const pricedModels = (pinned: Team["models"], deployed: Team["models"]): Team["models"] => {
  const current = Object.entries(deployed).map(([id, { price }]) => {
    const model = Object.hasOwn(pinned, id) ? pinned[id] : {};
    return [id, price === undefined ? { ...model } : { ...model, price }] as const;
  });
  return { ...pinned, ...Object.fromEntries(current) };
};

/** Returns the part of a team that a session keeps for life; the rest always comes from the deployed Worker. */
export const definitionOf = (team: Definable): Json => {
  const definition = {
    format: team.format,
    entry_agent: team.entry_agent,
    agents: team.agents,
    providers: team.providers.map((provider) => without(provider, connectionKeys)),
    mcp_servers: team.mcp_servers.map((server) =>
      without(server, [
        "url",
        "command",
        "args",
        "env",
        "headers",
        "protocol",
        "auth",
        "credentials",
        "allow_literal_secrets",
      ]),
    ),
    models: definedModels(team.models),
    default_context_windows: team.default_context_windows,
    default_context_window: team.default_context_window,
    permissions: team.permissions,
    filesystem: team.filesystem,
    git: team.git,
    http: { origins: Object.keys(team.http.headers) },
    browser: team.browser,
    context: team.context,
    skills: team.skills,
    context_text: team.context_text,
    heartbeat_text: team.heartbeat_text,
    reflections: team.reflections,
    tasks: team.tasks,
    notes: team.notes,
  };
  return JSON.parse(canonicalJson(definition)) as Json;
};

/** Returns the revision's name: `r_` and 20 hex digits of SHA-256 over the canonical definition. */
export const revisionOf = (definition: Json): string =>
  `r_${hexOf(sha256(canonicalJson(definition)).subarray(0, 10))}`;

const withDropped = <T extends { readonly name: string }>(
  deployed: readonly T[],
  pinned: readonly T[],
): T[] => [...deployed, ...pinned.filter(({ name }) => !deployed.some((each) => each.name === name))];

/** Returns the limits of sessions with a pinned revision: the deployed team, plus the pinned agents that it dropped. */
export const ceilingOver = (deployed: Team, pinned: Team): Team => ({
  ...deployed,
  agents: withDropped(deployed.agents, pinned.agents),
  skills: withDropped(deployed.skills, pinned.skills),
});

export type Pinned =
  | { readonly ok: true; readonly team: Team }
  /**
   * Parts that the deployment lacks for this revision, like `provider backup`; `waiting` has the rules of its runs
   * meanwhile.
   */
  | {
      readonly ok: false;
      readonly missing: readonly string[];
      readonly waiting?: Pick<Team, "agents" | "permissions">;
    };

/** Returns the result for a definition that no build has created. */
export const reportUnreadable = (revision: string): Pinned => ({
  ok: false,
  missing: [`a readable revision ${revision}`],
});

/**
 * Combines a pinned definition with the connections of the deployed team. The digest proves that a build of this
 * format created and checked exactly this definition.
 */
export const withDefinition = (deployed: Team, revision: string, definition: Json): Pinned => {
  const pinned = definition as unknown as Definable;
  if (pinned.format !== deployed.format) return { ok: false, missing: [`format ${String(pinned.format)}`] };
  if (revisionOf(definition) !== revision) return reportUnreadable(revision);
  const missing: string[] = [];
  const providers = pinned.providers.flatMap((provider): Provider[] => {
    const current = deployed.providers.find(({ name }) => name === provider.name);
    if (current?.kind !== provider.kind) {
      missing.push(`provider ${provider.name} (${provider.kind})`);
      return [];
    }
    const connections = Object.entries(current).filter(([key]) =>
      (connectionKeys as readonly string[]).includes(key),
    );
    return [{ ...provider, ...Object.fromEntries(connections) }];
  });
  const servers = pinned.mcp_servers.map((server) => {
    const current = deployed.mcp_servers.find(({ name }) => name === server.name);
    if (current === undefined && server.required) missing.push(`MCP server ${server.name}`);
    return { ...current, ...server };
  });
  const { agents, permissions } = pinned;
  if (missing.length > 0) return { ok: false, missing, waiting: { agents, permissions } };
  const models = pricedModels(pinned.models, deployed.models);
  return {
    ok: true,
    team: { ...deployed, ...pinned, http: deployed.http, providers, mcp_servers: servers, models, revision },
  };
};
