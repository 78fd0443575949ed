import { estimateUncertain, estimateText } from "../../chat/tokens.ts";
import type { Completion } from "../../model/completer.ts";
import type { ModelFailure } from "../../model/error.ts";
import { inputSeemsTruncated } from "../../model/usage.ts";
import { markLeased } from "../budgets/lease.ts";
import { bookAttempt, bookLostTime, reportUnpricedModel } from "../budgets/spend.ts";
import { createContextSnapshot } from "../context/request.ts";
import type { ModelTarget } from "../definition/agent.ts";
import type { BudgetReservation } from "../state/budget.ts";
import type { ModelCall, Ticket } from "../state/phase.ts";
import { modelCallOf, ticketId } from "../state/phase.ts";
import type { LedgerRow } from "../state/records.ts";
import { toUsd } from "../state/records.ts";
import { noUsage } from "../state/budget.ts";
import type { AskWait, RetryWait } from "../state/ask.ts";
import type { ThreadDraft } from "../transaction/draft.ts";
import { agentOf, emit, giveNotice, runOf } from "../transaction/draft.ts";
import type { WaitingPhase } from "../transaction/next-request.ts";
import { findTarget } from "../transaction/next-request.ts";

/** Starts a call of a model, lets it wait, and books how it ended, whatever makes it. */

interface ModelCallStart extends Pick<ModelCall, "purpose" | "target" | "attempt" | "input"> {
  /** Number of messages in the request and of tools that it declares. */
  readonly messages: number;
  readonly tools: number;
  /** Ticket that the call waited for and uses at the same provider; otherwise it takes one by its own name. */
  readonly waited: Ticket | null;
  readonly name: string;
}

/** Returns the attempt for events of a call; an effect's call carries none, since it is no attempt of the turn. */
const scopeOf = ({ purpose, attempt }: ModelCall): { readonly attempt?: number } =>
  purpose === "compaction" ? {} : { attempt };

/**
 * Announces a call that is about to be sent, with its worst-case cost, unless that was done before it waited for
 * its ticket; the caller stores it in its phase.
 */
export const startModelCall = (
  draft: ThreadDraft,
  { purpose, target, attempt, input, messages, tools, waited, name }: ModelCallStart,
  reservation: BudgetReservation,
): ModelCall => {
  const { provider, model } = target;
  const id = ticketId(draft.state.id, draft.thread.id, name);
  const goesOn = waited?.provider === provider;
  const call: ModelCall = {
    purpose,
    target: { provider, model },
    attempt,
    input,
    reservation: markLeased(draft, reservation),
    ticket: goesOn ? waited : { provider, id, booked: false },
    startedAt: draft.context.now,
  };
  if (findTarget(draft, target)?.cost(noUsage) === null) reportUnpricedModel(draft, model);
  if (goesOn) return call;
  emit(draft, "llm_request_preparing", { purpose, provider, model }, scopeOf(call));
  const sizes = { messages, tools, estimated_tokens: input, bytes: input * 4 };
  emit(draft, "llm_request_start", { provider, model, purpose, ...sizes }, scopeOf(call));
  return call;
};

/** Lets the model attempt or prepared work under way go on after a wait; it makes no call any more. */
export const pauseStep = (
  draft: ThreadDraft,
  wait: RetryWait | AskWait,
  change: Partial<Pick<WaitingPhase, "attempt" | "chain" | "ticket">> = {},
): void => {
  const run = runOf(draft);
  const { phase } = run;
  if (phase.at === "preparing") run.phase = { ...phase, wait, ticket: null, call: null, ...change };
  if (phase.at !== "thinking" || wait.on === "ask") return;
  const { attempt = phase.call.attempt, chain = phase.chain, ticket = null } = change;
  run.phase = { at: "waiting", attempt, wait, chain, ticket };
};

