export { createClient } from "./client.ts";
export type { LimpetClient } from "./client.ts";
export { LimpetError } from "./http.ts";
export type { ClientOptions, ClientRequest } from "./http.ts";
export type { SessionClient } from "./session.ts";
export type { EventsOptions } from "./events.ts";
export type {
  AnswerOf,
  AnswerPage,
  CallOperation,
  CallOptions,
  ClientOperationName,
  InputReceipt,
  KeyAnswer,
  ListedSessionAnswer,
  ParamsOf,
  SessionAnswer,
  UsageAnswer,
} from "./call.ts";
export type * from "./params.ts";
export type * from "./transcript.ts";
export type { EventType, StoredEvent } from "../agent/state/events.ts";
