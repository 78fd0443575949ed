/** What is known of the options of each command: which have a value, and which change nothing here. */

export interface Flags {
  /** Letters whose value is the rest of the word, or else the next argument. */
  readonly valued: string;
  /** Letters whose value is the rest of the word, if there is one. */
  readonly glued: string;
  /** Long options whose value may be the next argument. */
  readonly longValued: ReadonlySet<string>;
  /** Options that change nothing here, whatever their value. */
  readonly idle: ReadonlySet<string>;
  /** Other spellings of options. */
  readonly same: ReadonlyMap<string, string>;
  /** Whether the command writes nothing but errors with `--quiet`. */
  readonly isQuietable: boolean;
}

/** The same in words, where most have little of each. */
interface Row {
  readonly valued?: string;
  readonly glued?: string;
  /** Names without their dashes. */
  readonly long?: string;
  readonly idle?: string;
  /** Pairs like `-p=--patch`. */
  readonly same?: string;
  readonly isLoud?: boolean;
}

/** Options that change nothing, whichever command has them. */
const idle =
  "--no-color --color --color-moved --no-ext-diff --no-textconv --minimal --patience --histogram --diff-algorithm --indent-heuristic --text --find-renames --find-copies --no-relative --binary --topo-order --date-order --no-mailmap --mailmap --use-mailmap --no-notes --full-history --extended-regexp --perl-regexp --no-show-signature --progress --no-progress --no-verify --no-gpg-sign --no-signoff --no-stat --no-log --autostash --no-autostash --no-recurse-submodules --ignore-submodules --no-column --column --guess --no-guess --no-optional-locks --no-tags --single-branch --no-single-branch --filter --jobs --no-abbrev";

const diffs = { glued: "MCBlX", idle: "-a -M -C -B -r -E -P" };
const patches = "-u=--patch -p=--patch";

