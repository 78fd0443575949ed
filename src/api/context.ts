import type { ProblemCode } from "../session/problems.ts";
import type { Principal, SessionRpc } from "../session/rpc.ts";
import type { LogLine } from "../tools/log-line.ts";
import type { PlacedNamespace } from "../sandbox/jurisdiction.ts";
import type { TeamDirectory, TenantDirectory } from "../engine/access/rpc.ts";
import type { Engine } from "../engine/engine.ts";
import type { Authenticate } from "./access/credentials.ts";
import type { CountRequest } from "./access/rate-limit.ts";

/** Parts of the router, and the context of one request. */

/** Secrets and variables of the Worker; only `npm start` passes `LIMPET_DEV`, `LIMPET_FRONT` and `LIMPET_ORIGIN`. */
export interface RouterEnv {
  readonly LIMPET_ADMIN_KEY?: string;
  readonly LIMPET_DEV?: string;
  /** Secret by which the front of `npm start` marks its headers about a client as trusted. */
  readonly LIMPET_FRONT?: string;
  readonly [name: string]: unknown;
}

/** A session's object as the router calls it: by RPC and WebSocket. */
export interface SessionStub extends SessionRpc {
  fetch(request: Request): Promise<Response>;
}
/** Gate of a provider: lists the models that failed recently, or resets their failures. */
interface HealthStub {
  health(claim: null): Promise<
    readonly {
      readonly model: string;
      readonly available: boolean;
      readonly reason: string | null;
      /** Milliseconds since the epoch. */
      readonly until: number | null;
    }[]
  >;
  resetHealth(): Promise<void>;
}
interface Namespace<Stub> {
  getByName(name: string): Stub;
}
/** `ctx` of the Worker, whose `exports` hold its classes. */
export interface RouterContext {
  readonly exports: {
    readonly SessionObject: PlacedNamespace<SessionStub>;
    readonly TeamObject: Namespace<TeamDirectory>;
    readonly TenantObject: PlacedNamespace<TenantDirectory>;
    /** Finds a gate by its provider name. */
    readonly ProviderGate: Namespace<HealthStub>;
  };
}

export interface RouterDependencies extends Pick<
  Engine,
  "team" | "toolsOf" | "judgeCall" | "callsOf" | "windowOf" | "workspace" | "servers"
> {
  /** Returns milliseconds since the epoch. */
  readonly now?: () => number;
  /** Writes one JSON line to the log. */
  readonly log?: (line: string) => void;
  /** Makes a log line and masks what must not be logged. */
  readonly logLine?: LogLine;
}

/** State that lives as long as the router: its settings and the two small caches of this isolate. */
export interface Router extends Required<RouterDependencies> {
  readonly authenticate: Authenticate;
  readonly countRequest: CountRequest;
}

/** Facts about a request for its log line. */
interface RequestNotes {
  route: string | null;
  tenant: string | null;
  session: string | null;
  code: ProblemCode | null;
  fault: unknown;
}

export interface RequestContext {
  readonly router: Router;
  readonly request: Request;
  readonly url: URL;
  readonly env: RouterEnv;
  readonly objects: RouterContext["exports"];
  readonly requestId: string;
  /** W3C trace context of this request, a child of the caller's if it sent one. */
  readonly traceparent: string;
  readonly notes: RequestNotes;
  /** Path parameters, decoded once. */
  readonly path: Readonly<Record<string, string>>;
  /** Headers for the answer. */
  readonly headers: Headers;
}

export interface AuthorizedContext extends RequestContext {
  readonly principal: Principal;
}

/** Request on a session's route, whose id is checked. */
export interface SessionRequestContext extends AuthorizedContext {
  readonly session: string;
}
