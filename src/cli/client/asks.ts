import type { ParamsOf, TranscriptAsk } from "../../client/index.ts";
import { inputLines } from "./approval.ts";
import type { WriteCommand } from "./context.ts";
import { oneLine, toPlainText, shortInput } from "./plain.ts";

/** Asks a person in a terminal, and reads the answer. */

type AskAnswer = Omit<ParamsOf<"answer">, "session" | "ask">;

/** Ask in the form of the API or of a transcript. */
type OpenAsk = Omit<TranscriptAsk, "closed_at">;

type Question = NonNullable<OpenAsk["question"]>;

/** Answer to a question: some of its options, or other words. */
type ChoiceAnswer = { readonly decision: "answer" } & Pick<AskAnswer, "selections" | "text">;

/** Finds what a text names: an option itself, else the one of its number. */
const findOption = (options: readonly string[], text: string): string | undefined =>
  options.find((option) => option === text) ?? options[Number(text) - 1];

/** Returns the options by their numbers; if one reads as the number of another, the last line says which of them counts. */
const optionLines = (options: readonly string[]): readonly string[] => {
  const lines = options.map((option, at) => `  ${at + 1}  ${toPlainText(option)}`);
  const isClear = options.every((option, at) => findOption(options, String(at + 1)) === option);
  return isClear
    ? lines
    : [...lines, "  What is typed counts as an option itself before it counts as a number."];
};

const loginPlace = ({ server, url }: NonNullable<OpenAsk["authorization"]>): string =>
  url === undefined
    ? `${toPlainText(server)}, which needs a key that may decide`
    : `${toPlainText(server)}: ${toPlainText(url)}`;

const rememberLine = ({ tool, pattern }: { readonly tool: string; readonly pattern: string }): string =>
  `  remembered, it allows ${pattern === "*" ? `every ${toPlainText(tool)}` : `${toPlainText(tool)} ${toPlainText(pattern)}`}`;

/** Says how far a limit is used; one that is not used up is asked about since the next step may need more. */
const budgetLine = ({ scope, kind, limit, spent }: NonNullable<OpenAsk["budget"]>): string =>
  `The ${scope} has used ${spent} of ${limit} (${kind})${spent < limit ? ", and its next step may need more than is left" : ""}.`;

/** Returns the lines about the subject of an ask. */
const subjectLines = ({
  kind,
  label,
  question,
  approval,
  budget,
  authorization,
  client_tool,
}: OpenAsk): readonly string[] => {
  const who = label === undefined ? "" : `${toPlainText(label)}: `;
  if (question !== undefined)
    return [`? ${who}${toPlainText(question.text)}`, ...optionLines(question.options)];
  if (approval !== undefined)
    return [
      `? ${who}Allow ${toPlainText(approval.tool)}? ${oneLine(approval.reason ?? approval.rule)}`,
      ...inputLines(approval.tool, approval.input),
      ...(approval.remember === undefined ? [] : [rememberLine(approval.remember)]),
    ];
  if (budget !== undefined) return [`? ${who}${budgetLine(budget)}`];
  if (authorization !== undefined) return [`? ${who}Sign in to ${loginPlace(authorization)}`];
  return [
    `? ${who}${kind} ${toPlainText(client_tool?.tool ?? "")} ${shortInput(client_tool?.input ?? null)}`,
  ];
};

/** Returns what a person can type in `chat`. */
const keyLine = ({ question, approval, budget, authorization }: OpenAsk): string => {
  if (question?.multi_select === true)
    return `  Type the numbers of up to ${question.max_selections ?? question.options.length} options, such as 1,2${question.strict ? "." : ", or the answer."}`;
  if (question !== undefined)
    return question.strict ? "  Type the number of an option." : "  Type the answer, or its number.";
  if (approval !== undefined)
    return `  y allows it, n [reason] denies it,${approval.remember === undefined ? "" : " s allows it in this session,"} e {json} allows it with other arguments.`;
  if (budget !== undefined) return `  Type a new limit of at least ${budget.least}, or n to end the run.`;
  return authorization === undefined ? "  Type the result, or n to cancel." : "  n cancels.";
};

/** Returns the lines of an ask in `chat`, and what to type to answer it; an incomplete ask is shown elsewhere. */
export const askLines = (write: WriteCommand, session: string, ask: OpenAsk): readonly string[] =>
  ask.truncated === true
    ? [
        "? A decision is needed about something that is too long to be shown here.",
        `  ${write(`asks ${session}`)} shows all of it, and how to answer it; n [reason] denies it here.`,
      ]
    : [...subjectLines(ask), keyLine(ask)];