const rows: Readonly<Record<string, Row>> = {
  add: {},
  apply: {
    valued: "pC",
    long: "directory exclude include",
    idle: "--whitespace --ignore-whitespace --ignore-space-change --unidiff-zero --recount -C --allow-empty -v --verbose",
    same: "--reverse=-R -3=--3way",
  },
  blame: { valued: "L", idle: "-C -M -f" },
  branch: {
    valued: "u",
    long: "format sort set-upstream-to contains no-contains",
    idle: "-t --track --no-track",
    same: "--list=-l --force=-f --remotes=-r --verbose=-v",
  },
  checkout: { valued: "bB", idle: "--no-track -l --overlay", same: "-t=--track --force=-f --patch=-p" },
  "cherry-pick": {
    valued: "mX",
    long: "strategy-option strategy mainline",
    idle: "--allow-empty --allow-empty-message --keep-redundant-commits --ff -e --edit --no-edit",
    same: "--strategy-option=-X",
  },
  clean: { valued: "e", long: "exclude" },
  clone: { valued: "bojcu", long: "branch depth origin config jobs filter", idle: "--no-local --local -l" },
  commit: {
    valued: "mFCct",
    glued: "Su",
    long: "message file author date reuse-message reedit-message fixup squash cleanup trailer template",
    idle: "-n -v --verbose -S --gpg-sign --status --no-status --cleanup -e --edit --allow-empty-message -o --only",
    same: "--message=-m --file=-F --signoff=-s --patch=-p --include=-i -c=-C --reedit-message=--reuse-message",
  },
  config: { isLoud: true, long: "default type file", same: "-l=--list" },
  describe: { isLoud: true, long: "abbrev match exclude candidates" },
  diff: {
    ...diffs,
    valued: "USG",
    long: "diff-filter unified",
    same: `${patches} --ignore-all-space=-w --ignore-space-change=-b -s=--no-patch`,
    isLoud: true,
  },
  fetch: { valued: "oj", long: "depth", idle: "-n -j -f --force -v --verbose" },
  gc: { idle: "--auto --prune --aggressive" },
  grep: {
    valued: "emABCf",
    long: "max-depth max-count after-context before-context context",
    idle: "-I -r --recursive -a --exclude-standard",
    same: "--name-only=-l --files-with-matches=-l -P=-E --perl-regexp=-E --no-index=--untracked",
  },
  init: { valued: "b", long: "initial-branch template", idle: "--template --shared" },
  log: {
    ...diffs,
    valued: "nSGL",
    long: "max-count author committer grep since after until before skip date diff-filter format pretty",
    same: `${patches} -i=--regexp-ignore-case -g=--walk-reflogs --no-patch=-s`,
    isLoud: true,
  },
  "ls-files": { isLoud: true, valued: "xX", long: "exclude" },
  merge: {
    valued: "mXsF",
    long: "message strategy strategy-option file",
    idle: "--stat -n --commit --no-edit",
    same: "--strategy-option=-X",
  },
  mv: { same: "--verbose=-v" },
  pull: { valued: "sX", idle: "--stat -n --no-edit -t --tags --prune -p -v --verbose" },
  push: { valued: "o", long: "push-option", idle: "-v --verbose --porcelain --atomic" },
  rebase: {
    valued: "XsxS",
    long: "onto exec strategy strategy-option",
    idle: "--stat -n --keep-empty --no-autosquash --no-fork-point -v --verbose",
    same: "--interactive=-i",
  },
  reflog: { isLoud: true, valued: "n", long: "max-count", idle: "--oneline --no-decorate --abbrev-commit" },
  reset: { idle: "--no-refresh --refresh", same: "--patch=-p" },
  restore: { valued: "s", long: "source", idle: "--overlay --no-overlay", same: "--patch=-p" },
  revert: {
    valued: "mXS",
    long: "mainline strategy strategy-option",
    idle: "-e --edit --no-edit",
    same: "--strategy-option=-X",
  },
  rm: {},
  shortlog: {
    isLoud: true,
    glued: "w",
    long: "author since until after before grep group format",
    same: "--numbered=-n --summary=-s -c=--group=committer",
  },
  show: {
    ...diffs,
    valued: "SGL",
    long: "format pretty diff-filter date",
    idle: `${diffs.idle} -m -c --cc`,
    same: `${patches} --no-patch=-s -q=-s --quiet=-s`,
    isLoud: true,
  },
  stash: {
    valued: "m",
    long: "message",
    same: "--message=-m --patch=-p -k=--keep-index --all=-a -S=--staged -u=--include-untracked",
  },
  status: {
    isLoud: true,
    glued: "uM",
    idle: "--ahead-behind --no-ahead-behind --renames --no-show-stash --show-stash -v --verbose",
    same: "--long=--form=long -s=--short -b=--branch",
  },
  switch: {
    valued: "cC",
    long: "create force-create orphan",
    idle: "--no-track",
    same: "-t=--track -f=--discard-changes --force=--discard-changes",
  },
  tag: {
    valued: "mFu",
    glued: "n",
    long: "message file sort format contains points-at",
    idle: "--no-sign",
    same: "--verify=-v --sign=-s",
    isLoud: true,
  },
};

const wordsOf = (text: string): readonly string[] => text.split(" ").filter((word) => word !== "");

const ofRow = (row: Row): Flags => ({
  valued: row.valued ?? "",
  glued: row.glued ?? "",
  longValued: new Set(wordsOf(row.long ?? "").map((name) => `--${name}`)),
  idle: new Set(wordsOf(`${idle} ${row.idle ?? ""}`)),
  same: new Map(
    wordsOf(row.same ?? "").map((pair) => {
      const at = pair.indexOf("=");
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  ),
  isQuietable: row.isLoud !== true,
});

const known = new Map(Object.entries(rows).map(([name, row]) => [name, ofRow(row)]));

/** Returns what is known of the options of a command; null if it has none of interest. */
export const flagsOf = (name: string): Flags | null => known.get(name) ?? null;
