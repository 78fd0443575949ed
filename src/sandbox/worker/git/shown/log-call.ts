import { partAtEnd, takeOptions } from "../line/flags.ts";
import { limitsIn, separatePaths } from "../line/revisions.ts";
import type { GitCommand } from "../run-package.ts";
import type { WorkTree } from "../tracked-files.ts";
import { absoluteTime, prepareFormat } from "./log-fields.ts";
import type { PreparedFormat } from "./log-fields.ts";

/** The arguments of `git log` and `git show`, read: which commits to show, and in which form. */

/** The form of a log: the option that chooses it, and what completes its output. */
interface LogForm extends PreparedFormat {
  /** Whether a line end stands between commits only, not after the last. */
  readonly isSeparated: boolean;
  /** Whether an empty line stands between commits. */
  readonly isSpaced: boolean;
}

export interface LogCall {
  readonly form: LogForm;
  /** Options of the patches and counts below commits, and of their dates. */
  readonly shown: readonly string[];
  /** Options that the package does not know for the choice of commits. */
  readonly picks: ReadonlyMap<string, string>;
  /** How many commits to show, after how many, and from which end. */
  readonly counts: readonly string[];
  /** The revisions, and the other options that choose commits. */
  readonly chosen: readonly string[];
  /** The paths after `--`. */
  readonly paths: readonly string[];
  readonly isShort: boolean;
  readonly hasNoPatch: boolean;
}

const plain = { complete: (output: string) => output, isSeparated: false };
const medium: LogForm = { ...plain, format: "", isSpaced: true };

const composed: Readonly<Record<string, string>> = { reference: "%h (%s, %as)" };

const isForm = (arg: string): boolean => /^--(?:oneline$|(?:format|pretty)(?:=|$))/.test(arg);

/** Returns the form that the last of the options of a form chooses. */
function formOf(forms: readonly string[], isShort: boolean, date: string): LogForm {
  const chosen = forms.findLast((arg) => arg !== "--pretty");
  if (chosen === undefined) return medium;
  const value = chosen.slice(chosen.indexOf("=") + 1);
  if (chosen === "--oneline" || (value === "oneline" && isShort))
    return { ...plain, format: "--oneline", isSpaced: false };
  if (/^(?:oneline|short|medium|full|fuller|raw)$/.test(value))
    return { ...plain, format: `--format=${value}`, isSpaced: value !== "oneline" };
  const format = (composed[value] ?? value).replace(/^t?format:/, "");
  const prepared = prepareFormat(format, date.startsWith("format:") ? date.slice("format:".length) : null);
  const isSeparated = value.startsWith("format:");
  const mark = isSeparated ? "format:" : "";
  return { ...prepared, format: `--format=${mark}${prepared.format}`, isSeparated, isSpaced: false };
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

const isShown = (arg: string): boolean =>
  /^--(?:patch|(?:short|num)?stat|name-only|name-status|decorate(?:=.*)?|date=.*|graph)$/.test(arg);

/** Writes revisions as the package takes them: `^a b` and `b --not a` as `a..b`, `--branches` and `--tags` by name. */
async function plainRevisions({ refStore }: WorkTree, args: readonly string[]): Promise<readonly string[]> {
  const not = args.indexOf("--not");
  const written = args.flatMap((arg, at) => {
    if (at === not) return [];
    return not >= 0 && at > not && !arg.startsWith("-") ? [`^${arg}`] : [arg];
  });
  const excluded = written.find((arg) => arg.startsWith("^"));
  const included = written.find((arg) => !/^[-^]/.test(arg));
  const others = written.filter((arg) => arg !== included && arg !== excluded);
  const joined =
    excluded === undefined ? written : [...others, `${excluded.slice(1)}..${included ?? "HEAD"}`];
  const named: string[] = [];
  for (const arg of joined) {
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

/** Reads the arguments of a log. */
export async function readLogCall(repository: WorkTree, command: GitCommand): Promise<LogCall> {
  const numbered = command.args.map((arg) => arg.replace(/^-(\d+)$/, "--max-count=$1"));
  const taken = takeOptions(plainCounts(numbered), picks);
  const shapes = takeOptions(taken.args, ["--abbrev-commit", "-s"]);
  const separated = await separatePaths(repository, shapes.args, command.context);
  const before = partAtEnd(separated)[0].slice(1);
  const dates = before.filter((arg) => arg.startsWith("--date="));
  const date = dates.at(-1)?.slice("--date=".length) ?? "";
  const hasOwnDate = date.startsWith("format:") || date === "default";
  const isShort = shapes.options.has("--abbrev-commit");
  const chosen = before.filter((arg) => !isForm(arg) && !isCount(arg) && !isShown(arg));
  return {
    form: formOf(before.filter(isForm), isShort, date),
    shown: before.filter((arg) => isShown(arg) && !(hasOwnDate && dates.includes(arg))),
    picks: taken.options,
    counts: before.filter(isCount),
    chosen: (await plainRevisions(repository, chosen)).map(absoluteTimes),
    paths: limitsIn(repository, separated, command.context).filter((limit) => limit !== ""),
    isShort,
    hasNoPatch: shapes.options.has("-s"),
  };
}
