import * as z from "zod";
import type { Json } from "../../chat/message.ts";
import { utf8Length } from "../../chat/tokens.ts";
import { isLonger } from "../../chat/truncate.ts";
import { describeIssue } from "../../schema.ts";
import { failureReasons } from "../state/events.ts";
import type { ChatEdit, EffectResult, Inject, OverlayEdit, Retire } from "./effect.ts";
import type { AfterGuardResult, GuardVerdict, FinishResult, StartResult } from "./guard.ts";

/** Checks results of effects, guards and middleware, which a team's own code may have written. */

const stateLimit = 65_536;

const noteLimit = 8_000;

const editLimit = 50;

const isText = (value: unknown): value is string => typeof value === "string";

const isOverlay = ({ message, part, text }: OverlayEdit["overlay"]): boolean =>
  isText(message) && Number.isInteger(part) && (isText(text) || typeof text === "function");

const isRetire = ({ from, to, summary }: Retire["retire"]): boolean =>
  isText(from) && isText(to) && (summary === undefined || isText(summary));

const isEdit = (edit: unknown): boolean => {
  if (typeof edit !== "object" || edit === null || Object.keys(edit).length !== 1) return false;
  const { inject, overlay, retire } = edit as Partial<Inject & OverlayEdit & Retire>;
  if (inject != null) return isText(inject.text);
  if (retire != null) return isRetire(retire);
  return overlay != null && isOverlay(overlay);
};

const sampleRecallId = "b0000";

/** Runs overlay functions once, so that none of them runs inside the commit. */
const fixOverlayTexts = (edits: readonly ChatEdit[]): readonly ChatEdit[] =>
  edits.map((edit) => {
    if (!("overlay" in edit) || typeof edit.overlay.text !== "function") return edit;
    const sample: unknown = edit.overlay.text(sampleRecallId);
    if (!isText(sample))
      throw new Error("the text of an overlay must be a text, or a function that returns one");
    return { overlay: { ...edit.overlay, text: (id) => sample.replaceAll(sampleRecallId, id) } };
  });

const checkEdits = (edits: unknown, custom: boolean): void => {
  if (!Array.isArray(edits)) throw new Error("its edits are not a list");
  if (custom && edits.length > editLimit)
    throw new Error(`it made ${edits.length} edits; ${editLimit} are allowed`);
  for (const [at, edit] of edits.entries()) {
    if (!isEdit(edit)) throw new Error(`edits[${at}] is none of inject, overlay and retire`);
    if ("inject" in edit && isLonger((edit as Inject).inject.text, noteLimit))
      throw new Error(`its note has more than ${noteLimit} characters`);
  }
};

const noticesSchema = z.array(
  z.discriminatedUnion("event", [
    z.strictObject({ event: z.literal("status_update"), data: z.strictObject({ text: z.string() }) }),
    z.strictObject({
      event: z.literal("compaction"),
      data: z.strictObject({
        stage: z.enum(["mask", "trim", "window", "full", "partial", "note", "hard_clear", "failed"]),
        tokens_before: z.number(),
        tokens_after: z.number(),
        retired: z.strictObject({ from: z.string(), to: z.string(), count: z.number() }).nullable(),
        attempts: z.number(),
        message: z.string().nullable(),
      }),
    }),
  ]),
);

const checkNotices = (notices: unknown): void => {
  const [issue] = noticesSchema.safeParse(notices, { error: describeIssue }).error?.issues ?? [];
  if (issue === undefined) return;
  const path = issue.path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
  throw new Error(`notify${path}: ${issue.message}`);
};

const checkStop = (stop: EffectResult<Json>["stop"] | null): void => {
  if (stop === undefined) return;
  if (!isText(stop?.reason) || !failureReasons.some((reason) => reason === stop.reason))
    throw new Error("stop.reason must be a reason for which a run fails, like no_progress");
  if (!isText(stop.message)) throw new Error("stop.message must be a string");
};

const checkTools = (tools: EffectResult<Json>["tools"] | null): void => {
  if (tools === undefined) return;
  const hide: unknown = tools?.hide;
  if (!Array.isArray(hide) || !hide.every(isText)) throw new Error("tools.hide must be a list of names");
};

const stringifyJson = (state: unknown): string | undefined => {
  try {
    return JSON.stringify(state);
  } catch {
    return undefined;
  }
};