/** Reports and books a whole reply, whatever it says. */
export const bookReply = (
  draft: ThreadDraft,
  call: ModelCall,
  reply: Completion,
  row: Partial<Pick<LedgerRow, "provider" | "model" | "saw">> = {},
): void => {
  const { finish, usage, estimated, cost, provider, model, requestId, firstByteMs, totalMs } = reply;
  emit(
    draft,
    "llm_finish",
    {
      finish_reason: finish,
      usage,
      cost_usd: toUsd(cost),
      provider,
      model,
      request_id: requestId ?? null,
      first_byte_ms: firstByteMs,
      duration_ms: totalMs,
    },
    scopeOf(call),
  );
  bookAttempt(draft, call, { outcome: "ok", usage, estimated, cost, ...row }, totalMs);
};

/** Reports, once per run, that the input was silently cut. */
export const reportTruncatedInput = (
  draft: ThreadDraft,
  { input: estimate }: ModelCall,
  { usage, model }: Completion,
): void => {
  if (!inputSeemsTruncated(usage, estimate)) return;
  const input = estimate - estimateUncertain(draft.thread.chat);
  if (!inputSeemsTruncated(usage, input) || !giveNotice(runOf(draft), "input_truncated")) return;
  const seen = usage.input + usage.cacheRead + usage.cacheWrite;
  const message = `${model} reports ${seen} input tokens where about ${input} were sent; the server may have cut the input`;
  emit(draft, "error", { code: "input_truncated_suspected", message, retryable: false });
};

/** Ends a call without a whole reply: what a turn showed of it is void, and what it used is booked. */
const endWithoutReply = (
  draft: ThreadDraft,
  call: ModelCall,
  row: Pick<LedgerRow, "outcome" | "usage" | "estimated" | "cost" | "saw">,
  retryAt: number | null,
): void => {
  const { phase } = runOf(draft);
  const items = phase.at === "thinking" ? phase.items : [];
  const { outcome: code, usage, cost } = row;
  const end = { items, code, retry_at: retryAt, usage, cost_usd: toUsd(cost) };
  emit(draft, "attempt_aborted", end, scopeOf(call));
  bookAttempt(draft, call, row);
};

/** Books a call that failed or got no ticket, with what it saw if it was sent, and when it is tried again. */
export const bookFailedCall = (
  draft: ThreadDraft,
  call: ModelCall,
  { code: outcome, usage = noUsage, billed: estimated = false, cost = 0 }: ModelFailure,
  { retryAt, ...sent }: Pick<LedgerRow, "saw"> & { readonly retryAt: number | null },
): void => {
  endWithoutReply(draft, call, { outcome, usage, estimated, cost, ...sent }, retryAt);
  bookLostTime(draft, call.startedAt, findTarget(draft, call.target));
};

/** Returns what a lost attempt of a turn saw, and the tokens of its reply that it had shown. */
const shownByAttempt = (
  draft: ThreadDraft,
  target: ModelTarget | undefined,
): Pick<LedgerRow, "saw"> & { readonly tokens: number } => {
  const run = runOf(draft);
  const { phase } = run;
  if (phase.at !== "thinking") return { tokens: 0 };
  const saw = createContextSnapshot(agentOf(draft), draft.thread, run, phase);
  const shown = phase.items.reduce((sum, id) => sum + estimateText(draft.context.shown(id)?.text ?? ""), 0);
  return { saw, tokens: Math.min(shown, saw.max_tokens + (target?.thinking ?? 0)) };
};

/** Books the lost call under way, if any: it costs its prompt and what it has shown, at most what it might write. */
export const loseModelCall = (
  draft: ThreadDraft,
  outcome: "interrupted" | "cancelled",
  retryAt: number | null = null,
): void => {
  const run = runOf(draft);
  const call = modelCallOf(run);
  if (call === null) return;
  const { input, startedAt } = call;
  const target = findTarget(draft, call.target);
  const { tokens: output, ...saw } = shownByAttempt(draft, target);
  const usage = { ...noUsage, input, output, total: input + output };
  const cost = target?.cost(usage) ?? null;
  endWithoutReply(draft, call, { outcome, usage, estimated: true, cost, ...saw }, retryAt);
  bookLostTime(draft, startedAt, target);
  if (run.phase.at === "preparing") run.phase = { ...run.phase, call: null };
};
