import { missingSession } from "../../src/session/problems.ts";
import { recordDelivered } from "../../src/engine/access/tenant/audit.ts";
import { allScopes } from "../../src/session/rpc.ts";
import type { FileChangeReport, Principal, SessionCall, SessionReply } from "../../src/session/rpc.ts";
import { createRouter } from "../../src/api/index.ts";
import type { RouterContext, RouterEnv, SessionStub } from "../../src/api/index.ts";
import { accessSchema, observabilitySchema } from "../../src/config/sections/operator.ts";
import type { TeamAgent, Team } from "../../src/config/team.ts";
import { authenticate } from "../../src/engine/access/authenticate.ts";
import { deliverActions } from "../../src/engine/access/audit-outbox.ts";
import { createKey } from "../../src/engine/access/key-store.ts";
import { sessionObjectName, tenantObjectName } from "../../src/engine/access/names.ts";
import type { PlacedNamespace } from "../../src/sandbox/jurisdiction.ts";
import { listNotes, readNote, writeNote } from "../../src/engine/access/tenant/notes.ts";
import { wasDeleted } from "../../src/engine/access/once.ts";
import type { TeamDirectory, TenantDirectory } from "../../src/engine/access/rpc.ts";
import { exchangeGrants } from "../../src/engine/access/tenant/grants.ts";
import { pinDefinition, readDefinition, unpinDefinition } from "../../src/engine/access/definitions.ts";
import { indexSession } from "../../src/engine/access/tenant/session-index.ts";
import { addMemories, recallMemories, recentMemories } from "../../src/engine/access/tenant/memories.ts";
import { addReflections, findReflections } from "../../src/engine/access/tenant/reflections.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { hasNewApprovals, recordSighting } from "../../src/engine/access/tenant/tool-pins.ts";
import { drawLease } from "../../src/engine/access/tenant/days.ts";
import { performTeamCall } from "../../src/engine/access/team-calls.ts";
import { teamMigrations } from "../../src/engine/access/team-tables.ts";
import { performTenantCall } from "../../src/engine/access/tenant/calls.ts";
import type { HealthRow } from "../../src/model/health.ts";
import { createWorkspaceFiles } from "../../src/sandbox/workspace-files.ts";
import { createLocalWorkspace } from "../sandbox/local.ts";
import { checkAnswer } from "../support/documented.ts";
import { memoryTables } from "../engine/access/tables.ts";

/** The router with the real logic of team and tenants behind it and scripted sessions. */

export const adminKey = "an-admin-key-of-thirty-two-chars";
export const origin = "https://limpet.example";
export const operator: Principal = {
  tenant: "default",
  jurisdiction: null,
  by: "operator",
  scopes: allScopes,
};
export const anId = (letter = "a"): string => `s_${letter.repeat(26)}`;

const agent = (name: string): TeamAgent =>
  ({
    name,
    description: `The ${name}.`,
    prefix: "🤖",
    provider: "scripted",
    skills: ["writing"],
    effects: [{ kind: "compact", params: {} }],
  }) as unknown as TeamAgent;

/** The parts of a compiled team that the router reads. */
const team = (access: unknown = {}, name = "default"): Team =>
  ({
    format: 1,
    name,
    revision: "r_0123456789abcdef0123",
    entry_agent: "guide",
    access: accessSchema.parse(access),
    observability: observabilitySchema.parse({}),
    providers: [
      { name: "scripted", kind: "scripted", model: "scripted-1", fallbacks: [{ provider: "backup" }] },
      { name: "backup", kind: "openai", model: "gpt-6.1-sol", fallbacks: [] },
    ],
    agents: [agent("scout"), agent("guide")],
    skills: [],
    secrets: ["MODEL_KEY"],
  }) as unknown as Team;

export interface SessionDouble {
  readonly calls: SessionCall[];
  perform: (call: SessionCall) => Promise<SessionReply>;
  fetch: (request: Request) => Promise<Response>;
  /** What was said of changes of files. */
  readonly reports: FileChangeReport[];
  reportFileChange: (report: FileChangeReport) => Promise<SessionReply>;
  /** What was asked about calls. */
  readonly explained: unknown[];
  explainCall: (asked: Pick<SessionCall, "principal" | "params">) => Promise<SessionReply>;
}

