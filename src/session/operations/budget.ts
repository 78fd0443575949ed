import * as z from "zod";
import { sessionBounds } from "../../agent/budgets/bounds.ts";
import { findHoldingLimits, findExhaustedBudget } from "../../agent/budgets/limits.ts";
import type { Ask } from "../../agent/state/ask.ts";
import type { BudgetKind, BudgetScope, SessionBudget, Spending } from "../../agent/state/budget.ts";
import {
  budgetKinds,
  fromApiAmount,
  limitNames,
  limitKindOf,
  toApiAmount,
  costOf,
  addSpending,
} from "../../agent/state/budget.ts";
import type { Session } from "../../agent/state/session.ts";
import type { Draft, ThreadDraft } from "../../agent/transaction/draft.ts";
import type { AnswerAction } from "../../agent/turn/ask-answers.ts";
import { answerAsk } from "../../agent/turn/ask-answers.ts";
import { count, duration, fraction } from "../../schema.ts";
import type { SessionRules, WriteContext } from "../define-operation.ts";
import { refuseAnswer } from "../define-operation.ts";
import { refuse, refuseField } from "../problems.ts";
import { toUsd } from "../../agent/state/records.ts";

/** Sets, tightens and raises a session's budget over the API, shows what is spent, and refuses what exceeds it. */

const limitFields = {
  max_tokens: count().describe("Input, cache and output tokens."),
  max_cost_usd: z
    .number()
    .min(0)
    .describe("Price of all model calls in USD, of models whose price is known."),
  max_duration: z.union([count(), duration()]).describe('Model time in milliseconds, or like "30m".'),
  max_tool_calls: count().describe("Dispatched calls."),
};

type LimitKey = (typeof limitNames)[BudgetKind];

const sharedFields = {
  warn_at: fraction().describe("Share at which a warning is given."),
  on_exceeded: z.enum(["stop", "ask"]).describe("End the run, or ask for a raise."),
};

/** Limit with its scope, in USD and milliseconds. */
export type ShownLimit = {
  readonly scope: BudgetScope;
  readonly limit: number;
  readonly spent: number;
  readonly left: number;
  /** Share of the limit at which a warning is given. */
  readonly warn_at: number;
  readonly on_exceeded: "stop" | "ask";
};

/** Schema for the budget of a new session. */
export const budgetSchema = z.strictObject({ ...limitFields, ...sharedFields }).partial();

/** Schema for a change of a budget: named limits change, and null removes a limit. */
export const budgetChangeSchema = z
  .strictObject({
    max_tokens: limitFields.max_tokens.nullable(),
    max_cost_usd: limitFields.max_cost_usd.nullable(),
    max_duration: limitFields.max_duration.nullable(),
    max_tool_calls: limitFields.max_tool_calls.nullable(),
    ...sharedFields,
  })
  .partial()
  .nullable();

type BudgetChange = Exclude<z.output<typeof budgetChangeSchema>, null>;

const noBudgetLimits = { warn_at: 0.8, on_exceeded: "stop" } as const;

const mergeBudget = (budget: SessionBudget, change: BudgetChange): SessionBudget => {
  const merged = Object.entries({ ...budget, ...change }).filter(
    ([, value]) => value !== null && value !== undefined,
  );
  return { ...noBudgetLimits, ...Object.fromEntries(merged) };
};

/** Creates the budget of a new session; null if none is given. */
export const createBudget = (given: z.output<typeof budgetSchema> | undefined): SessionBudget | null =>
  given === undefined ? null : mergeBudget(noBudgetLimits, given);

/** Returns the limit of a kind that holds now, either as it was given or as a person raised it. */
const currentLimitOf = ({ budget, funds: { raised } }: Session, kind: BudgetKind): number | undefined => {
  const limit = budget?.[limitNames[kind]];
  const more = budget?.on_exceeded === "ask" ? raised[kind] : undefined;
  if (limit === undefined || more === undefined) return limit;
  return Math.max(limit, toApiAmount(kind, more));
};

const isRaise = (before: number | undefined, after: number | undefined): boolean =>
  before !== undefined && (after === undefined || after > before);

