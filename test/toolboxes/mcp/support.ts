import { onTestFinished } from "vitest";
import { createEngine } from "../../../src/engine/create.ts";
import type { Tables } from "../../../src/engine/access/database.ts";
import type { Bench } from "../../support/bench.ts";
import { benchOf } from "../../engine/harness.ts";
import type { McpServerOptions, TestMcpServer } from "../../support/mcp-server.ts";
import { startMcpServer } from "../../support/mcp-server.ts";
import { replies, said, scripted } from "../../support/scripts.ts";
import { engineOptions, teamOf } from "../../support/teams.ts";

/** Sessions on the bench whose team has MCP servers on loopback. */

/** A server that ends with its test. */
export const serverOf = async (options: McpServerOptions): Promise<TestMcpServer> => {
  const server = await startMcpServer(options);
  onTestFinished(server.close);
  return server;
};

interface ServedOptions {
  /** YAML of the servers: `{ name: …, url: … }`. */
  readonly servers: readonly string[];
  readonly toolboxes: string;
  /** Pieces of the model's replies, one reply each; the run ends with a last one. */
  readonly turns: readonly (readonly (string | readonly [string, object])[])[];
  /** `host:port` that the operator opens. */
  readonly hosts: readonly string[];
  readonly env?: Readonly<Record<string, unknown>>;
  readonly agent?: string;
  readonly preset?: string;
  /** The agent's `after_untrusted`. */
  readonly after?: string;
  readonly create?: object;
  readonly tables?: Tables;
  /** Further files of the team's folder. */
  readonly files?: Readonly<Record<string, string>>;
}

/** The YAML of a team of one agent with these servers, and the parts of its engine. */
const servedTeam = ({
  servers,
  toolboxes,
  turns,
  hosts,
  env = {},
  agent = "",
  preset = "open",
  after = "off",
  tables,
  files = {},
}: ServedOptions) => ({
  yaml: scripted(
    replies(...turns.map((pieces) => said(...pieces))),
    agent,
    `egress: { allow_http: true }\naccess: { hosts: [agents.example.com] }\nmcp_servers: [${servers.join(", ")}]`,
  )
    .replace("toolboxes: [probe]", `toolboxes: ${toolboxes}`)
    .replace("{ preset: open }", `{ preset: ${preset}, after_untrusted: ${after} }`),
  extras: {
    files,
    env: { LIMPET_PRIVATE_EGRESS: hosts.join(","), ...env },
    ...(tables === undefined ? {} : { tables }),
  },
});

/** A session of one agent with these servers. */
export const servedBench = (options: ServedOptions): Promise<Bench> => {
  const { yaml, extras } = servedTeam(options);
  return benchOf(yaml, extras, options.create ?? {});
};

/** Deploys the session's team with other servers. */
export const deployServed = async (bench: Bench, options: ServedOptions): Promise<void> => {
  const { yaml, extras } = servedTeam(options);
  bench.deploy(createEngine(engineOptions(await teamOf(yaml, extras), extras)));
};
