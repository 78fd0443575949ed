import type { Bash } from "just-bash/browser";
import type { Command, Redirection, SimpleCommand, Statement } from "./language/script-syntax.ts";
import { literal } from "./language/script-syntax.ts";

type ScriptTransform = Parameters<Bash["registerTransformPlugin"]>[0];

/** Files that collect what a script prints while it runs. */
export const outputPaths = { stdout: "/dev/out", stderr: "/dev/err" } as const;

const into = (fd: number, path: string): Redirection => ({
  type: "Redirection",
  fd,
  operator: ">>",
  target: literal(path),
});

const outputs: readonly Redirection[] = [into(1, outputPaths.stdout), into(2, outputPaths.stderr)];

const nameOfCommand = (command: SimpleCommand): string | null => {
  const [part] = command.name?.parts ?? [];
  return part?.type === "Literal" ? part.value : null;
};

/** Adds redirections in front, so that the command's own, which come later, take precedence. */
const collectOutput = <C extends Exclude<Command, { type: "FunctionDef" }>>(
  command: C,
  into: readonly Redirection[],
): C => ({ ...command, redirections: [...into, ...command.redirections] });

type Compound = Exclude<Command, { type: "FunctionDef" | "SimpleCommand" }>;

/** Redirects the output of the statements in a command. */
export function redirectCompound(command: Compound, into: readonly Redirection[]): Command {
  const redirect = (statements: readonly Statement[]): Statement[] => redirectStatements(statements, into);
  switch (command.type) {
    case "If":
      return {
        ...command,
        clauses: command.clauses.map((clause) => ({
          condition: redirect(clause.condition),
          body: redirect(clause.body),
        })),
        elseBody: command.elseBody && redirect(command.elseBody),
      };
    case "While":
    case "Until":
      return { ...command, condition: redirect(command.condition), body: redirect(command.body) };
    case "For":
    case "CStyleFor":
    case "Subshell":
    case "Group":
      return { ...command, body: redirect(command.body) };
    case "Case":
      return { ...command, items: command.items.map((item) => ({ ...item, body: redirect(item.body) })) };
    case "ArithmeticCommand":
    case "ConditionalCommand":
      return command;
  }
}

function redirectCommand(command: Command, into: readonly Redirection[]): Command {
  if (command.type === "FunctionDef") return command;
  if (command.type === "SimpleCommand") return command.name === null ? command : collectOutput(command, into);
  return command.redirections.length > 0 ? collectOutput(command, into) : redirectCompound(command, into);
}

/**
 * Redirects the output of statements: of a pipeline only the last command prints; bodies of functions and
 * substitutions stay unchanged.
 */
const redirectStatements = (statements: readonly Statement[], into: readonly Redirection[]): Statement[] =>
  statements.map((statement) => ({
    ...statement,
    pipelines: statement.pipelines.map((pipeline) => ({
      ...pipeline,
      commands: pipeline.commands.map((command, index) =>
        index === pipeline.commands.length - 1 ? redirectCommand(command, into) : command,
      ),
    })),
  }));

const changesOutput = (value: unknown): boolean => {
  if (typeof value !== "object" || value === null) return false;
  if (!("type" in value) || value.type !== "SimpleCommand") return Object.values(value).some(changesOutput);
  const command = value as SimpleCommand;
  return nameOfCommand(command) === "exec" && command.redirections.length > 0;
};

/**
 * Makes each statement's output available as it ends, byte for byte; a script that redirects itself with `exec`
 * stays unchanged, as does a script run by another one, since the caller may capture its output.
 */
export const printAsYouGo = (): ScriptTransform => {
  let isFirst = true;
  return {
    name: "print-as-you-go",
    transform: ({ ast }) => {
      const isOuter = isFirst;
      isFirst = false;
      return {
        ast:
          !isOuter || changesOutput(ast)
            ? ast
            : { ...ast, statements: redirectStatements(ast.statements, outputs) },
      };
    },
  };
};
