import type { ProblemCode } from "../session/problems.ts";
import type { Principal, SessionRpc } from "../session/rpc.ts";
import type { LogLine } from "../tools/log-line.ts";
import type { PlacedNamespace } from "../engine/access/names.ts";
import type { TeamDirectory, TenantDirectory } from "../engine/access/rpc.ts";
import type { Engine } from "../engine/engine.ts";
import type { Authenticate } from "./access/credentials.ts";
import type { CountRequest } from "./access/rate-limit.ts";

/** This file defines the parts of the router and the context of one request. */

/** Holds secrets and variables of the Worker; only `npm start` passes `LIMPET_DEV`, `LIMPET_FRONT` and `LIMPET_ORIGIN`. */
export interface RouterEnv {
  readonly LIMPET_ADMIN_KEY?: string;
  readonly LIMPET_DEV?: string;
  /** Holds the secret with which the front of `npm start` vouches for its headers about a client. */
  readonly LIMPET_FRONT?: string;
  readonly [name: string]: unknown;
}

/** Represents a session's object as the router calls it: by RPC and WebSocket. */
export interface SessionStub extends SessionRpc {
  fetch(request: Request): Promise<Response>;
}
/** Asks a provider's gate for the models that failed lately, or to forget that they did. */
interface HealthStub {
  health(claim: null): Promise<
    readonly {
      readonly model: string;
      readonly available: boolean;
      readonly reason: string | null;
      /** Gives milliseconds since the epoch. */
      readonly until: number | null;
    }[]
  >;
  resetHealth(): Promise<void>;
}
interface Namespace<Stub> {
  getByName(name: string): Stub;
}
/** Represents the Worker's `ctx`, whose `exports` hold its classes. */
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
  /** Takes one JSON line. */
  readonly log?: (line: string) => void;
  /** Makes such a line and masks what must not be logged. */
  readonly logLine?: LogLine;
}

/** Holds what lives as long as the router: its settings and the two small caches of this isolate. */
export interface Router extends Required<RouterDependencies> {
  readonly authenticate: Authenticate;
  readonly countRequest: CountRequest;
}

/** Collects what the log line of a request says about it. */
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
  /** Holds this request's W3C trace context, a child of the caller's if it sent one. */
  readonly traceparent: string;
  readonly notes: RequestNotes;
  /** Holds path parameters, decoded once. */
  readonly path: Readonly<Record<string, string>>;
  /** Holds headers for the answer. */
  readonly headers: Headers;
}

export interface AuthorizedContext extends RequestContext {
  readonly principal: Principal;
}

/** Holds a request on a session's route, whose id is checked. */
export interface SessionRequestContext extends AuthorizedContext {
  readonly session: string;
}
