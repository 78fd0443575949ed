import * as z from "zod";
import { actNames } from "./acts.ts";
import { count, duration, headersOf, mapOf, text } from "../schema.ts";

const dateOrTime = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/** Schema of a permission rule. Deny beats ask beats allow; the order has no meaning. */
const ruleSchema = z
  .strictObject({
    tool: text(200, 1)
      .optional()
      .describe("Tool name or glob; it binds only these tools. A rule names either tool or act."),
    act: z
      .enum(actNames)
      .optional()
      .describe(
        "What a call does; it binds every tool that does it. write: edit, patch, move, copy, delete too. Tools of MCP servers, and of extensions without acts, are bound by tool alone.",
      ),
    match: text(1_000, 1)
      .optional()
      .describe(
        "Pattern for the call's subject: path, command line, URL, agent. A deny or ask on a part of a folder applies to calls on the folder; an allow on a part of it does not. A deny or ask of exec holds for every exec_shell.",
      ),
    action: z.enum(["allow", "ask", "deny"]).describe("What happens to a matching call."),
    on_timeout: z
      .enum(["deny", "approve"])
      .default("deny")
      .describe("What happens if an approval is not answered."),
    ask_timeout: duration({ min: "1s" })
      .optional()
      .describe("How long an approval waits; omitted: limits.asks."),
    reason: text(500).optional().describe("Sentence shown with a denial or an approval."),
    expires: z
      .string()
      .refine(
        (value) => dateOrTime.safeParse(value).success,
        "invalid_value: write a date like 2027-01-31, or a time like 2027-01-31T18:00:00Z",
      )
      .optional()
      .describe("When the rule no longer applies: a time, or the last day on which it does, in UTC."),
  })
  .refine((rule) => (rule.tool === undefined) !== (rule.act === undefined), {
    error: "exclusive_keys: a rule names exactly one of tool and act",
  })
  .refine((rule) => rule.tool !== "exec_shell" || rule.match === undefined || rule.match === "*", {
    path: ["match"],
    error: 'invalid_value: shell text cannot be matched safely; omit match or write "*"',
  });

const presets = ["sandboxed", "ask", "open", "locked"] as const;

/** Schema of the permissions of tools. */
export const permissionsSchema = z.strictObject({
  preset: z.enum(presets).default("sandboxed").describe("Verdict where no rule matches."),
  rules: z.array(ruleSchema).max(200).default([]).describe("Rules over the preset."),
  after_untrusted: z
    .enum(["off", "ask"])
    .default("off")
    .describe(
      "ask: once foreign content, such as a web page, has reached a run, its unsafe calls and hosts outside egress.allow ask until it ends.",
    ),
});

/** Schema of the same block on an agent; omitted fields are the team's. */
export const agentPermissionsSchema = z.strictObject({
  preset: z.enum(presets).optional().describe("Verdict where no rule matches; omitted: the team's."),
  rules: z.array(ruleSchema).max(200).default([]).describe("Rules besides the team's."),
  after_untrusted: z
    .enum(["off", "ask"])
    .optional()
    .describe("As in the team's permissions; omitted: the team's."),
});

const host = () =>
  text(253, 1).refine((value) => /^(\*\.)?[A-Za-z0-9.-]+$/.test(value), {
    error: "invalid_value: write a host name like api.example.com or *.example.com, without scheme or path",
  });

/** Schema of the hosts that may be reached. */
export const egressSchema = z.strictObject({
  allow: z.array(host()).max(200).default([]).describe("Hosts that tools may reach without a question."),
  deny: z.array(host()).max(200).default([]).describe("Hosts that no request may reach."),
  ports: z
    .array(count(1, 65_535))
    .min(1)
    .max(50)
    .default([443, 80, 8443])
    .describe("Ports that may be used."),
  allow_http: z.boolean().default(false).describe("Allow http besides https."),
});

/** Schema of secrets that are bound to an origin. */
export const httpSchema = z.strictObject({
  headers: mapOf(headersOf(["host", "content-length"]))
    .prefault({})
    .describe("Origin → header → value; sent by http_fetch only to that origin."),
});

export const browserSchema = z.strictObject({
  endpoint: z.string().optional().describe("CDP address; omitted: the BROWSER binding."),
  search_url: z
    .string()
    .refine((value) => value.includes("{query}"), "invalid_value: the address must contain {query}")
    .optional()
    .describe("Search page of browser_search, such as your own SearXNG; {query} is replaced."),
  headless: z
    .boolean()
    .default(true)
    .describe("Accepted for older files; a browser here is always headless."),
});

