import { benchOf, say } from "../engine/harness.ts";
import { memoryTables } from "../engine/access/tables.ts";
import type { Bench } from "./bench.ts";
import { replies, said, scripted } from "./scripts.ts";

/** Plays a scenario of the conformance suite of MCP with sessions of a team whose YAML names the scenario's server. */

interface ScenarioContext {
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly issuer?: string;
  readonly private_key_pem?: string;
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: object }[];
}

export interface Scenario {
  readonly name: string;
  readonly url: string;
  readonly context: ScenarioContext;
}

type Call = readonly [tool: string, args: object];

/** The scenario's servers listen on ports that the system chooses, so the operator opens all from which it does. */
const ports = Array.from({ length: 32_768 }, (_, at) => `localhost:${at + 32_768}`).join(",");

const envOf = ({ client_secret: secret = "", private_key_pem: key = "" }: ScenarioContext) => ({
  LIMPET_DEV: "1",
  LIMPET_ORIGIN: "https://conformance-test.local",
  LIMPET_ADMIN_KEY: "conformance-key-0123456789",
  LIMPET_PRIVATE_EGRESS: ports,
  CLIENT_SECRET: secret,
  PRIVATE_KEY: key,
});

/** The issuer that an operator would write into the team's file: the one that the server names. */
const issuerOf = async ({ url, context: { issuer } }: Scenario): Promise<string> => {
  if (issuer !== undefined) return issuer;
  const { origin, pathname } = new URL(url);
  const response = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`);
  const { authorization_servers: servers } = await response.json<{
    readonly authorization_servers: readonly string[];
  }>();
  return servers[0] ?? "";
};

/** How the team signs in: with the client that the scenario registered, or by what Limpet finds out itself. */
const authOf = async (scenario: Scenario): Promise<string> => {
  const { client_id: id, client_secret: secret, private_key_pem: key } = scenario.context;
  if (id === undefined) return "auth: oauth";
  const proof = secret === undefined ? "" : ', client_secret: "${CLIENT_SECRET}"';
  const keyed = key === undefined ? "" : ', private_key: "${PRIVATE_KEY}"';
  const issuer = `${proof}${keyed}` === "" ? "" : `, issuer: "${await issuerOf(scenario)}"`;
  const auth = scenario.name.includes("client-credentials") ? "client_credentials" : "oauth";
  return `auth: ${auth}, credentials: { client_id: "${id}"${proof}${keyed}${issuer} }`;
};

const openSession = async (
  scenario: Scenario,
  tables: ReturnType<typeof memoryTables>["tables"],
  calls: readonly Call[],
): Promise<Bench> =>
  benchOf(
    scripted(
      replies(...calls.map(([tool, args]) => said([tool, args])), said("Done.")),
      "",
      `egress: { allow_http: true }\naccess: { hosts: [agents.example.com] }\nmcp_servers: [{ name: sea, url: "${scenario.url}", ${await authOf(scenario)}, new_tools: allow }]`,
    ).replace("toolboxes: [probe]", "toolboxes: [sea]"),
    { tables, env: envOf(scenario.context) },
    {},
  );

interface OpenAsk {
  readonly id: string;
  readonly question?: { readonly options: readonly string[] };
  readonly authorization?: { readonly url: string };
}

/** A person opens the address, and their browser follows where it is sent. */
const signIn = async (bench: Bench, address: string): Promise<void> => {
  const response = await fetch(address, { redirect: "manual" });
  await bench.finishLogin(new URL(response.headers.get("location") ?? "http://none").search);
};

/** Answers what the session asks until it asks nothing more. */
const attend = async (bench: Bench): Promise<void> => {
  for (let round = 0; round < 12; round++) {
    const [ask] = Object.values(bench.state().asks) as readonly OpenAsk[];
    if (ask === undefined) return;
    const { authorization } = ask;
    if (authorization === undefined)
      bench.ok("answer", { ask: ask.id, decision: "answer", text: ask.question?.options[0] ?? "yes" });
    else await signIn(bench, authorization.url);
    if (bench.state().asks[ask.id] !== undefined) bench.ok("answer", { ask: ask.id, decision: "deny" });
    await bench.idle();
  }
};

const valueOf = (schema: unknown): unknown => {
  const { type, enum: choices } = schema as { readonly type?: string; readonly enum?: readonly unknown[] };
  if (choices !== undefined) return choices[0];
  if (type === "number" || type === "integer") return 5;
  if (type === "boolean") return true;
  return type === "array" ? [] : type === "object" ? {} : "text";
};

const argumentsFor = (schema: unknown): object => {
  const { properties = {} } = schema as { readonly properties?: Readonly<Record<string, unknown>> };
  return Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, valueOf(each)]));
};

const callsOf = ({ context }: Scenario, bench: Bench): readonly Call[] => {
  const tools = bench.state().serverTools?.["sea"] ?? [];
  const every = tools.map(({ remote, schema }) => ({ name: remote, arguments: argumentsFor(schema) }));
  return (context.toolCalls ?? every).flatMap(({ name, arguments: args }): Call[] => {
    const tool = tools.find(({ remote }) => remote === name);
    return tool === undefined ? [] : [[tool.name, args]];
  });
};

/** One session learns what the server offers, and a second one of the same tenant calls all of it. */
export const playScenario = async (scenario: Scenario): Promise<void> => {
  const { tables } = memoryTables();
  const first = await openSession(scenario, tables, []);
  await say(first);
  await attend(first);
  const calls = callsOf(scenario, first);
  if (calls.length === 0) return;
  const second = await openSession(scenario, tables, calls);
  await say(second);
  await attend(second);
};
