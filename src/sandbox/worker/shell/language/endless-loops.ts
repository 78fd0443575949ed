import { redirectCompound } from "../statements.ts";
import type { Command, Pipeline, Redirection, SimpleCommand, Statement } from "./script-syntax.ts";
import { assignment, call, either, literal, pipeline, statement, textOf, variable } from "./script-syntax.ts";

/**
 * Loops before `head`, as in `while :; do …; done | head -n 3`: a pipeline runs its commands one after another, so that
 * such a loop collects its output in a file, and ends when there is enough of it.
 */

/** The command that answers whether a file has fewer lines than wanted. */
export const wantsMore = "wants-more";

/** Lines that are counted at most; each round of a loop counts them. */
const mostLines = 1000;

const status = "__loop_status";

type Loop = Extract<Command, { type: "While" | "Until" | "CStyleFor" }>;

const isLoop = (node: object): node is Loop =>
  "type" in node && /^(While|Until|CStyleFor)$/.test(String(node.type));

/** Lists the loops of a command that may have no end, without those of substitutions. */
const loopsIn = (node: unknown): Loop[] => {
  if (typeof node !== "object" || node === null || ("type" in node && node.type === "Script")) return [];
  return [...(isLoop(node) ? [node] : []), ...Object.values(node).flatMap(loopsIn)];
};

/** Returns how many lines `head` takes from its input; null if that is not known. */
const linesOf = ({ name, args }: SimpleCommand): number | null => {
  const words = args.map(textOf).join(" ");
  const [, count = "10"] = /^(?:-n ?|-)?(\d+)?$/.exec(words.replace("--lines=", "-n")) ?? [];
  const isKnown = name !== null && textOf(name) === "head" && /^(?:|(?:-n ?|--lines=|-)\d+)$/.test(words);
  return isKnown && Number(count) <= mostLines ? Number(count) : null;
};

const printsElsewhere = ({ fd, operator }: Redirection): boolean =>
  operator.includes("&") || (operator.includes(">") && (fd ?? 1) === 1);

const exitUnless = (test: SimpleCommand): Statement => ({
  type: "Statement",
  pipelines: [pipeline(test), pipeline(call("exit", literal("0")))],
  operators: ["||"],
  background: false,
});

let files = 0;

/** Returns a command that runs another one until it has printed so many lines. */
function endEarly(
  command: Exclude<Command, { type: "SimpleCommand" | "FunctionDef" }>,
  lines: number,
): Command {
  const path = literal(`/dev/lines-${(files += 1)}`);
  for (const loop of loopsIn(command))
    loop.body.unshift(exitUnless(call(wantsMore, path, literal(String(lines)))));
  const into: Redirection = { type: "Redirection", fd: 1, operator: ">>", target: path };
  const empty = { ...call(":"), redirections: [{ ...into, operator: ">" as const }] };
  const inside = statement(redirectCompound(command, [into]));
  const whole = pipeline({ type: "Subshell", body: [inside], redirections: [] });
  const body = [
    statement(empty),
    either(whole, assignment(status, literal("0")), assignment(status, variable("?"))),
    statement(call("cat", path)),
    statement(call("exit", variable(status))),
  ];
  return { type: "Subshell", body, redirections: [] };
}

/** Ends the loops before each `head` of a pipeline when it has enough. */
export const endLoops = ({ commands }: Pipeline): void => {
  for (const [at, command] of commands.entries()) {
    const next = commands[at + 1];
    const lines = next?.type === "SimpleCommand" ? linesOf(next) : null;
    if (lines === null || command.type === "SimpleCommand" || command.type === "FunctionDef") continue;
    if (loopsIn(command).length === 0 || command.redirections.some(printsElsewhere)) continue;
    commands[at] = endEarly(command, lines);
  }
};
