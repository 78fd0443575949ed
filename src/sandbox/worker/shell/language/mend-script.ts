import { atExit, setsExitHandler, setTrap } from "./exit-handler.ts";
import { jobCommands, lastJob, startJob } from "./job-statements.ts";
import type { Script, SimpleCommand, Statement, Word, WordPart } from "./script-syntax.ts";
import { call, literal, statement, textOf } from "./script-syntax.ts";

/**
 * This file mends scripts once they are parsed, wherever they come from: the call, `sh -c`, a file, `eval`, `$(…)`. What
 * the embedded shell would do otherwise than bash is written as something that it does the same.
 */

const isExpansion = ({ type }: WordPart): boolean =>
  type === "ParameterExpansion" || type === "CommandSubstitution";

/** Whether a part may become several words although it is quoted: `"$@"`, `"${list[@]}"`. */
const isList = (part: WordPart): boolean =>
  part.type === "DoubleQuoted" &&
  part.parts.some((inner) => inner.type === "ParameterExpansion" && /^@$|\[@\]$/.test(inner.parameter));

const becomesWords = (word: Word): boolean => word.parts.some((part) => isExpansion(part) || isList(part));

/** A word that is no word: `${none+}`. */
const nothing = (): Word => ({
  type: "Word",
  parts: [
    {
      type: "ParameterExpansion",
      parameter: "__none",
      operation: { type: "UseAlternative", word: literal(""), checkEmpty: false },
    },
  ],
});

/** Has the command's name split into words: the shell takes the first argument as the name where the name is nothing. */
const splitName = (command: SimpleCommand): void => {
  if (command.name === null || !becomesWords(command.name)) return;
  command.args = [command.name, ...command.args];
  command.name = nothing();
};

const runsCommands = (node: unknown): boolean => {
  if (typeof node !== "object" || node === null) return false;
  if ("type" in node && /^(CommandSubstitution|ArithCommandSubst)$/.test(String(node.type))) return true;
  return Object.values(node).some(runsCommands);
};

const mendCommand = (command: SimpleCommand): void => {
  const name = command.name === null ? "" : textOf(command.name);
  if (name === "trap") setTrap(command);
  if (name === "wait") command.name = literal(jobCommands.wait);
  splitName(command);
  if (command.name === null) command.isPlain = !runsCommands(command.assignments);
};

/** Whether a statement asks how the one before it ended. */
const asksStatus = (node: unknown): boolean => {
  if (typeof node !== "object" || node === null) return false;
  if ("parameter" in node && node.parameter === "?") return true;
  return Object.values(node).some(asksStatus);
};

/** Whether a substitution is `$(< file)`. */
const readsFile = ({ statements: [first, ...more] }: Script): boolean => {
  const command = first?.pipelines[0]?.commands[0];
  return more.length === 0 && command?.type === "SimpleCommand" && command.name === null;
};

/** Has the options of a substitution be its own, and ends `set -e` there, as bash does. */
const endErrexit = (script: Script): void => {
  if (readsFile(script)) return;
  const start = asksStatus(script.statements[0]) ? [] : [statement(call("set", literal("+e")))];
  const body = [...start, ...script.statements];
  script.statements = [statement({ type: "Subshell", body, redirections: [] })];
};

/** Has `[!…]` in the patterns of `case` and `[[` be what it is where files are looked for. */
const negatePatterns = (node: unknown): void => {
  if (typeof node !== "object" || node === null) return;
  if ("type" in node && node.type === "Glob" && "pattern" in node) {
    node.pattern = String(node.pattern).replaceAll("[!", "[^");
    return;
  }
  for (const value of Object.values(node)) negatePatterns(value);
};

/** Whether a value that stands in for another one may be a list. */
const givesList = (node: unknown): boolean => {
  if (typeof node !== "object" || node === null) return false;
  return ("parameter" in node && /@/.test(String(node.parameter))) || Object.values(node).some(givesList);
};

/** Has `"${name-value}"` be no error after `set -u`: the shell looks for the name first if nothing stands beside it. */
const allowUnset = ({ parts }: Extract<WordPart, { type: "DoubleQuoted" }>): void => {
  const [part, ...more] = parts;
  if (more.length > 0 || part?.type !== "ParameterExpansion" || givesList(part)) return;
  if (/^(AssignDefault|DefaultValue|UseAlternative)$/.test(part.operation?.type ?? ""))
    parts.push(...literal("").parts);
};

/** Has an expansion in arithmetic that is more than a name expanded as in a word. */
const expandAsWord = (node: { type: string; content: string }): void => {
  if (/^[#!]?\w+(\[[@*\w]+\])?$/.test(node.content)) return;
  const { content } = node;
  Object.assign(node, { type: "ArithCommandSubst", command: `printf %s "\${${content}}"` });
};

interface Node {
  readonly type: string;
}

const isNode = (value: object): value is Node => "type" in value && typeof value.type === "string";

const mendNode = (node: Node): void => {
  switch (node.type) {
    case "SimpleCommand":
      return mendCommand(node as SimpleCommand);
    case "CommandSubstitution":
      return endErrexit((node as Extract<WordPart, { type: "CommandSubstitution" }>).body);
    case "ParameterExpansion": {
      const expansion = node as Extract<WordPart, { type: "ParameterExpansion" }>;
      if (expansion.parameter === "!") expansion.parameter = lastJob;
      return;
    }
    case "DoubleQuoted":
      return allowUnset(node as Extract<WordPart, { type: "DoubleQuoted" }>);
    case "ArithBracedExpansion":
      return expandAsWord(node as Node & { content: string });
    case "CaseItem":
      return negatePatterns((node as Node & { patterns: Word[] }).patterns);
    case "CondBinary":
      return negatePatterns((node as Node & { right: Word }).right);
    case "Subshell": {
      const subshell = node as Node & { body: Statement[] };
      subshell.body = withHandler(subshell.body);
    }
  }
};

const withHandler = (statements: Statement[]): Statement[] =>
  setsExitHandler(statements) ? atExit(statements) : statements;

/** Mends what is below a node, then the node; the scripts of substitutions have been parsed and mended before. */
const visit = (node: object): void => {
  if (isNode(node) && node.type === "Script") return;
  for (const [field, value] of Object.entries(node)) {
    if (typeof value !== "object" || value === null) continue;
    visit(value);
    if (Array.isArray(value) && (field === "statements" || isBody(field))) startJobs(value);
  }
  if (isNode(node)) mendNode(node);
};

const isBody = (field: string): boolean => /^(body|elseBody|condition)$/.test(field);

/** Has statements with `&` run one after another. */
const startJobs = (statements: Statement[]): void => {
  for (const [at, each] of statements.entries()) if (each.background) statements[at] = startJob(each);
};

/**
 * Mends a script that has been parsed. The shell itself calls it.
 * @public
 */
export const mendScript = (script: Script): Script => {
  visit(script.statements);
  startJobs(script.statements);
  script.statements = withHandler(script.statements);
  return script;
};
