import type { ProblemCode } from "../session/problems.ts";
import type { Principal, SessionRpc } from "../session/rpc.ts";
import type { LogLine } from "../tools/log-line.ts";
import type { TeamDirectory } from "../engine/access/rpc.ts";
import type { Engine } from "../engine/engine.ts";
import type { Authenticate } from "./credentials.ts";
import type { CountRequest } from "./rate-limit.ts";

/** What the router is made of, and what stands around one request. */

/** Secrets and variables of the Worker; `LIMPET_DEV` and `LIMPET_FRONT` are passed by `npm start` alone. */
export interface RouterEnv {
  readonly LIMPET_ADMIN_KEY?: string;
  readonly LIMPET_DEV?: string;
  /** By this word the front of `npm start` vouches for what it says of a client. */
  readonly LIMPET_FRONT?: string;
  readonly [name: string]: unknown;
}

/** A session's object as the router reaches it: one RPC, and a WebSocket. */
export interface SessionStub extends SessionRpc {
  fetch(request: Request): Promise<Response>;
}
/** What the router asks of a provider's gate: the models that failed lately. */
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
}
interface Namespace<Stub> {
  getByName(name: string): Stub;
}
/** `ctx` of the Worker: its classes by `ctx.exports`. */
export interface RouterContext {
  readonly exports: {
    readonly SessionObject: Namespace<SessionStub>;
    readonly TeamObject: Namespace<TeamDirectory>;
    /** By provider name. */
    readonly ProviderGate: Namespace<HealthStub>;
  };
}

export interface RouterDependencies extends Pick<Engine, "team" | "toolsOf" | "callsOf" | "windowOf"> {
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** Takes one JSON line. */
  readonly log?: (line: string) => void;
  /** Makes such a line: it masks what has no place in logs. */
  readonly logLine?: LogLine;
}

/** What lives as long as the router: settings, and the two small caches of this isolate. */
export interface Router extends Required<RouterDependencies> {
  readonly authenticate: Authenticate;
  readonly countRequest: CountRequest;
}

/** What the log line of a request says about it, filled in on its way. */
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

/** A request on a session's route, its id checked. */
export interface SessionRequestContext extends AuthorizedContext {
  readonly session: string;
}
