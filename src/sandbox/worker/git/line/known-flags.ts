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
  readonly same: ReadonlyMap<string, readonly string[]>;
  /** Whether the command writes nothing but errors with `--quiet`. */
  readonly isQuietable: boolean;
}

/** The same in words, where most have little of each. */
interface Row {
  readonly valued?: string;
  readonly glued?: string;
  readonly longValued?: string;
  readonly idle?: string;
  readonly same?: Readonly<Record<string, string>>;
  readonly isLoud?: boolean;
}

const ofDiffs =
  "--no-color --color --no-ext-diff --ext-diff --no-textconv --textconv --minimal --patience --histogram --diff-algorithm --indent-heuristic --no-indent-heuristic -a --text -M -C -B --find-renames --find-copies --find-copies-harder --submodule --ignore-submodules --no-relative --color-moved --no-color-moved -r --binary --no-abbrev --break-rewrites";

const ofLogs = `${ofDiffs} --topo-order --date-order --author-date-order --no-mailmap --mailmap --use-mailmap --no-notes --notes --show-signature --no-show-signature --encoding --full-history --sparse --no-decorate-refs -E -P --extended-regexp --perl-regexp --simplify-merges --no-graph --no-expand-tabs`;

const ofNetwork =
  "--progress --no-progress --no-verify -v --verbose --no-recurse-submodules --recurse-submodules --no-auto-gc --no-show-forced-updates --auto-maintenance";

const ofMerges =
  "--no-stat --stat -n --progress --no-progress --no-verify --verify --commit --no-gpg-sign --no-signoff --no-rerere-autoupdate --rerere-autoupdate --no-log --no-edit --autostash --no-autostash";

