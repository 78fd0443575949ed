import type { SimpleCommand, Statement, Word } from "./script-syntax.ts";
import { assignment, call, either, literal, pipeline, statement, textOf, variable } from "./script-syntax.ts";

/** `trap … EXIT`: the script becomes a part of a longer one, which runs the handler after it. */

/** The command that warns of a handler that will not run; the shell never looks for a command `trap`. */
export const trapName = "set-trap";

const handler = "__exit_handler";
const status = "__exit_status";

const isExit = (word: Word): boolean => /^(EXIT|0|SIGEXIT)$/.test(textOf(word));

/** Returns whether a word names a signal, which nobody sends here, so that its handler need not run. */
const isSignal = (word: Word): boolean => !/^(ERR|DEBUG|RETURN)$/.test(textOf(word));

/** Writes `trap 'handler' EXIT` as the assignment of a variable. */
export const setTrap = (command: SimpleCommand): void => {
  const [first, ...rest] = command.args;
  const [text, ...signals] = first !== undefined && textOf(first) === "--" ? rest : command.args;
  if (text !== undefined && signals.some(isExit)) {
    const value = textOf(text) === "-" ? literal("") : text;
    Object.assign(command, assignment(handler, value), { redirections: command.redirections });
  } else if (text === undefined || signals.every(isSignal)) {
    Object.assign(command, call(":"), { redirections: command.redirections });
  } else {
    command.name = literal(trapName);
  }
};

/** Returns whether statements set the exit handler of the shell that runs them. */
export const setsExitHandler = (node: unknown): boolean => {
  if (typeof node !== "object" || node === null) return false;
  if ("type" in node && (node.type === "Subshell" || node.type === "Script")) return false;
  if ("type" in node && node.type === "Assignment" && "name" in node && node.name === handler) return true;
  return Object.values(node).some(setsExitHandler);
};

/** The word `"${handler-}"`, since the script may end before it sets the handler. */
const handlerText: Word = {
  type: "Word",
  parts: [
    {
      type: "DoubleQuoted",
      parts: [
        {
          type: "ParameterExpansion",
          parameter: handler,
          operation: { type: "DefaultValue", word: literal(""), checkEmpty: false },
        },
        ...literal("").parts,
      ],
    },
  ],
};

/**
 * Runs the handler after statements, however they end: an `exit` in the last command of a pipeline ends that command
 * alone, and with `lastpipe` its variables stay set.
 */
export const atExit = (statements: Statement[]): Statement[] => {
  const body = [statement(call("shopt", literal("-u"), literal("lastpipe"))), ...statements];
  const whole = pipeline(call("cat"), { type: "Group", body, redirections: [] });
  const restored = statement({
    type: "Subshell",
    body: [statement(call("exit", variable(status)))],
    redirections: [],
  });
  return [
    statement(call("shopt", literal("-s"), literal("lastpipe"))),
    either(whole, assignment(status, literal("0")), assignment(status, variable("?"))),
    statement(call("set", literal("+e"))),
    restored,
    statement(call("eval", handlerText)),
    statement(call("exit", variable(status))),
  ];
};
