import { partAtEnd, takeOptions } from "../line/flags.ts";
import { limitsIn, separatePaths } from "../line/revisions.ts";
import type { GitCommand } from "../run-package.ts";
import type { WorkTree } from "../tracked-files.ts";
import { absoluteTime } from "./commit-dates.ts";
import type { TextStyle } from "./commit-text.ts";
import { readNames } from "./commit-text.ts";

/** The arguments of `git log` and `git show`, read: which commits to show, and in which form. */

export interface LogCall {
  readonly style: TextStyle;
  /** Whether a line end stands between commits only, not after the last: `format:`. */
  readonly isSeparated: boolean;
  /** Options of the patches and counts below commits. */
  readonly below: readonly string[];
  /** Options that the package does not know for the choice of commits. */
  readonly picks: ReadonlyMap<string, string>;
  /** How many commits to show, after how many, and from which end. */
  readonly counts: readonly string[];
  /** The revisions, and the other options that choose commits. */
  readonly chosen: readonly string[];
  /** The paths after `--`. */
  readonly paths: readonly string[];
  readonly hasNoPatch: boolean;
  readonly hasGraph: boolean;
}

const isForm = (arg: string): boolean => /^--(?:oneline$|(?:format|pretty)(?:=|$))/.test(arg);

/** Returns the format that the last of the options of a form chooses: a name, or fields. */
function formatOf(forms: readonly string[]): string {
  const chosen = forms.findLast((arg) => arg !== "--pretty") ?? "--format=medium";
  const value = chosen.slice(chosen.indexOf("=") + 1);
  if (chosen === "--oneline") return "oneline";
  return value === "reference" ? "%h (%s, %as)" : value;
}

const picks = [
  "--merges",
  "--no-merges",
  "--invert-grep",
  "--regexp-ignore-case",
  "--follow",
  "-S ",
  "-G ",
  "--diff-filter=",
];

const isCount = (arg: string): boolean => /^--(?:reverse$|skip=|max-count=)/.test(arg);

const isBelow = (arg: string): boolean => /^--(?:patch|(?:short|num)?stat|name-only|name-status)$/.test(arg);

const isStyle = (arg: string): boolean => /^--(?:graph$|decorate(?:=|$)|date=)/.test(arg);

/** Replaces `--branches`, `--tags` and `--remotes` by the names of the refs. */
async function spreadRefs({ refStore }: WorkTree, args: readonly string[]): Promise<readonly string[]> {
  const named: string[] = [];
  for (const arg of args) {
    const [, kind] = /^--(branches|tags|remotes)$/.exec(arg) ?? [];
    if (kind === undefined) named.push(arg);
    else {
      const refs = await refStore.listRefs(`refs/${kind.replace("branches", "heads")}`);
      named.push(...refs.map(({ name }) => name));
    }
  }
  return named;
}

/** Replaces the times of `--since` and its like. */
const absoluteTimes = (arg: string): string => {
  const [, option, time = ""] = /^(--(?:since|until|after|before)=)(.*)$/s.exec(arg) ?? [];
  return option === undefined ? arg : option + absoluteTime(time, Date.now());
};

/** Returns a count as one word: `-n 3` as `--max-count=3`. */
const plainCounts = (args: readonly string[]): readonly string[] => {
  const { options, args: rest } = takeOptions(args, ["-n "]);
  const count = options.get("-n");
  return count === undefined ? rest : [rest[0] ?? "", `--max-count=${count}`, ...rest.slice(1)];
};

/** Reads how commits are written. */
async function readStyle(
  repository: WorkTree,
  args: readonly string[],
  isShort: boolean,
): Promise<TextStyle> {
  const format = formatOf(args.filter(isForm));
  const dates = args.filter((arg) => arg.startsWith("--date="));
  const isDecorated = args.some((arg) => /^--decorate(?!=no)/.test(arg)) || /%d/i.test(format);
  return {
    format: format.replace(/^t?format:/, ""),
    date: dates.at(-1)?.slice("--date=".length) ?? "default",
    isShort: isShort || args.includes("--oneline"),
    names: isDecorated ? await readNames(repository) : new Map(),
  };
}

/** Reads the arguments of a log. */
export async function readLogCall(repository: WorkTree, command: GitCommand): Promise<LogCall> {
  const numbered = command.args.map((arg) => arg.replace(/^-(\d+)$/, "--max-count=$1"));
  const taken = takeOptions(plainCounts(numbered), picks);
  const shapes = takeOptions(taken.args, ["--abbrev-commit", "-s"]);
  const separated = await separatePaths(repository, shapes.args, command.context);
  const before = partAtEnd(separated)[0].slice(1);
  const forms = before.filter(isForm);
  const chosen = before.filter((arg) => ![isForm, isCount, isBelow, isStyle].some((test) => test(arg)));
  return {
    style: await readStyle(repository, before, shapes.options.has("--abbrev-commit")),
    isSeparated: /=format:/.test(forms.at(-1) ?? ""),
    below: before.filter(isBelow),
    picks: taken.options,
    counts: before.filter(isCount),
    chosen: (await spreadRefs(repository, chosen)).map(absoluteTimes),
    paths: limitsIn(repository, separated, command.context).filter((limit) => limit !== ""),
    hasNoPatch: shapes.options.has("-s"),
    hasGraph: before.includes("--graph"),
  };
}
