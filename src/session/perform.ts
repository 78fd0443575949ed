import * as z from "zod";
import type { Session } from "../agent/state/session.ts";
import type { Draft, KeptAnswer } from "../agent/transaction/draft.ts";
import type { Json } from "../chat/message.ts";
import { sha256Hex } from "../sandbox/sha256.ts";
import { canonicalJson } from "../tools/canonical.ts";
import type { Redactor } from "../tools/redaction.ts";
import type { Answer, Archive, ReadContext, Rules } from "./command.ts";
import { checked } from "./command.ts";
import { commands } from "./operations.ts";
import { snapshotOf } from "./operations/queries.ts";
import { accessProblem, createSchema, sessionView } from "./operations/session.ts";
import { ProblemError, refuse, refuseFor } from "./problems.ts";
import type { Operation, SessionCall, SessionReply } from "./rpc.ts";
import { operationScopes } from "./rpc.ts";

/** The one door into a session, for HTTP and sockets alike. */

export interface Door {
  /** Null until the session is created. */
  readonly read: () => Session | null;
  readonly archive: () => Archive;
  readonly rules: Rules;
  readonly agentOf: ReadContext["agentOf"];
  readonly now: () => number;
  readonly update: <T>(change: (draft: Draft) => T) => T;
  /** The tenant has as many runs under way as it may have. */
  readonly full: boolean;
  /** Bytes that the session holds. */
  readonly stored: () => number;
  /** Known secrets in what a caller sends go no further. */
  readonly redactor: Redactor;
  /** Open streamed items with their text so far. */
  readonly items: () => Json;
  /** An earlier session of this name was deleted under the key of this call; null: it cannot be told now. */
  readonly deleted: boolean | null;
  /** Removes everything but the key of the delete. */
  readonly remove: (key: string | null) => void;
}

type Reply = Extract<SessionReply, { ok: true }>;

const unknown = (): never => refuse("not_found", "no such session");

const jsonOf = ({ value }: Answer): string =>
  typeof value === "object" &&
  value !== null &&
  "json" in value &&
  typeof value["json"] === "string" &&
  Object.keys(value).length === 1
    ? value["json"]
    : JSON.stringify(value);

const sessionOf = (door: Door, call: SessionCall): Session => {
  const session = door.read();
  refuseFor(accessProblem(session, call.principal));
  return session ?? unknown();
};

const dayMs = 86_400_000;

/** How long the answer to a key is known. */
const keptMs = 7 * dayMs;

/** What the address names beside the session: it is a part of the key's scope. */
const addressed: Partial<Record<Operation, string>> = {
  answer: "ask",
  edit_input: "input",
  withdraw: "input",
  pin: "message",
};

const fieldOf = (params: unknown, name: string): unknown =>
  typeof params === "object" && params !== null ? (params as Record<string, unknown>)[name] : undefined;

/** Scope and key of a command; null without a key. Ids hold no spaces. */
const keyOf = ({ op, key, params }: SessionCall): string | null => {
  if (key === undefined) return null;
  const name = addressed[op];
  return name === undefined ? `${op}:${key}` : `${op} ${String(fieldOf(params, name))} ${key}`;
};

interface Keyed {
  readonly key: string;
  readonly fingerprint: string;
}

const keyed = (call: SessionCall): Keyed | null => {
  const key = keyOf(call);
  return key === null ? null : { key, fingerprint: sha256Hex(canonicalJson(call.params)) };
};

/** The stored answer to a repeated command; another body under the same key is refused. */
const replayed = (door: Door, given: Keyed | null): Reply | null => {
  const known = given === null || door.read() === null ? null : door.archive().answer(given.key);
  if (known === null || known.at < door.now() - keptMs) return null;
  if (known.fingerprint !== given?.fingerprint)
    return refuse("idempotency_key_reused", "this Idempotency-Key was used with another body; use a new key");
  return { ok: true, status: known.status, json: known.json, seq: door.read()?.head ?? 0, replayed: true };
};

