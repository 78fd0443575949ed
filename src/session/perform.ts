import * as z from "zod";
import type { Session } from "../agent/state/session.ts";
import type { Draft, StoredAnswer } from "../agent/transaction/draft.ts";
import type { Json } from "../chat/message.ts";
import { sha256Hex } from "../sandbox/sha256.ts";
import { canonicalJson } from "../tools/canonical.ts";
import type { Redactor } from "../tools/redaction.ts";
import type { CommandAnswer, Archive, ReadContext, SessionRules } from "./command.ts";
import { parseParams } from "./command.ts";
import { sessionCommands } from "./operations.ts";
import { createSnapshot } from "./operations/queries.ts";
import { accessProblem, createSchema, sessionView } from "./operations/session.ts";
import { ProblemError, refuse, refuseIfProblem } from "./problems.ts";
import type { Operation, SessionCall, SessionReply } from "./rpc.ts";
import { operationScopes } from "./rpc.ts";

/** Defines what an operation may use of its session, over HTTP and sockets alike. */

export interface OperationContext {
  /** Returns null until the session is created. */
  readonly read: () => Session | null;
  readonly archive: () => Archive;
  readonly rules: SessionRules;
  readonly agentOf: ReadContext["agentOf"];
  readonly now: () => number;
  readonly update: <T>(change: (draft: Draft) => T) => T;
  /** Is true if the tenant has as many runs under way as it may have. */
  readonly full: boolean;
  /** Returns the bytes that the session holds. */
  readonly stored: () => number;
  /** Removes known secrets from what a caller sends. */
  readonly redactor: Redactor;
  /** Returns the open streamed items with their text so far. */
  readonly items: () => Json;
  /** Is true if this call's key deleted an earlier session of this name; null means that this is unknown now. */
  readonly deleted: boolean | null;
  /** Removes everything except the key of the delete. */
  readonly remove: (key: string | null) => void;
}

type PerformedReply = Extract<SessionReply, { ok: true }>;

const refuseUnknownSession = (): never => refuse("not_found", "no such session");

const answerJson = ({ value }: CommandAnswer): string =>
  typeof value === "object" &&
  value !== null &&
  "json" in value &&
  typeof value["json"] === "string" &&
  Object.keys(value).length === 1
    ? value["json"]
    : JSON.stringify(value);

const requireSession = (context: OperationContext, call: SessionCall): Session => {
  const session = context.read();
  refuseIfProblem(accessProblem(session, call.principal));
  return session ?? refuseUnknownSession();
};

const dayMs = 86_400_000;

/** Sets how long the answer to a key is kept. */
const keptMs = 7 * dayMs;

/** Names what the address holds besides the session, which becomes part of the key's scope. */
const addressFields: Partial<Record<Operation, string>> = {
  answer: "ask",
  edit_input: "input",
  withdraw: "input",
  pin: "message",
};

const fieldOf = (params: unknown, name: string): unknown =>
  typeof params === "object" && params !== null ? (params as Record<string, unknown>)[name] : undefined;

/** Returns the scope and key of a command, or null without a key. Ids hold no spaces. */
const commandKeyOf = ({ op, key, params }: SessionCall): string | null => {
  if (key === undefined) return null;
  const name = addressFields[op];
  return name === undefined ? `${op}:${key}` : `${op} ${String(fieldOf(params, name))} ${key}`;
};

interface KeyedCall {
  readonly key: string;
  readonly fingerprint: string;
}

const keyedCallOf = (call: SessionCall): KeyedCall | null => {
  const key = commandKeyOf(call);
  return key === null ? null : { key, fingerprint: sha256Hex(canonicalJson(call.params)) };
};

/** Returns the stored answer to a repeated command; the same key with another body is refused. */
const replayAnswer = (context: OperationContext, given: KeyedCall | null): PerformedReply | null => {
  const known = given === null || context.read() === null ? null : context.archive().answer(given.key);
  if (known === null || known.at < context.now() - keptMs) return null;
  if (known.fingerprint !== given?.fingerprint)
    return refuse("idempotency_key_reused", "this Idempotency-Key was used with another body; use a new key");
  return { ok: true, status: known.status, json: known.json, seq: context.read()?.head ?? 0, replayed: true };
};

