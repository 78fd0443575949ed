import type { Middleware } from "../../../src/agent/definition/guard.ts";
import type { Bench } from "../../support/bench.ts";
import type { Toolbox } from "../../../src/tools/define-tool.ts";
import { openBench } from "../../support/bench.ts";
import { replies, said, scripted } from "../../support/scripts.ts";
import { engineOf } from "../../support/teams.ts";
import type { TestWorkspace } from "../../support/workspace.ts";
import { workspaceWith } from "../../support/workspace.ts";
import { dataOf } from "../loop/play.ts";

/** Sessions whose edits are checked by a real command in a real workspace. */

/** The check passes once `app.txt` says "good", and writes down each of its runs. */
export const check = "echo run >> runs.log; cat app.txt; grep -q good app.txt";

export const write = (content: string, path = "app.txt") => said(["fs_write", { path, content }]);

export interface VerifyPlay {
  readonly bench: Bench;
  readonly workspace: TestWorkspace;
}

export interface VerifyOptions {
  /** YAML of the agent's options, beside the check of edits. */
  readonly options?: string;
  /** More YAML of the agent. */
  readonly agent?: string;
  readonly team?: string;
  readonly toolboxes?: string;
  readonly files?: Readonly<Record<string, string>>;
  /** Toolboxes of the test's own. */
  readonly extra?: readonly Toolbox[];
  readonly middleware?: readonly Middleware[];
  /** The deployment knows this secret by the name TOKEN. */
  readonly secret?: string;
}

const standard = `verify_after_edit: true, verify_command: ${JSON.stringify(check)}`;

const verifyYaml = (
  script: string,
  { options = standard, agent = "", team = "", toolboxes = "[filesystem, exec]" }: VerifyOptions = {},
): string =>
  scripted(script, `options: { ${options} }\n${agent}`, team).replace(
    "toolboxes: [probe]",
    `toolboxes: ${toolboxes}`,
  );

/** Opens a session that gives these replies, in a workspace that holds some files. */
export const openVerify = async (
  said: readonly string[],
  options: VerifyOptions = {},
): Promise<VerifyPlay> => {
  const workspace = await workspaceWith(options.files);
  const engine = await engineOf(verifyYaml(replies(...said), options), {
    env: workspace.env,
    toolboxes: options.extra ?? [],
    middleware: options.middleware ?? [],
  });
  if (options.secret !== undefined) engine.redactor.learn("TOKEN", options.secret);
  const bench = openBench({ engine });
  bench.ok("create");
  return { bench, workspace };
};

/** Plays one input to its end. */
export const playVerify = async (
  said: readonly string[],
  options: VerifyOptions = {},
): Promise<VerifyPlay> => {
  const played = await openVerify(said, options);
  played.bench.send("Go");
  await played.bench.idle();
  return played;
};

/** `state attempt` of each event of a check, in order. */
export const checks = (bench: Bench): readonly string[] =>
  dataOf(bench, "verify").map(({ state, attempt }) => `${state} ${attempt}`);

/** The notes that a model was sent after failed checks. */
export const repairNotes = (bench: Bench): readonly string[] =>
  bench
    .chat()
    .flatMap(({ sender, parts }) =>
      sender === "verify" ? parts.flatMap((part) => (part.type === "text" ? [part.text] : [])) : [],
    );

/** Lets a session work until something holds; a command may take its real time. */
export const until = async (bench: Bench, holds: () => boolean): Promise<void> => {
  const giveUp = performance.now() + 10_000;
  while (!holds() && performance.now() < giveUp) await bench.steps();
};

/** Lets a session work until its check has started so often. */
export const untilChecking = (bench: Bench, times = 1): Promise<void> =>
  until(bench, () => checks(bench).filter((each) => each.startsWith("started")).length >= times);
