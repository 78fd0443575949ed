import * as z from "zod";
import type { Ask, AskDecision } from "../../../agent/state/ask.ts";
import type { BudgetFigures, RaiseQuestion } from "../../../agent/state/budget.ts";
import type { Approval } from "../../../agent/state/call.ts";
import type { QuestionSpec } from "../../../tools/define-tool.ts";
import { json, nameSchema, schemaOf, time } from "./schema-of.ts";

/** Describes what only the outside can answer. Times are milliseconds since the epoch. */

export const decisionSchema = schemaOf<AskDecision>()(
  z.enum(["approve", "deny", "edit", "answer", "result", "cancel"]),
);

const figures = {
  scope: z.enum(["run", "session", "tenant"]),
  kind: z.string().describe("The key of the limit, such as `max_tokens`."),
  limit: z.number().describe("In USD, milliseconds, tokens, calls or turns."),
  spent: z.number(),
};

export const budgetFiguresSchema = schemaOf<BudgetFigures>()(z.strictObject(figures));

const questionSchema = schemaOf<QuestionSpec>()(
  z.strictObject({
    text: z.string(),
    options: z.array(z.string()),
    header: z.exactOptional(z.string()),
    multi_select: z.boolean(),
    max_selections: z.exactOptional(z.int()),
    strict: z.boolean().describe("Whether only the options are accepted as answers."),
  }),
);

const approvalSchema = schemaOf<Approval>()(
  z.strictObject({
    tool: z.string(),
    input: json,
    directory: z
      .exactOptional(z.string())
      .describe("Folder of the workspace to which paths of the input are relative; absent: the workspace."),
    rule: z.string().describe("The rule that requires the approval."),
    reason: z.exactOptional(z.string()),
    on_timeout: z
      .exactOptional(z.enum(["approve"]))
      .describe("What happens if nobody answers; absent: the call is denied."),
    remember: z
      .exactOptional(z.strictObject({ tool: z.string(), pattern: z.string() }))
      .describe("What an answer with `remember` would allow from then on."),
  }),
);

const authorizationSchema = z.strictObject({
  server: z.string(),
  url: z.exactOptional(z.string()).describe("Needs the scope approvals:decide."),
  login: z.exactOptional(z.boolean()),
});

export const askSchema = nameSchema(
  "Ask",
  "A question that only the outside can answer.",
  schemaOf<Ask>()(
    z.strictObject({
      id: z.string(),
      kind: z.enum(["question", "approval", "client_tool", "authorization", "budget"]),
      thread: z.string(),
      agent: z.exactOptional(z.string()).describe("The called agent that asks."),
      label: z.exactOptional(z.string()),
      run: z.string(),
      call: z.string().describe("The call that waits; empty if a run waits."),
      status: z.enum(["open", "resolved", "expired", "cancelled"]),
      opened_at: time,
      seq: z.int(),
      expires_at: time.describe("When its default is applied."),
      question: z.exactOptional(questionSchema),
      approval: z
        .exactOptional(approvalSchema)
        .describe("Paths of its input are relative to its directory; absent: to the workspace's root."),
      authorization: z
        .exactOptional(authorizationSchema)
        .describe("An address for a person to open; with login, signing in there is the answer."),
      client_tool: z.exactOptional(z.strictObject({ tool: z.string(), input: json })),
      budget: z.exactOptional(
        schemaOf<RaiseQuestion>()(
          z.strictObject({
            ...figures,
            least: z.number().describe("The lowest limit with which the run could go on."),
          }),
        ),
      ),
      resolution: z.exactOptional(
        z.strictObject({
          decision: z.enum(["approve", "deny", "edit", "answer", "result", "cancel", "expired"]),
          by: z.string(),
          remember: z.exactOptional(z.enum(["session", "agent"])),
          body: z.exactOptional(json),
        }),
      ),
    }),
  ),
);