export const accepted = (value: unknown, more: Partial<SessionReply & { ok: true }> = {}): SessionReply => ({
  ok: true,
  status: 200,
  json: JSON.stringify(value),
  seq: 7,
  replayed: false,
  ...more,
});
const unknown: SessionReply = { ok: false, problem: missingSession };

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** What is sent as it is, and not as JSON. */
const isRaw = (body: unknown): body is string | Uint8Array<ArrayBuffer> =>
  typeof body === "string" || body instanceof Uint8Array;

export interface Setup {
  readonly access?: unknown;
  readonly env?: RouterEnv;
  readonly now?: () => number;
  /** Of the team. */
  readonly name?: string;
  /** What an earlier deployment of the team stored. */
  readonly store?: Pick<ReturnType<typeof memoryTables>, "tables" | "dump">;
}

/** A tenant's object over tables in memory. */
const tenantOf = (now: () => number) => {
  const { tables } = memoryTables();
  const directory: TenantDirectory = {
    perform: (call) => performTenantCall(tables, call, now()),
    index: async (summary) => indexSession(tables, summary),
    keepDefinition: async () => undefined,
    lease: async (request) => drawLease(tables, request, now()),
    wasDeleted: async (asked) => wasDeleted(tables, asked, now()),
    begin: async () => ({
      admitted: true,
      admission: "a1",
      lease: null,
      grants: { agents: [], revoked: [] },
    }),
    abandon: async () => undefined,
    grants: async (told) => exchangeGrants(tables, told, now()),
    readNote: async (owner, name) => readNote(tables, owner, name),
    listNotes: async (owner) => listNotes(tables, owner),
    writeNote: async (owner, note, key) => writeNote(tables, owner, { ...note, key, now: now() }),
    addMemories: async (rows) => addMemories(tables, rows),
    recentMemories: async (...asked) => recentMemories(tables, ...asked),
    recallMemories: async (...asked) => recallMemories(tables, ...asked),
    addReflections: async (rows, ttlMs) => addReflections(tables, rows, { ttlMs, now: now() }),
    findReflections: async (task, ttlMs) => findReflections(tables, task, { ttlMs, now: now() }),
    sawServer: async (sighting) => recordSighting(tables, sighting, now()),
    hasNewApprovals: async (check) => hasNewApprovals(tables, check),
    authorizeServer: async () => ({ kind: "failure", reason: "the team has none" }),
    finishLogin: async () => "unknown",
    recordActions: async (actions) => recordDelivered(tables, actions, now()),
  };
  return { tables, directory };
};

const noServers: Engine["servers"] = {
  toolboxes: () => [],
  sessionOf: () => null,
  end: async () => undefined,
  pinning: () => ({ lock: null, allowNew: false }),
  logins: { authorize: () => Promise.reject(new Error("none")), finish: async () => null },
  list: async (server) => ({ server, ok: false, state: "failed", reason: "the team has none" }),
};

/** A namespace that says from which place each object was asked. */
const placed = <Stub>(get: (name: string, place: string | null) => Stub, place: string | null = null) => ({
  getByName: (name: string): Stub => get(name, place),
  jurisdiction: (wanted: string): PlacedNamespace<Stub> => placed(get, wanted),
});

