import { joinBrackets } from "./brackets.ts";
import { atExit, setsExitHandler, setTrap } from "./exit-handler.ts";
import { endLoops } from "./endless-loops.ts";
import { jobCommands, lastJob, startJob } from "./job-statements.ts";
import type { Pipeline, ShellScript, SimpleCommand, Statement, Word, WordPart } from "./script-syntax.ts";
import { call, literal, statement, textOf, variable } from "./script-syntax.ts";

/**
 * This file mends every parsed script: of the call, `sh -c`, a file, `eval` or `$(…)`. Statements that the embedded
 * shell would run differently from bash are replaced by equal ones that it runs the same.
 */

const isExpansion = ({ type }: WordPart): boolean =>
  type === "ParameterExpansion" || type === "CommandSubstitution";

/** Returns whether a quoted part may become several words: `"$@"`, `"${list[@]}"`. */
const isList = (part: WordPart): boolean =>
  part.type === "DoubleQuoted" &&
  part.parts.some((inner) => inner.type === "ParameterExpansion" && /^@$|\[@\]$/.test(inner.parameter));

const becomesWords = (word: Word): boolean => word.parts.some((part) => isExpansion(part) || isList(part));

/** Returns an expansion that becomes no word: `${none+}`. */
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

/** Splits the name of a command into words: the shell takes the first argument as the name if the name is no word. */
const splitName = (command: SimpleCommand): void => {
  if (command.name === null || !becomesWords(command.name)) return;
  command.args = [command.name, ...command.args];
  command.name = nothing();
};

/** Returns whether a field of a node, or of one below it, matches a pattern. */
const hasField = (node: unknown, field: string, pattern: RegExp): boolean => {
  if (typeof node !== "object" || node === null) return false;
  return Object.entries(node).some(([name, value]) =>
    name === field && typeof value === "string" ? pattern.test(value) : hasField(value, field, pattern),
  );
};

/** Splits `-td,` into `-t -d ,`: the shell knows the options of `mapfile` one by one alone. */
const splitOptions = (word: Word): Word[] => {
  const [first, ...rest] = word.parts;
  const [, flags = "", option = "", value = ""] =
    (first?.type === "Literal" ? /^-(t*)([dnOsuCc]?)([^]*)$/.exec(first.value) : null) ?? [];
  if (flags + option === "") return [word];
  const options = [...(flags === "" ? [] : ["-t"]), ...(option === "" ? [] : [`-${option}`])].map(literal);
  const parts = [...(value === "" ? [] : literal(value).parts), ...rest];
  return parts.length === 0 ? options : [...options, { type: "Word", parts }];
};

const mendCommand = (command: SimpleCommand): void => {
  const name = command.name === null ? "" : textOf(command.name);
  if (/^(mapfile|readarray)$/.test(name)) command.args = command.args.flatMap(splitOptions);
  if (name === "trap") setTrap(command);
  if (name === "wait") command.name = literal(jobCommands.wait);
  splitName(command);
  if (command.name === null)
    command.isPlain = !hasField(command.assignments, "type", /^(CommandSubstitution|ArithCommandSubst)$/);
};

/** Returns whether a substitution is `$(< file)`. */
const readsFile = ({ statements: [first, ...more] }: ShellScript): boolean => {
  const command = first?.pipelines[0]?.commands[0];
  return more.length === 0 && command?.type === "SimpleCommand" && command.name === null;
};

/** Keeps the options of a substitution within it, and ends `set -e` there, as bash does. */
const endErrexit = (script: ShellScript): void => {
  if (readsFile(script)) return;
  const readsStatus = hasField(script.statements[0], "parameter", /^\?$/);
  const start = readsStatus ? [] : [statement(call("set", literal("+e")))];
  const body = [...start, ...script.statements];
  script.statements = [statement({ type: "Subshell", body, redirections: [] })];
};

/** Writes `[!…]` in the patterns of `case` and `[[` as `[^…]`, which the shell knows there. */
const negatePatterns = (node: unknown): void => {
  if (typeof node !== "object" || node === null) return;
  if ("type" in node && node.type === "Glob" && "pattern" in node) {
    node.pattern = String(node.pattern).replaceAll("[!", "[^");
    return;
  }
  for (const value of Object.values(node)) negatePatterns(value);
};

/** Allows `"${name-value}"` after `set -u`: the shell fails for an unset name only if the expansion stands alone. */
const allowUnset = ({ parts }: Extract<WordPart, { type: "DoubleQuoted" }>): void => {
  const [part, ...more] = parts;
  if (more.length > 0 || part?.type !== "ParameterExpansion" || hasField(part, "parameter", /@/)) return;
  if (/^(AssignDefault|DefaultValue|UseAlternative)$/.test(part.operation?.type ?? ""))
    parts.push(...literal("").parts);
};

/** Expands an expansion in arithmetic as in a word, unless it is a name alone. */
const expandAsWord = (node: { type: string; content: string }): void => {
  if (/^[#!]?\w+(\[[@*\w]+\])?$/.test(node.content)) return;
  const { content } = node;
  Object.assign(node, { type: "ArithCommandSubst", command: `printf %s "\${${content}}"` });
};

type Expansion = Extract<WordPart, { type: "ParameterExpansion" }>;

const mendExpansion = (expansion: Expansion): void => {
  if (expansion.parameter === "!") expansion.parameter = lastJob;
  const { operation } = expansion;
  if (operation !== null && "pattern" in operation && operation.pattern !== null)
    joinBrackets(operation.pattern);
};

/** Writes `for name` as `for name in "$@"`: the shell would split the words once more. */
const nameWords = (loop: { words: Word[] | null }): void => {
  loop.words ??= [variable("@")];
};

interface Node {
  readonly type: string;
}

const isNode = (value: object): value is Node => "type" in value && typeof value.type === "string";

const mendNode = (node: Node): void => {
  switch (node.type) {
    case "SimpleCommand":
      return mendCommand(node as SimpleCommand);
    case "For":
      return nameWords(node as Node & { words: Word[] | null });
    case "Pipeline":
      return endLoops(node as Pipeline);
    case "CommandSubstitution":
      return endErrexit((node as Extract<WordPart, { type: "CommandSubstitution" }>).body);
    case "ParameterExpansion":
      return mendExpansion(node as Expansion);
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

/** Mends the nodes below a node, then the node; the scripts of substitutions are mended already. */
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

/** Replaces statements with `&` by jobs, which run one after another. */
const startJobs = (statements: Statement[]): void => {
  for (const [at, each] of statements.entries()) if (each.background) statements[at] = startJob(each);
};

/**
 * Mends a script that has been parsed. The shell itself calls it.
 * @public
 */
export const mendScript = (script: ShellScript): ShellScript => {
  visit(script.statements);
  startJobs(script.statements);
  script.statements = withHandler(script.statements);
  return script;
};