/** Stores an answer; expired ones are removed once a day, since finding them reads them all. */
const keepAnswer = (draft: Draft, answer: StoredAnswer): void => {
  draft.answers.push(answer);
  const since = answer.at - keptMs;
  if (since - (draft.state.keysSince ?? -Infinity) < dayMs) return;
  draft.state.keysSince = since;
};

const performWrite = (context: OperationContext, call: SessionCall): PerformedReply => {
  const given = keyedCallOf(call);
  return (
    replayAnswer(context, given) ??
    context.update((draft): PerformedReply => {
      const answer = runWrite(context, call, draft);
      const json = answerJson(answer);
      const { status } = answer;
      if (given !== null) keepAnswer(draft, { ...given, status, json, at: draft.moment.now });
      return { ok: true, status, json, seq: draft.state.head + draft.events.length, replayed: false };
    })
  );
};

const performCreate = (context: OperationContext, call: SessionCall): PerformedReply => {
  const existing = context.read();
  if (existing === null) return performWrite(context, call);
  refuseIfProblem(accessProblem(existing, call.principal));
  parseParams(createSchema, call.params);
  const json = JSON.stringify(sessionView(existing));
  return (
    replayAnswer(context, keyedCallOf(call)) ?? {
      ok: true,
      status: 200,
      json,
      seq: existing.head,
      replayed: false,
    }
  );
};

const runWrite = (context: OperationContext, call: SessionCall, draft: Draft): CommandAnswer => {
  const command = sessionCommands[call.op as keyof typeof sessionCommands];
  if (command.kind === "read") return refuse("internal", "a read was asked to write");
  const { principal, ifMatch } = call;
  return command.run(
    {
      draft,
      archive: context.archive(),
      principal,
      rules: context.rules,
      ifMatch: ifMatch ?? null,
      full: context.full,
      stored: context.stored,
    },
    call.params,
  );
};

const noParameters = z.strictObject({});

/** Deletes the session. Its rows go with their keys, and the key of the delete does nothing to a later session. */
const performDelete = (context: OperationContext, call: SessionCall): PerformedReply => {
  if (context.deleted === null)
    return refuse("overloaded", "whether this key was used before cannot be told now; send it again", {
      retryAfterMs: 2_000,
    });
  const state = context.deleted ? null : requireSession(context, call);
  parseParams(noParameters, call.params);
  if (state !== null) context.remove(call.key ?? null);
  return { ok: true, status: 204, json: "", seq: state?.head ?? 0, replayed: state === null };
};

const performOperation = (context: OperationContext, call: SessionCall): PerformedReply => {
  const scope = operationScopes[call.op];
  const { principal, op } = call;
  const decides = scope === "asks:answer" && principal.scopes.includes("approvals:decide");
  if (!principal.scopes.includes(scope) && !decides)
    return refuse("scope_missing", `this needs the scope ${scope}`);
  if (op === "create") return performCreate(context, call);
  if (op === "delete") return performDelete(context, call);
  const state = requireSession(context, call);
  if (op === "snapshot") {
    parseParams(noParameters, call.params);
    const json = createSnapshot({ state, archive: context.archive() }, context.items());
    return { ok: true, status: 200, json, seq: state.head, replayed: false };
  }
  const command = sessionCommands[op];
  if (command.kind === "write") return performWrite(context, call);
  const answer = command.run(
    {
      state,
      archive: context.archive(),
      rules: context.rules,
      principal,
      now: context.now(),
      agentOf: context.agentOf,
    },
    call.params,
  );
  return { ok: true, status: answer.status, json: answerJson(answer), seq: state.head, replayed: false };
};

/** Turns a problem into the answer of an operation; rethrows anything else. */
export const problemReply = (error: unknown): SessionReply => {
  if (error instanceof ProblemError) return { ok: false, problem: error.problem };
  throw error;
};

/** Performs one operation; a caller's mistake comes back as a problem, and everything else throws. */
export const perform = (context: OperationContext, given: SessionCall): SessionReply => {
  try {
    return performOperation(context, { ...given, params: context.redactor.value(given.params) });
  } catch (error) {
    return problemReply(error);
  }
};