const rows: Readonly<Record<string, Row>> = {
  add: { idle: "--no-warn-embedded-repo --sparse" },
  apply: {
    valued: "pC",
    longValued: "--directory --exclude --include",
    idle: "--whitespace --ignore-whitespace --ignore-space-change --unidiff-zero --inaccurate-eof --recount --allow-overlap --unsafe-paths -C --allow-empty --binary",
    same: { "--reverse": "-R", "--verbose": "-v", "-3": "--3way" },
  },
  blame: { valued: "L", idle: "--no-color --color-lines --progress --no-progress -C -M -f" },
  branch: {
    valued: "u",
    longValued: "--format --sort --set-upstream-to --contains --no-contains",
    idle: "--no-color --color --no-column --column -t --track --no-track --create-reflog --no-abbrev",
    same: { "--list": "-l", "--force": "-f", "--remotes": "-r", "--verbose": "-v" },
  },
  checkout: {
    valued: "bB",
    idle: "--progress --no-progress --guess --no-guess --no-track -l --overlay --recurse-submodules --no-recurse-submodules --ignore-skip-worktree-bits",
    same: { "-t": "--track", "--force": "-f", "--patch": "-p" },
  },
  "cherry-pick": {
    valued: "mX",
    longValued: "--strategy-option --strategy --mainline",
    idle: `${ofMerges.replace(" -n", "")} --allow-empty --allow-empty-message --keep-redundant-commits --ff -e --edit`,
    same: { "--strategy-option": "-X" },
  },
  clean: { valued: "e", longValued: "--exclude" },
  clone: {
    valued: "bojcu",
    longValued: "--branch --depth --origin --config --jobs --filter",
    idle: `${ofNetwork} --no-tags --single-branch --no-single-branch --no-local --local -l --shallow-submodules --filter --jobs --no-hardlinks`,
  },
  commit: {
    valued: "mFCct",
    glued: "Su",
    longValued:
      "--message --file --author --date --reuse-message --reedit-message --fixup --squash --cleanup --trailer --template --pathspec-from-file",
    idle: "-n --no-verify --verify -v --verbose --no-gpg-sign -S --gpg-sign --status --no-status --no-post-rewrite --cleanup -e --edit --allow-empty-message",
    same: {
      "--signoff": "-s",
      "--patch": "-p",
      "--only": "-o",
      "--include": "-i",
      "-c": "-C",
      "--reedit-message": "--reuse-message",
    },
  },
  config: { isLoud: true, longValued: "--default --type --file", same: { "-l": "--list" } },
  describe: { isLoud: true, longValued: "--abbrev --match --exclude --candidates", idle: "--contains" },
  diff: {
    valued: "USG",
    glued: "MCBlX",
    longValued: "--diff-filter --unified --stat-width --stat-count",
    idle: ofDiffs,
    same: {
      "-u": "--patch",
      "-p": "--patch",
      "--ignore-all-space": "-w",
      "--ignore-space-change": "-b",
      "-s": "--no-patch",
    },
    isLoud: true,
  },
  fetch: {
    longValued: "--depth --upload-pack",
    idle: `${ofNetwork} -n --no-tags -j --jobs -f --force -a --append -u`,
    valued: "oj",
  },
  gc: { idle: "--auto --prune --aggressive --no-prune" },
  grep: {
    valued: "emABCf",
    longValued: "--max-depth --max-count --after-context --before-context --context",
    idle: "-I -r --recursive --no-recursive --no-color --color -a --text --no-textconv --exclude-standard --threads",
    same: {
      "--name-only": "-l",
      "--files-with-matches": "-l",
      "-P": "-E",
      "--perl-regexp": "-E",
      "--no-index": "--untracked",
    },
  },
  init: {
    valued: "b",
    longValued: "--initial-branch --separate-git-dir --object-format --template",
    idle: "--template --shared --object-format --ref-format",
  },
  log: {
    valued: "nSGL",
    glued: "MCBl",
    longValued:
      "--max-count --author --committer --grep --since --after --until --before --skip --date --diff-filter --format --pretty",
    idle: ofLogs,
    same: {
      "-u": "--patch",
      "-p": "--patch",
      "-i": "--regexp-ignore-case",
      "-g": "--walk-reflogs",
      "--no-patch": "-s",
    },
    isLoud: true,
  },
  "ls-files": {
    isLoud: true,
    valued: "xX",
    idle: "--no-empty-directory --deduplicate --sparse",
    longValued: "--exclude",
  },
  merge: {
    valued: "mXsF",
    longValued: "--message --strategy --strategy-option --file",
    idle: ofMerges,
    same: { "--strategy-option": "-X" },
  },
  mv: { idle: "--sparse", same: { "--verbose": "-v" } },
  pull: { idle: `${ofNetwork} ${ofMerges} -t --tags --prune -p`, valued: "sX" },
  push: {
    valued: "o",
    idle: `${ofNetwork} --thin --no-thin --porcelain --atomic`,
    longValued: "--repo --push-option",
  },
  rebase: {
    valued: "XsxS",
    longValued: "--onto --exec --strategy --strategy-option",
    idle: "--no-stat --stat -n --no-verify --verify --autostash --no-autostash --keep-empty --no-keep-empty --empty --no-autosquash --fork-point --no-fork-point --no-gpg-sign -v --verbose --no-update-refs --no-rerere-autoupdate",
    same: { "--interactive": "-i" },
  },
  reflog: {
    isLoud: true,
    valued: "n",
    longValued: "--max-count",
    idle: "--oneline --no-abbrev --no-color --no-decorate --abbrev-commit",
  },
  reset: {
    idle: "-N --intent-to-add --no-refresh --refresh --no-recurse-submodules",
    same: { "--patch": "-p" },
  },
  restore: {
    valued: "s",
    longValued: "--source",
    idle: "--progress --no-progress --overlay --no-overlay --no-recurse-submodules --ignore-skip-worktree-bits",
    same: { "--patch": "-p" },
  },
  revert: {
    valued: "mXS",
    longValued: "--mainline --strategy --strategy-option",
    idle: "--no-gpg-sign -e --edit --no-edit --no-signoff --no-rerere-autoupdate",
  },
  rm: { idle: "--sparse" },
  shortlog: {
    isLoud: true,
    glued: "w",
    longValued: "--author --since --until --after --before --grep --group --format",
    idle: "--no-mailmap",
    same: { "--numbered": "-n", "--summary": "-s", "-c": "--group=committer" },
  },
  show: {
    valued: "SGL",
    glued: "UMCBl",
    longValued: "--format --pretty --diff-filter --date",
    idle: `${ofLogs} -m -c --cc --decorate --no-decorate --no-notes`,
    same: { "-u": "--patch", "-p": "--patch", "--no-patch": "-s", "-q": "-s", "--quiet": "-s" },
    isLoud: true,
  },
  stash: {
    valued: "m",
    longValued: "--message",
    same: {
      "--patch": "-p",
      "-k": "--keep-index",
      "--all": "-a",
      "-S": "--staged",
      "-u": "--include-untracked",
    },
  },
  status: {
    isLoud: true,
    glued: "uM",
    idle: "--ahead-behind --no-ahead-behind --renames --find-renames --no-column --column --ignore-submodules --no-show-stash --show-stash --no-optional-locks -v --verbose",
    same: { "--long": "--form=long", "-s": "--short", "-b": "--branch" },
  },
  switch: {
    valued: "cC",
    longValued: "--create --force-create --orphan",
    idle: "--progress --no-progress --no-track --recurse-submodules --no-recurse-submodules --ignore-other-worktrees",
    same: { "-t": "--track", "-f": "--discard-changes", "--force": "--discard-changes" },
  },
  tag: {
    valued: "mFu",
    glued: "n",
    longValued: "--message --file --sort --format --contains --points-at --cleanup",
    idle: "--no-sign --create-reflog --no-column --column --no-color --color --cleanup -i",
    same: { "--verify": "-v", "--sign": "-s" },
    isLoud: true,
  },
};

const words = (text = ""): ReadonlySet<string> => new Set(text.split(" ").filter((word) => word !== ""));

const ofRow = ({ valued = "", glued = "", longValued, idle, same = {}, isLoud = false }: Row): Flags => ({
  valued,
  glued,
  longValued: words(longValued),
  idle: words(idle),
  same: new Map(Object.entries(same).map(([word, other]) => [word, [other]])),
  isQuietable: !isLoud,
});

const known = new Map(Object.entries(rows).map(([name, row]) => [name, ofRow(row)]));

/** Returns what is known of the options of a command; null if it has none of interest. */
export const flagsOf = (name: string): Flags | null => known.get(name) ?? null;