/** Matches a name and a mail address. */
export const authorPattern = /^([^<>\n]*[^<>\s]) <([^<>\s]+)>$/;

export const gitSchema = z.strictObject({
  work_dir: text(500, 1)
    .refine(
      (path) => !/(?:^|\/)\.\.(?:\/|$)|\\/.test(path),
      "invalid_value: name a folder like src/app, without .. and \\",
    )
    .default(".")
    .describe("Folder in which git starts, relative to the agent's working_dir."),
  author: text(200, 1)
    .regex(authorPattern, "invalid_value: write it like Name <name@example.com>")
    .default("Limpet <agent@localhost>")
    .describe("Author of commits, as Name <address>."),
});

export const filesystemSchema = z.strictObject({
  permissions_file: text(500).optional().describe("Accepted for older files; has no effect."),
});

/** Schema of an entry of an agent's `toolboxes`; a bare name becomes `{name}`. `tools` omitted = all, `[]` = none. */
export const toolboxEntrySchema = z.union([
  text(64, 1)
    .meta({ "x-names": "toolboxes" })
    .transform((name): { name: string; tools?: string[] | undefined } => ({ name })),
  z.strictObject({
    name: text(64, 1).meta({ description: "Toolbox or MCP server.", "x-names": "toolboxes" }),
    tools: z
      .array(text(128, 1).meta({ "x-names": "tools" }))
      .optional()
      .describe("Its tools to offer; omitted: all, []: none."),
  }),
]);

/** Schema of an MCP server, with exactly one of `url` and `command`. */
export const mcpServerSchema = z
  .strictObject({
    name: z
      .string()
      .regex(
        // The names of tools begin with it and `__`, and a name that is cut to 64 characters keeps these.
        /^[A-Za-z](?!.*__|.*_$)[A-Za-z0-9_-]{0,51}$/,
        "invalid_value: a server name has at most 52 letters, digits, - and single _, and no _ at its end",
      )
      .describe("Name of the server and of its toolbox."),
    url: z.string().optional().describe("Address of the server."),
    command: text(500, 1).optional().describe("Program that speaks MCP over stdio, run in the sandbox."),
    args: z.array(z.string()).max(100).default([]).describe("Arguments of the command."),
    env: mapOf(z.string()).prefault({}).describe("Environment of the command."),
    headers: headersOf(["host", "content-length", "mcp-session-id"])
      .prefault({})
      .describe("Headers of every request."),
    transport: z
      .enum(["auto", "streamable_http", "sse"])
      .default("auto")
      .describe("How to speak to the address."),
    allow_literal_secrets: z.boolean().default(false).describe("Permit keys of this server in the file."),
    protocol: z
      .enum(["auto", "2025", "2026"])
      .default("auto")
      .describe("Revision of MCP: a fixed one, or the newest that the server knows."),
    auth: z
      .enum(["none", "oauth", "client_credentials"])
      .default("none")
      .describe(
        "How to authorise: a person signs in for the tenant, or the team's own client requests tokens.",
      ),
    credentials: z
      .strictObject({
        client_id: text(2_000, 1).describe("Id of the client."),
        client_secret: z.string().optional().describe("Secret of the client, as a reference."),
        private_key: z
          .string()
          .optional()
          .describe("Private key of the client (PKCS #8), as a reference, in place of a secret."),
        issuer: text(2_000, 1)
          .optional()
          .describe(
            "Issuer of the only authorisation server that receives the secret; omitted: the one that the server names, which gets a secret only if it stands at the server's own host. Name it: a server that is not honest could take the secret of another.",
          ),
        scope: text(2_000, 1)
          .optional()
          .describe("Scopes to ask for if the server names none, separated by spaces."),
      })
      .optional()
      .describe("Client that the team registered; omitted with oauth: Limpet registers one."),
    tools: z.array(text(128, 1)).optional().describe("Its tools to offer; omitted: all."),
    trust: z.boolean().default(false).describe("Trust the server's statements about its tools."),
    new_tools: z
      .enum(["quarantine", "allow"])
      .default("quarantine")
      .describe("How tools that appear later are treated."),
    timeout: duration({ min: "1ms", max: "10m" }).prefault("60s").describe("Deadline of a call."),
    required: z.boolean().default(false).describe("Whether a run fails without this server."),
  })
  .refine((server) => (server.url === undefined) !== (server.command === undefined), {
    error: "exclusive_keys: an MCP server needs exactly one of url and command",
  });