/** Lists the decisions that `limpet answer` accepts for an ask, each with its arguments. */
const decisionsOn = ({ question, approval, budget, authorization }: OpenAsk): readonly string[] => {
  if (question !== undefined) return [question.strict ? "answer <number>" : "answer <text or number>"];
  if (approval !== undefined)
    return [
      "approve",
      ...(approval.remember === undefined ? [] : ["approve --remember session"]),
      "deny [reason]",
      "edit <json>",
    ];
  if (budget !== undefined) return [`approve --limit <${budget.least} or more>`, "deny"];
  return authorization === undefined ? ["result <json>", "cancel"] : ["cancel"];
};

/** Returns the lines of an ask outside a conversation, with the commands that answer it. */
export const commandLines = (write: WriteCommand, session: string, ask: OpenAsk): readonly string[] => [
  ...subjectLines(ask),
  ...decisionsOn(ask).map((decision) => `  ${write(`answer ${session} ${ask.id} ${decision}`)}`),
];

/** Returns the line about an open ask, with the command that answers it. */
export const waitingLine = (write: WriteCommand, session: string, { id }: Pick<OpenAsk, "id">): string =>
  `the session waits for an answer: ${write(`answer ${session} ${id} …`)}`;

const parseInput = (text: string): AskAnswer["input"] | undefined => {
  try {
    return JSON.parse(text) as AskAnswer["input"];
  } catch {
    return undefined;
  }
};

/** Words with the same meaning as the letters, including those of the command `answer`. */
const lettersOf: ReadonlyMap<string, string> = new Map([
  ["yes", "y"],
  ["approve", "y"],
  ["no", "n"],
  ["deny", "n"],
  ["edit", "e"],
]);

const readApproval = (line: string, canRemember: boolean): AskAnswer | string => {
  const [word = "", ...rest] = line.split(" ");
  const more = rest.join(" ").trim();
  const given = word.toLowerCase();
  switch (lettersOf.get(given) ?? given) {
    case "y":
      return { decision: "approve" };
    case "s":
      return canRemember
        ? { decision: "approve", remember: "session" }
        : "this cannot be remembered; y allows it once";
    case "n":
      return { decision: "deny", ...(more === "" ? {} : { message: more }) };
    case "e": {
      const input = parseInput(more);
      return input === undefined
        ? 'write JSON after e, such as e {"path":"a.md"}'
        : { decision: "edit", input };
    }
    default:
      return `type y, n${canRemember ? ", s" : ""} or e; Ctrl-D leaves, and the session waits`;
  }
};

/** Reads the answer to a question: an option or its number, several if that is allowed, else other words. */
export const readChoice = (
  { options, strict, multi_select: many, max_selections: most = options.length }: Question,
  line: string,
): ChoiceAnswer | string => {
  const find = (text: string): string | undefined => findOption(options, text);
  const whole = find(line);
  if (whole !== undefined) return { decision: "answer", selections: [whole] };
  const several = many ? line.split(/[\s,]+/).map(find) : [];
  const selections = [...new Set(several.filter((each) => each !== undefined))];
  if (several.length > 0 && !several.includes(undefined))
    return selections.length <= most
      ? { decision: "answer", selections }
      : `${selections.length} are too many; type up to ${most} numbers`;
  if (!strict) return { decision: "answer", text: line };
  return `there are ${options.length} options; type ${many ? "numbers" : "a number"} from 1 to ${options.length}`;
};

/** Reads the line with which a person answers; returns a text about what is wrong with it. */
export const readAnswer = (ask: OpenAsk, given: string): AskAnswer | string => {
  const { question, approval, budget, truncated } = ask;
  const line = given.trim();
  if (approval !== undefined) {
    const answer = readApproval(line, approval.remember !== undefined);
    if (truncated !== true || typeof answer === "string" || answer.decision === "deny") return answer;
    return "it was shown in part: look at all of it first, by the command above";
  }
  if (question !== undefined) return readChoice(question, line);
  if (line === "n") return { decision: budget === undefined ? "cancel" : "deny" };
  if (budget === undefined) return { decision: "result", output: line };
  return Number.isFinite(Number(line)) && line !== ""
    ? { decision: "approve", limit: Number(line) }
    : "type a number, or n";
};