export function setUp({
  access,
  env = { LIMPET_ADMIN_KEY: adminKey },
  now = Date.now,
  name,
  store = memoryTables(teamMigrations),
}: Setup = {}) {
  const { tables, dump } = store;
  const sessions = new Map<string, SessionDouble>();
  const tenants = new Map<string, ReturnType<typeof tenantOf>>();
  const places: (string | null)[] = [];
  const lines: Record<string, unknown>[] = [];
  const counts = { authenticate: 0, sessions: 0 };
  const health = new Map<string, readonly HealthRow[] | Promise<never>>();
  const deliver = (): Promise<void> =>
    deliverActions(tables, (address) => tenantNamed(tenantObjectName(address)).directory, now());
  const directory: TeamDirectory = {
    authenticate(credential) {
      counts.authenticate += 1;
      return authenticate(tables, credential, { adminKey: env.LIMPET_ADMIN_KEY, now: now() });
    },
    perform: async (call) => {
      const reply = await performTeamCall(tables, call, now());
      void deliver();
      return reply;
    },
    pinDefinition: async (...asked) => pinDefinition(tables, ...asked),
    unpinDefinition: async (...asked) => unpinDefinition(tables, ...asked),
    definition: async (revision) => readDefinition(tables, revision),
  };
  const tenantNamed = (object: string): ReturnType<typeof tenantOf> => {
    const tenant = tenants.get(object) ?? tenantOf(now);
    tenants.set(object, tenant);
    return tenant;
  };
  const absent: SessionStub = {
    perform: async () => unknown,
    fetch: async () => Response.json(missingSession, { status: 404 }),
    reportFileChange: async () => unknown,
    explainCall: async () => unknown,
  };
  const sandbox = createLocalWorkspace();
  const ctx: RouterContext = {
    exports: {
      SessionObject: placed((object, place) => {
        places.push(place);
        counts.sessions += 1;
        return sessions.get(object) ?? absent;
      }),
      TeamObject: { getByName: () => directory },
      TenantObject: placed((object, place) => {
        places.push(place);
        return tenantNamed(object).directory;
      }),
      ProviderGate: {
        getByName: (name) => ({
          health: async () => health.get(name) ?? [],
          resetHealth: async () => void health.delete(name),
        }),
      },
    },
  };
  const router = createRouter({
    team: team(access, name),
    callsOf: () => [{ agent: "helper", inherit: "own", tools: ["read_file"] }],
    toolsOf: () => [{ name: "read_file", toolbox: "filesystem", description: "Reads.", safety: "read" }],
    judgeCall: () => null,
    windowOf: () => 16_000,
    workspace: ({ id }) => createWorkspaceFiles(sandbox, id),
    servers: noServers,
    now,
    log: (line) => lines.push(JSON.parse(line)),
  });
  const fetch = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const before = counts.sessions;
    const response = await router.fetch(new Request(new URL(path, origin), init), env, ctx);
    const { status, headers } = response;
    // Sessions are doubles here, which answer what a test wants.
    if (status >= 400 || !path.includes("/sessions"))
      checkAnswer({
        method: init.method ?? "GET",
        path,
        sent: typeof init.body === "string" ? jsonOf(init.body) : undefined,
        status,
        type: headers.get("Content-Type"),
        text: headers.get("Content-Type")?.includes("json") === true ? await response.clone().text() : "",
        isInvented: counts.sessions > before,
      });
    return response;
  };
  return {
    tables,
    dump,
    /** Delivers what the team's object has queued, as its alarm does. */
    deliver,
    /** The object of a tenant, with its tables. */
    tenant: (tenant = "default") => tenantNamed(tenantObjectName({ tenant, jurisdiction: null })),
    /** The names of the tenants' objects that were called. */
    tenants,
    /** Where each object was looked for. */
    places,
    lines,
    counts,
    /** What the gate of each provider says of its models. */
    health,
    fetch,
    /** A request with a key, and a JSON body if `body` is given. */
    call: (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
      fetch(path, {
        method,
        headers: {
          Authorization: `Bearer ${adminKey}`,
          ...(body === undefined ? {} : { "Content-Type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: isRaw(body) ? body : JSON.stringify(body) }),
      }),
    /** A session of a tenant that answers every call with `perform`. */
    session: async (
      id: string,
      perform: (call: SessionCall) => SessionReply | Promise<SessionReply> = () =>
        accepted({ id, created_at: 7 }),
      tenant = "default",
    ): Promise<SessionDouble> => {
      const calls: SessionCall[] = [];
      const double: SessionDouble = {
        calls,
        perform: async (call) => {
          calls.push(call);
          return perform(call);
        },
        fetch: (request) => absent.fetch(request),
        reports: [],
        explained: [],
        reportFileChange: async (report) => {
          double.reports.push(report);
          return accepted({ path: report.path });
        },
        explainCall: async (asked) => {
          double.explained.push(asked.params);
          return accepted({ verdict: "allow" });
        },
      };
      sessions.set(sessionObjectName({ tenant, jurisdiction: null }, id), double);
      return double;
    },
    sessions,
    key: async (body: {
      scopes: (typeof allScopes)[number][];
      tenant?: string;
      jurisdiction?: "eu" | "us" | null;
      expires_at?: number;
    }): Promise<string> => {
      const { credential } = await createKey(tables, { principal: operator, body, now: now() });
      return credential ?? "";
    },
  };
}

/** A problem's body without what differs from request to request. */
export async function problemOf(response: Response): Promise<Record<string, unknown>> {
  const { request_id: _, ...body }: Record<string, unknown> = await response.json();
  return body;
}