/** Shows which limit of each kind holds for a session, and what is left of it. */
export const budgetView = (
  session: Session,
  { boundsOf }: Pick<SessionRules, "boundsOf">,
): Readonly<Record<LimitKey, ShownLimit | null>> => {
  const limits = findHoldingLimits(session, boundsOf(session.agent));
  const shown = (kind: BudgetKind): ShownLimit | null => {
    const found = limits.find((each) => each.kind === kind);
    if (found === undefined) return null;
    const { scope, limit, spent, warnAt, ask } = found;
    return {
      scope,
      limit: toApiAmount(kind, limit),
      spent: toApiAmount(kind, spent),
      left: toApiAmount(kind, Math.max(0, limit - spent)),
      warn_at: warnAt,
      on_exceeded: ask ? "ask" : "stop",
    };
  };
  return {
    max_tokens: shown("tokens"),
    max_cost_usd: shown("cost"),
    max_duration: shown("time"),
    max_tool_calls: shown("calls"),
  };
};

/** Changes a session's budget; an increase needs the deciding scope. A run that asked for it goes on. */
export const changeSessionBudget = (
  { draft, principal }: WriteContext,
  change: BudgetChange | null,
): void => {
  const { state } = draft;
  const next = change === null ? null : mergeBudget(state.budget ?? noBudgetLimits, change);
  const raisedKind = budgetKinds.find((kind) =>
    isRaise(currentLimitOf(state, kind), next?.[limitNames[kind]]),
  );
  if (raisedKind !== undefined && !principal.scopes.includes("approvals:decide"))
    refuseField(
      "scope_missing",
      `/budget/${limitNames[raisedKind]}`,
      "raising a budget needs the scope approvals:decide beside sessions:manage",
    );
  const named = budgetKinds.filter((kind) => change === null || change[limitNames[kind]] !== undefined);
  const raised = Object.fromEntries(
    Object.entries(state.funds.raised).filter(([kind]) => !named.some((each) => each === kind)),
  );
  state.budget = next;
  state.funds = { ...state.funds, raised };
  answerRaises(draft, principal.by);
};

/** Answers other open asks for more of the session's budget if it is large enough now. */
export const answerRaises = (draft: Draft, by: string): void => {
  for (const ask of Object.values(draft.state.asks)) answerRaiseByChange(draft, ask, by);
};

/** Answers an open ask for more of the session's budget if a change has given it as much. */
const answerRaiseByChange = (draft: Draft, ask: Ask, by: string): void => {
  const { budget: about } = ask;
  if (about?.scope !== "session") return;
  const kind = limitKindOf(about.kind);
  const bounds = sessionBounds(draft.state, draft.context.budgets);
  const limits = bounds.flatMap((bound) => (bound.kind === kind ? [bound.limit] : []));
  if (Math.min(Infinity, ...limits) < fromApiAmount(kind, about.least)) return;
  const same = { do: "raise", limit: fromApiAmount(kind, about.limit) } as const;
  answerAsk(draft, ask, { decision: "approve", by, body: { decision: "approve" } }, same);
};

/** Resolves an ask for a higher limit: the answer is a limit in the ask's unit, or no. */
export const resolveRaise = (
  { budget }: Ask,
  { decision, limit }: { readonly decision: string; readonly limit?: number | undefined },
): AnswerAction => {
  if (decision === "deny") return { do: "default" };
  if (decision !== "approve" && decision !== "answer")
    return refuseAnswer("/decision", "a budget takes approve with a limit, deny or cancel");
  const { kind = "", limit: before = 0, least = 0 } = budget ?? {};
  if (limit === undefined) return refuseAnswer("/limit", `give the new ${kind}, at least ${least}`);
  if (limit < least || limit <= before)
    return refuseField("budget_not_raised", "/limit", `${limit} is too low: ${kind} needs at least ${least}`);
  return { do: "raise", limit: fromApiAmount(limitKindOf(kind), limit) };
};

/** Refuses an input for which no budget is left. */
export const requireBudget = (draft: ThreadDraft): void => {
  const lack = findExhaustedBudget(draft);
  if (lack === null) return;
  const key = limitNames[lack.kind];
  if (lack.until !== null)
    return refuse("budget_exceeded", `${key} of the tenant's day is used up; try again later`, {
      retryAfterMs: Math.max(1_000, lack.until - draft.context.now),
    });
  refuse(
    "budget_exceeded",
    `${key} of this session does not cover another model call; a key with sessions:manage and approvals:decide can raise it with PATCH {budget}`,
  );
};

/** Returns a sum of spending in the form of the API. */
export const spendingView = (spending: Spending) => ({
  ...spending.usage,
  calls: spending.modelCalls,
  cost_usd: toUsd(costOf(spending)),
  estimated: spending.estimated > 0,
});

/** Returns what a session used since it was cleared, for the session and its tenant's list. */
export const totalsView = ({ spent, spentBefore }: Pick<Session, "spent" | "spentBefore">) =>
  spendingView(addSpending(spent, spentBefore, -1));
