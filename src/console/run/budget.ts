import type { Json } from "../../chat/message.ts";
import { countOf, formatCount, formatDuration, formatTokens, formatUsd } from "../parts/format.ts";
import { fieldsOf, numberOf } from "../parts/json.ts";

/** What may be used, in words. Only the panel shows it, so that the first page does not load it. */

/** How a kind of limit is told. */
interface BudgetWords {
  /** What a run does with it. */
  readonly verb: string;
  /** Shows an amount; one that stands beside a lesser one gets as many digits. */
  readonly show: (amount: number, lesser?: number) => string;
  /** Shows the whole, with what is counted. */
  readonly showWhole: (amount: number) => string;
}

const kinds = {
  max_cost_usd: { verb: "spend", show: formatUsd, showWhole: formatUsd },
  max_tokens: {
    verb: "use",
    show: formatTokens,
    showWhole: (amount) => `${formatTokens(amount)} tokens`,
  },
  max_duration: {
    verb: "take",
    show: formatDuration,
    showWhole: (amount) => `${formatDuration(amount)} of model time`,
  },
  max_tool_calls: {
    verb: "make",
    show: formatCount,
    showWhole: (amount) => countOf(amount, "tool call"),
  },
} as const satisfies Readonly<Record<string, BudgetWords>>;

type BudgetKind = keyof typeof kinds;

/** A limit that holds now, in the API's unit, and what is used of it. */
export interface BudgetLimit {
  readonly kind: BudgetKind;
  readonly scope: "run" | "session" | "tenant";
  readonly limit: number;
  readonly spent: number;
  /** A warning is given when so much is used. */
  readonly warnAt: number;
}

const scopes: readonly BudgetLimit["scope"][] = ["run", "session", "tenant"];

const readLimit = (kind: BudgetKind, budget: Json): readonly BudgetLimit[] => {
  const fields = fieldsOf(fieldsOf(budget)[kind]);
  const [limit, spent, share] = [fields["limit"], fields["spent"], fields["warn_at"]].map(numberOf);
  const scope = scopes.find((each) => each === fields["scope"]);
  if (scope === undefined || limit == null || spent == null || share == null) return [];
  return [{ kind, scope, limit, spent, warnAt: share * limit }];
};

/** Reads the limits of the API's budget, money first. */
export const readLimits = (budget: Json): readonly BudgetLimit[] =>
  (Object.keys(kinds) as BudgetKind[]).flatMap((kind) => readLimit(kind, budget));

const scopeWords = { run: "this run", session: "this session", tenant: "today" } as const;

/** What a session is at, as far as its limits depend on it. */
export interface BudgetSituation {
  readonly isRunning: boolean;
  /** Model calls had no known price: in its newest run, and since the session began. */
  readonly unpriced: { readonly run: boolean; readonly session: boolean };
}

/** What is shown of a limit: in words, and as a bar where something of it is used or could be. */
interface LimitWords {
  readonly words: string;
  readonly hasBar: boolean;
}

const describeLeft = ({ kind, scope, limit, spent }: BudgetLimit): string => {
  const { show, showWhole }: BudgetWords = kinds[kind];
  const left =
    spent > limit
      ? `${show(spent - limit, spent)} over the ${showWhole(limit)}`
      : `${show(limit - spent, spent)} left of ${showWhole(limit)}`;
  return `${left} for ${scopeWords[scope]}`;
};

/** Says what is left; between runs a limit of runs is that of the next one, of which nothing is used. */
export const describeLimit = (limit: BudgetLimit, { isRunning, unpriced }: BudgetSituation): LimitWords => {
  const { kind, scope, spent } = limit;
  const { verb, showWhole }: BudgetWords = kinds[kind];
  const whole = showWhole(limit.limit);
  const isNext = scope === "run" && !isRunning;
  if (kind === "max_cost_usd" && unpriced[scope === "run" ? "run" : "session"])
    return spent === 0
      ? {
          words: `No cost counts towards the ${whole} for ${isNext ? "the next run" : scopeWords[scope]}, since no price is known`,
          hasBar: false,
        }
      : { words: `${describeLeft(limit)}, without calls whose price is not known`, hasBar: true };
  if (isNext) return { words: `The next run may ${verb} ${whole}`, hasBar: false };
  return { words: describeLeft(limit), hasBar: true };
};

/** Says when a warning is given. */
export const describeWarning = ({ kind, warnAt }: BudgetLimit): string => {
  const { show }: BudgetWords = kinds[kind];
  return `warns at ${show(warnAt)}`;
};
