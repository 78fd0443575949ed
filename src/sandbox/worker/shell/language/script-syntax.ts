import type { Bash } from "just-bash/browser";

/** The syntax of scripts as the embedded shell parses them, and the few nodes that mends add. */

export type ShellScript = ReturnType<Bash["transform"]>["ast"];

export type Statement = ShellScript["statements"][number];

export type Pipeline = Statement["pipelines"][number] & {
  /** Whether `set -e` holds in the pipeline wherever it stands in a list. */
  isSelfContained?: boolean;
};

export type Command = Pipeline["commands"][number];

export type SimpleCommand = Extract<Command, { type: "SimpleCommand" }> & {
  /** Whether the command only assigns, without running anything. */
  isPlain?: boolean;
};

export type Word = SimpleCommand["args"][number];

export type WordPart = Word["parts"][number];

export type Redirection = SimpleCommand["redirections"][number];

export const literal = (value: string): Word => ({ type: "Word", parts: [{ type: "Literal", value }] });

/** Returns the word `"$name"`. */
export const variable = (parameter: string): Word => ({
  type: "Word",
  parts: [{ type: "DoubleQuoted", parts: [{ type: "ParameterExpansion", parameter, operation: null }] }],
});

/** Returns the text of a word that is one text, literal or quoted; empty for any other word. */
export const textOf = ({ parts }: Word): string => {
  const [part] = parts;
  if (part?.type === "DoubleQuoted" && parts.length === 1) return textOf({ type: "Word", parts: part.parts });
  return part?.type === "Literal" || part?.type === "SingleQuoted" ? part.value : "";
};

export const call = (name: string, ...args: readonly Word[]): SimpleCommand => ({
  type: "SimpleCommand",
  assignments: [],
  name: literal(name),
  args: [...args],
  redirections: [],
});

export const assignment = (name: string, value: Word): SimpleCommand => ({
  type: "SimpleCommand",
  assignments: [{ type: "Assignment", name, value, append: false, array: null }],
  name: null,
  args: [],
  redirections: [],
  isPlain: true,
});

export const pipeline = (...commands: readonly Command[]): Pipeline => ({
  type: "Pipeline",
  commands: [...commands],
  negated: false,
});

export const statement = (...commands: readonly Command[]): Statement => ({
  type: "Statement",
  pipelines: [pipeline(...commands)],
  operators: [],
  background: false,
});

/** Returns the statement `first && second || third`, in whose first part `set -e` holds. */
export const either = (first: Pipeline, second: Command, third: Command): Statement => ({
  type: "Statement",
  pipelines: [{ ...first, isSelfContained: true } as Pipeline, pipeline(second), pipeline(third)],
  operators: ["&&", "||"],
  background: false,
});

export const fromNothing: Redirection = {
  type: "Redirection",
  fd: null,
  operator: "<",
  target: literal("/dev/null"),
};
