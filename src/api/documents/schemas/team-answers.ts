import * as z from "zod";
import type { MintedToken } from "../../../engine/access/browser-tokens.ts";
import type { KeyInfo } from "../../../engine/access/key-store.ts";
import type { GrantInfo } from "../../../engine/access/tenant/grants.ts";
import type { Decision } from "../../../session/decisions.ts";
import { allScopes } from "../../../session/rpc.ts";
import { askSchema } from "./asks.ts";
import { json, nameSchema, schemaOf, time } from "./schema-of.ts";
import { usageSchema } from "./values.ts";

/** Describes the answers of the team and the tenant. */

const scopes = z.array(z.enum(allScopes));

const keyFields = schemaOf<KeyInfo>()(
  z.strictObject({
    id: z.string(),
    name: z.string().nullable(),
    tenant: z.string(),
    jurisdiction: z.enum(["eu", "us"]).nullable(),
    scopes,
    created_at: time,
    created_by: z.string(),
    expires_at: time.nullable(),
  }),
);

export const keySchema = nameSchema("Key", "An API key without its secret.", keyFields);

export const createdKeySchema = nameSchema(
  "CreatedKey",
  "A new key with its secret, which is shown this once.",
  keyFields.extend({ key: z.string().nullable().describe("Null if the request was repeated.") }),
);

export const tokenSchema = nameSchema(
  "Token",
  "A browser token for one session.",
  schemaOf<MintedToken>()(
    z.strictObject({
      token: z.string(),
      session: z.string(),
      scopes,
      expires_at: time,
      origin: z.string().nullable(),
    }),
  ),
);

export const grantSchema = nameSchema(
  "Grant",
  "A permission that an approval left behind.",
  schemaOf<GrantInfo>()(
    z.strictObject({
      id: z.string(),
      scope: z.enum(["session", "agent"]),
      session: z.string(),
      agent: z.string(),
      tool: z.string(),
      pattern: z.string(),
      by: z.string(),
      at: time,
      expires_at: time.nullable(),
    }),
  ),
);

export const decisionRowSchema = nameSchema(
  "Decision",
  "A decision about a call, a plan or a budget, and who or what made it.",
  schemaOf<Decision & { readonly id: string; readonly session: string }>()(
    z.strictObject({
      id: z.string(),
      session: z.string(),
      seq: z.int(),
      at: time,
      thread: z.string(),
      agent: z.string(),
      run: z.string().nullable(),
      call: z.string().nullable(),
      tool: z.string().nullable(),
      verdict: z.enum(["allow", "approved", "ask", "deny"]).nullable(),
      rule: z.string().nullable(),
      ask: z.string().nullable(),
      answer: json,
      who: z.string().nullable(),
      remember: json,
      input_sha256: z.string().nullable(),
      action: z.string().nullable(),
      subject: z.string().nullable(),
    }),
  ),
);

export const listedAskSchema = nameSchema(
  "ListedAsk",
  "An open ask with the session that waits for its answer; its title is null for callers who may not read sessions.",
  askSchema.extend({ session: z.string(), session_title: z.string().nullable() }),
);

const sum = z.strictObject({
  calls: z.int(),
  usage: z.strictObject({
    ...usageSchema.shape,
    cost_usd: z.number().nullable(),
    estimated: z.boolean(),
  }),
});

export const usagePageSchema = z.strictObject({
  data: z.array(
    nameSchema("UsageGroup", "The usage of a group.", sum.extend({ key: z.string().nullable() })),
  ),
  next_cursor: z.string().nullable(),
  prev_cursor: z.string().nullable(),
  total: sum,
});

const toolListing = z.strictObject({
  name: z.string(),
  toolbox: z.string(),
  description: z.string(),
  safety: z.string(),
});

const starter = z.strictObject({
  say: z.string(),
  shows: z.string().describe("What it shows, in one line."),
});

export const agentSchema = nameSchema(
  "Agent",
  "An agent of the team, with the tools that it has.",
  z.strictObject({
    name: z.string(),
    description: z.exactOptional(z.string()),
    prefix: z.string(),
    provider: z.string(),
    model: z.string(),
    context_window: z.int(),
    tools: z.array(toolListing),
    calls: z.array(
      z.strictObject({
        agent: z.string(),
        inherit: z.enum(["own", "intersect", "union"]),
        tools: z.array(z.string()),
      }),
    ),
    skills: z.array(z.string()),
    effects: z.array(z.string()),
    shrinks_at: z
      .number()
      .nullable()
      .describe("The share of the window at which messages are retired; null if none are."),
    starters: z.exactOptional(z.array(starter)).describe("What a person may begin with."),
    revision: z.string(),
  }),
);

export const modelSchema = nameSchema(
  "Model",
  "A model that turns may go to, and its health.",
  z.strictObject({
    provider: z.string(),
    model: z.string(),
    window: z.int(),
    available: z.boolean(),
    reason: z.string().nullable(),
    until: time.nullable(),
  }),
);

export const capabilitiesSchema = nameSchema(
  "Capabilities",
  "What this deployment is and can do.",
  z.strictObject({
    version: z.literal("v1"),
    team: z.string(),
    revision: z.string(),
    entry_agent: z.string(),
    limits: z.record(z.string(), z.number()),
    kinds: z.record(z.string(), z.array(z.string())),
    surfaces: z.array(z.string()),
    subprotocol: z.string(),
  }),
);

export const verdictSchema = z.strictObject({
  verdict: z.enum(["allow", "ask", "deny"]),
  by: z.string(),
  rule: z.exactOptional(z.string()),
  reason: z.exactOptional(z.string()),
  remember: z.exactOptional(z.strictObject({ tool: z.string(), pattern: z.string() })),
  error: z.exactOptional(z.string()),
});

const toolChange = z.strictObject({ tool: z.string(), pinned: z.string().nullable(), found: z.string() });

const serverState = z.enum(["connected", "failed", "auth_needed", "quarantined"]);

export const serverSchema = nameSchema(
  "McpServer",
  "An MCP server as the tenant's sessions found it.",
  z.strictObject({
    name: z.string(),
    state: serverState,
    tools: z.exactOptional(z.int()),
    error: z.exactOptional(z.string()),
    changes: z.array(toolChange).describe("Tools that differ from what was approved."),
    checked_at: z.int(),
  }),
);

export const connectedSchema = z.strictObject({
  name: z.string(),
  state: serverState,
  tools: z.exactOptional(z.array(z.string())),
  changes: z
    .exactOptional(z.array(toolChange.extend({ description: z.string(), parameters: z.json() })))
    .describe("Tools that differ from what was approved, as the server offers them now."),
  error: z.exactOptional(z.string()),
  url: z.exactOptional(z.string()).describe("A person opens it to log in."),
});

export const approvedSchema = z.strictObject({
  approved: z.array(z.strictObject({ tool: z.string(), hash: z.string() })),
});

export const readySchema = z.strictObject({
  ready: z.boolean(),
  missing_secrets: z.exactOptional(z.array(z.string())).describe("For administrators."),
  sandbox: z.exactOptional(z.string()).describe("For administrators: whether the sandbox answers."),
});

export const healthSchema = z.strictObject({ ok: z.literal(true) });
