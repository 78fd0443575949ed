import type { AnswerOf, CallOperation, CallOptions, ParamsOf } from "./call.ts";
import { createCall } from "./call.ts";
import type { ClientOptions, ClientRequest } from "./http.ts";
import { createHttp } from "./http.ts";
import type { SessionClient } from "./session.ts";
import { createSessionClient } from "./session.ts";

/** This file is the client of a deployment. */

/** A client of one deployment, for one key or token. */
export interface LimpetClient {
  readonly sessions: {
    /** Creates a session; one that has the given `ref` already is returned as it is. */
    readonly create: (params?: ParamsOf<"create">, options?: CallOptions) => Promise<SessionClient>;
    /** Returns the client of a session by its id; nothing is requested. */
    readonly get: (id: string) => SessionClient;
    readonly list: (params?: ParamsOf<"list_sessions">) => Promise<AnswerOf<"list_sessions">>;
  };
  /** Calls any operation by its name. */
  readonly call: CallOperation;
  /** Makes any other request, such as for a file's bytes; a refusal is thrown as a `LimpetError`. */
  readonly request: (request: ClientRequest) => Promise<Response>;
}

/** Creates a client; nothing is requested. */
export const createClient = (options: ClientOptions): LimpetClient => {
  const http = createHttp(options);
  const call = createCall(http);
  const source = { http, call, WebSocket: options.WebSocket ?? globalThis.WebSocket };
  return {
    sessions: {
      create: async (params = {}, given) => {
        const session = await call("create", params, given);
        return createSessionClient(source, session.id);
      },
      get: (id) => createSessionClient(source, id),
      list: (params = {}) => call("list_sessions", params),
    },
    call,
    request: http.fetch,
  };
};