/** Keeps an answer; those that are over go once a day, since finding them reads them all. */
const kept = (draft: Draft, answer: KeptAnswer): void => {
  draft.answers.push(answer);
  const since = answer.at - keptMs;
  if (since - (draft.state.keysSince ?? -Infinity) < dayMs) return;
  draft.state = { ...draft.state, keysSince: since };
};

const written = (door: Door, call: SessionCall): Reply => {
  const given = keyed(call);
  return (
    replayed(door, given) ??
    door.update((draft): Reply => {
      const answer = runWrite(door, call, draft);
      const json = jsonOf(answer);
      const { status } = answer;
      if (given !== null) kept(draft, { ...given, status, json, at: draft.moment.now });
      return { ok: true, status, json, seq: draft.state.head + draft.events.length, replayed: false };
    })
  );
};

const created = (door: Door, call: SessionCall): Reply => {
  const existing = door.read();
  if (existing === null) return written(door, call);
  refuseFor(accessProblem(existing, call.principal));
  checked(createSchema, call.params);
  const json = JSON.stringify(sessionView(existing));
  return replayed(door, keyed(call)) ?? { ok: true, status: 200, json, seq: existing.head, replayed: false };
};

const runWrite = (door: Door, call: SessionCall, draft: Draft): Answer => {
  const command = commands[call.op as keyof typeof commands];
  if (command.kind === "read") return refuse("internal", "a read was asked to write");
  const { principal, ifMatch } = call;
  return command.run(
    {
      draft,
      archive: door.archive(),
      principal,
      rules: door.rules,
      ifMatch: ifMatch ?? null,
      full: door.full,
      stored: door.stored,
    },
    call.params,
  );
};

const noParameters = z.strictObject({});

/** Deletes the session. Its key is not kept among its rows, which go, and does nothing to a later session of the same name. */
const removed = (door: Door, call: SessionCall): Reply => {
  if (door.deleted === null)
    return refuse("overloaded", "whether this key was used before cannot be told now; send it again", {
      retryAfterMs: 2_000,
    });
  const state = door.deleted ? null : sessionOf(door, call);
  checked(noParameters, call.params);
  if (state !== null) door.remove(call.key ?? null);
  return { ok: true, status: 204, json: "", seq: state?.head ?? 0, replayed: state === null };
};

const performed = (door: Door, call: SessionCall): Reply => {
  const scope = operationScopes[call.op];
  const { principal, op } = call;
  const decides = scope === "asks:answer" && principal.scopes.includes("approvals:decide");
  if (!principal.scopes.includes(scope) && !decides)
    return refuse("scope_missing", `this needs the scope ${scope}`);
  if (op === "create") return created(door, call);
  if (op === "delete") return removed(door, call);
  const state = sessionOf(door, call);
  if (op === "snapshot") {
    checked(noParameters, call.params);
    const json = snapshotOf({ state, archive: door.archive() }, door.items());
    return { ok: true, status: 200, json, seq: state.head, replayed: false };
  }
  const command = commands[op];
  if (command.kind === "write") return written(door, call);
  const answer = command.run(
    { state, archive: door.archive(), rules: door.rules, principal, now: door.now(), agentOf: door.agentOf },
    call.params,
  );
  return { ok: true, status: answer.status, json: jsonOf(answer), seq: state.head, replayed: false };
};

/** A problem as the answer of an operation; anything else throws. */
export const refusal = (error: unknown): SessionReply => {
  if (error instanceof ProblemError) return { ok: false, problem: error.problem };
  throw error;
};

/** Performs one operation; what the caller did wrong comes back as a problem, everything else throws. */
export const perform = (door: Door, given: SessionCall): SessionReply => {
  try {
    return performed(door, { ...given, params: door.redactor.value(given.params) });
  } catch (error) {
    return refusal(error);
  }
};
