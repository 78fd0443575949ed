import type { ParamsOf, TranscriptAsk } from "../../client/index.ts";
import { oneLine, toPlainText, shortInput } from "./plain.ts";

/** This file asks a person in a terminal, and reads the answer. */

type AskAnswer = Omit<ParamsOf<"answer">, "session" | "ask">;

/** An ask as the API has it; that of a transcript is one, too. */
type OpenAsk = Omit<TranscriptAsk, "closed_at">;

const optionLines = (options: readonly string[]): readonly string[] =>
  options.map((option, at) => `  ${at + 1}  ${toPlainText(option)}`);

const loginPlace = ({ server, url }: NonNullable<OpenAsk["authorization"]>): string =>
  url === undefined
    ? `${toPlainText(server)}, which needs a key that may decide`
    : `${toPlainText(server)}: ${toPlainText(url)}`;

const rememberLine = ({ tool, pattern }: { readonly tool: string; readonly pattern: string }): string =>
  `  remembered, it allows ${pattern === "*" ? `every ${toPlainText(tool)}` : `${toPlainText(tool)} ${toPlainText(pattern)}`}`;

/** Says what is asked. */
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
      ...toPlainText(JSON.stringify(approval.input, null, 2))
        .split("\n")
        .map((line) => `  ${line}`),
      ...(approval.remember === undefined ? [] : [rememberLine(approval.remember)]),
    ];
  if (budget !== undefined)
    return [`? ${who}The ${budget.scope} has used ${budget.spent} of ${budget.limit} (${budget.kind}).`];
  if (authorization !== undefined) return [`? ${who}Sign in to ${loginPlace(authorization)}`];
  return [
    `? ${who}${kind} ${toPlainText(client_tool?.tool ?? "")} ${shortInput(client_tool?.input ?? null)}`,
  ];
};

/** Says what a person types in `chat`. */
const keyLine = ({ question, approval, budget, authorization }: OpenAsk): string => {
  if (question !== undefined)
    return question.strict ? "  Type the number of an option." : "  Type the answer, or its number.";
  if (approval !== undefined)
    return "  y allows it, n [reason] denies it, s allows it in this session, e {json} allows it with other arguments.";
  if (budget !== undefined) return `  Type a new limit of at least ${budget.least}, or n to end the run.`;
  return authorization === undefined ? "  Type the result, or n to cancel." : "  n cancels.";
};

/** Says in `chat` what is asked, and what is typed to answer it. */
export const askLines = (ask: OpenAsk): readonly string[] => [...subjectLines(ask), keyLine(ask)];

/** Lists the decisions that `limpet answer` takes on an ask, each with what follows it. */
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

/** Says outside a conversation what is asked, and by which commands it is answered. */
export const commandLines = (session: string, ask: OpenAsk): readonly string[] => [
  ...subjectLines(ask),
  ...decisionsOn(ask).map((decision) => `  npx limpet answer ${session} ${ask.id} ${decision}`),
];

/** Says that an ask is open, and by which command it is answered. */
export const waitingLine = (session: string, { id }: Pick<OpenAsk, "id">): string =>
  `the session waits for an answer: npx limpet answer ${session} ${id} …`;

const parseInput = (text: string): AskAnswer["input"] | undefined => {
  try {
    return JSON.parse(text) as AskAnswer["input"];
  } catch {
    return undefined;
  }
};

/** Words that say the same as the letters, those of the command `answer` among them. */
const lettersOf: ReadonlyMap<string, string> = new Map([
  ["yes", "y"],
  ["approve", "y"],
  ["no", "n"],
  ["deny", "n"],
  ["edit", "e"],
]);

const readApproval = (line: string): AskAnswer | string => {
  const [word = "", ...rest] = line.split(" ");
  const more = rest.join(" ").trim();
  const given = word.toLowerCase();
  switch (lettersOf.get(given) ?? given) {
    case "y":
      return { decision: "approve" };
    case "s":
      return { decision: "approve", remember: "session" };
    case "n":
      return { decision: "deny", ...(more === "" ? {} : { message: more }) };
    case "e": {
      const input = parseInput(more);
      return input === undefined
        ? 'after e comes JSON, such as e {"path":"a.md"}'
        : { decision: "edit", input };
    }
    default:
      return "type y, n, s or e; Ctrl-D leaves, and the session waits";
  }
};

const readChoice = (
  { options, strict }: NonNullable<OpenAsk["question"]>,
  line: string,
): AskAnswer | string => {
  const option = options[Number(line) - 1] ?? options.find((each) => each === line);
  if (option !== undefined) return { decision: "answer", selections: [option] };
  return strict
    ? `there are ${options.length} options; type a number from 1 to ${options.length}`
    : { decision: "answer", text: line };
};

/** Reads the line with which a person answers; a text says what is wrong with it. */
export const readAnswer = ({ question, approval, budget }: OpenAsk, given: string): AskAnswer | string => {
  const line = given.trim();
  if (approval !== undefined) return readApproval(line);
  if (question !== undefined) return readChoice(question, line);
  if (line === "n") return { decision: budget === undefined ? "cancel" : "deny" };
  if (budget === undefined) return { decision: "result", output: line };
  return Number.isFinite(Number(line)) && line !== ""
    ? { decision: "approve", limit: Number(line) }
    : "type a number, or n";
};
