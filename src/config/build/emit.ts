import { providerKinds } from "../../providers/schema.ts";
import type { TeamDraft } from "../draft.ts";
import type { KnownNames } from "../json-schema.ts";
import { teamJsonSchema } from "../json-schema.ts";
import type { Team } from "../team.ts";
import type { CompiledTeam } from "./compile.ts";

/** Writes the files of a build: pure texts, which depend on the input alone. */

/** Formats a key; only in brackets is `__proto__` a key like any other. */
const keyOf = (key: string): string => (key === "__proto__" ? `["${key}"]` : JSON.stringify(key));

/** Formats plain data as JavaScript; maps without a prototype stay so. */
const literalOf = (value: unknown, indent: string): string => {
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[\n${value.map((item) => `${inner}${literalOf(item, inner)},\n`).join("")}${indent}]`;
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const bare = Object.getPrototypeOf(value) === null ? [`${inner}__proto__: null,\n`] : [];
  const entries = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .map(([key, item]) => `${inner}${keyOf(key)}: ${literalOf(item, inner)},\n`);
  const lines = [...bare, ...entries];
  return lines.length === 0 ? "{}" : `{\n${lines.join("")}${indent}}`;
};

const freezeSource = `const freeze = (value) => {
  if (typeof value === "object" && value !== null) {
    for (const item of Object.values(value)) freeze(item);
    Object.freeze(value);
  }
  return value;
};
`;

/** Returns the text of `team.js`, the compiled, frozen team with unresolved references. */
const teamModule = (team: Team): string =>
  `// Made by "limpet build ${team.name}". Do not edit.\n${freezeSource}\nexport default freeze(${literalOf(team, "")});\n`;

const importLine = (what: string, from: string): string => `import ${what} from ${JSON.stringify(from)};\n`;

/** Returns the text of `worker.js`, which passes the team to the factories and exports their router and classes. */
const workerModule = (name: string, extended: boolean, servers: boolean): string => {
  const parts = [
    "team",
    ...(extended || servers ? [extended ? "extensions" : "{}"] : []),
    ...(servers ? ["mcp"] : []),
  ];
  return [
    `// Made by "limpet build ${name}". Do not edit.\n`,
    importLine("{ createLimpet }", "../../src/index.ts"),
    importLine("team", "./team.js"),
    extended ? importLine("* as extensions", "./extensions.js") : "",
    servers ? importLine("{ mcp }", "../../src/toolboxes/mcp/index.ts") : "",
    `\nconst limpet = createLimpet(${parts.join(", ")});\n`,
    "\nexport default limpet.router;\n",
    "export const { SessionObject, TeamObject, TenantObject, ProviderGate } = limpet;\n",
  ].join("");
};

/** Returns the names that the team's own JSON Schema offers. */
const namesOf = (draft: TeamDraft, team: Team): KnownNames => {
  const servers = team.mcp_servers.map(({ name }) => name);
  return {
    provider_kinds: draft.providerKinds,
    providers: team.providers.map(({ name }) => name),
    agents: team.agents.map(({ name }) => name),
    toolboxes: [...draft.toolboxes.keys(), ...servers],
    tools: [...draft.tools],
    skills: team.skills.map(({ name }) => name),
  };
};

const jsonText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** Returns the product's `team.schema.json`: with the built-in provider kinds, but without the names of any team. */
export const productSchema = (): string => jsonText(teamJsonSchema({ provider_kinds: providerKinds }));

/**
 * Maps the file names of `.limpet/<team>/` to their content; null if the team has errors. The build of an extended
 * team also has `extensions.js`.
 */
export const buildFiles = (compiled: CompiledTeam, extended: boolean): ReadonlyMap<string, string> | null => {
  const { draft, team, secrets } = compiled;
  if (draft === null || team === null) return null;
  return new Map([
    ["worker.js", workerModule(team.name, extended, team.mcp_servers.length > 0)],
    ["team.js", teamModule(team)],
    ["team.schema.json", jsonText(teamJsonSchema(namesOf(draft, team), draft.schemas))],
    ["secrets.json", jsonText(secrets)],
  ]);
};