/** Normalizes a state to JSON that is the same after a restart, or returns the problem. */
export const normalizeState = (state: unknown): { readonly state: Json } | { readonly problem: string } => {
  const text = stringifyJson(state);
  if (text === undefined) return { problem: "its state is not JSON" };
  if (utf8Length(text) > stateLimit) return { problem: "its state is larger than 64 KiB" };
  return { state: JSON.parse(text) as Json };
};

/** Returns the result of an effect if it is valid; otherwise says what is wrong with it. */
export const checkEffectResult = (result: EffectResult<Json>, custom: boolean): EffectResult<Json> => {
  const given: unknown = result;
  if (typeof given !== "object" || given === null) throw new Error("it returned no result");
  const { edits, notify, tools, state, stop } = result;
  if (edits !== undefined) checkEdits(edits, custom);
  if (notify !== undefined) checkNotices(notify);
  checkTools(tools);
  checkStop(stop);
  const checked = custom && edits !== undefined ? { ...result, edits: fixOverlayTexts(edits) } : result;
  if (state === undefined) return checked;
  const remembered = normalizeState(state);
  if ("problem" in remembered) throw new Error(remembered.problem);
  return { ...checked, ...remembered };
};

const textSchema = z.string().optional();

const timeSchema = z.number().optional();

const loopSchema = z.object({ detector: z.string(), count: z.number(), message: z.string() }).optional();

const stopSchema = z.object({
  reason: z.string(),
  loop: loopSchema,
  end: z.enum(["tool_loop", "no_progress", "budget_exceeded"]).optional(),
  exhausted: z.boolean().optional(),
});

const verdictSchema = z.discriminatedUnion("do", [
  z.object({ do: z.literal("allow"), until: timeSchema }),
  z.object({ do: z.literal("warn"), note: z.string().nullable(), loop: loopSchema, until: timeSchema }),
  z.object({ do: z.literal("veto"), reason: z.string(), loop: loopSchema }),
  stopSchema.extend({ do: z.literal("stop") }),
]);

const afterGuardSchema = z.object({ note: textSchema, stop: stopSchema.optional() });

/** Returns whether the answer is a promise, and ignores what it brings: guards and middleware must answer at once. */
const dropPromise = (given: unknown): boolean => {
  if (typeof given !== "object" || given === null || !("then" in given)) return false;
  void Promise.resolve(given).catch(() => {});
  return true;
};

/** Checks a guard's verdict and throws if it is invalid. Its state is checked where it is stored. */
export const checkVerdict = (given: GuardVerdict): GuardVerdict => {
  if (dropPromise(given) || !verdictSchema.safeParse(given).success)
    throw new Error(
      "before must return a verdict: allow, warn (with note), veto or stop (with reason); until is a time, loop names detector, count and message",
    );
  return given;
};

const noAfterGuardResult: AfterGuardResult = {};

/** Checks a guard's result after a call's outcome and throws if it is invalid. */
export const checkAfterGuardResult = (given: AfterGuardResult | null | undefined): AfterGuardResult => {
  if (given == null) return noAfterGuardResult;
  if (dropPromise(given) || !afterGuardSchema.safeParse(given).success)
    throw new Error("after may return only note, state and stop (with reason)");
  return given;
};

const startSchema = z.strictObject({ note: textSchema, fail: textSchema });

const finishSchema = z.strictObject({ fail: textSchema, retry: textSchema, text: textSchema });

/** Checks what middleware returns at the start of a run and throws if it is invalid. */
export const checkStartResult = (given: StartResult): StartResult => {
  if (dropPromise(given) || !startSchema.safeParse(given).success)
    throw new Error("start may return only note and fail, which are strings");
  if (isLonger(given.note ?? "", noteLimit))
    throw new Error(`its note has more than ${noteLimit} characters`);
  return given;
};

/** Checks what middleware returns at the end of a run and throws if it is invalid. */
export const checkFinishResult = (given: FinishResult): FinishResult => {
  if (dropPromise(given) || !finishSchema.safeParse(given).success)
    throw new Error("finish may return only fail, retry and text, which are strings");
  if (given.fail !== undefined && given.retry !== undefined)
    throw new Error("finish may not return both fail and retry");
  return given;
};
