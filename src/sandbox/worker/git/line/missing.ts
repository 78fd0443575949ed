import type { ExecResult } from "#git";
import { refuse } from "./answers.ts";

/** Options that this git lacks, by their commands, with what to do without them. */

const byHand = "edit a patch of git diff and give it to git apply --cached";
const untracked = "git diff --cached shows a new file after git add";
const signing = "git tag -a -m makes a tag without a signature";
const joining =
  "git reset --soft <commit> and git commit join commits, git commit --amend and git cherry-pick change and reorder them";
const side =
  "on a conflict, use git checkout --ours or --theirs <file>, git add <file>, and the same command with --continue";

const rows: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  add: {
    "-N --intent-to-add": untracked,
    "-p --patch -i -e": byHand,
    "-v --verbose": "git status -s shows what is staged",
    "--no-all --ignore-removal": "name the files to add",
  },
  apply: {
    "--reject": "take the hunks that do not fit out of the patch: this git leaves no .rej files",
    "--index": "git apply the patch, then git add its files",
    "--directory": "put the folder before the paths of the patch with sed",
    "--exclude --include": "take the files that are not wanted out of the patch",
    "--stat --numstat --summary": "apply the patch, and use git diff --stat",
    "--3way": "take the hunks that do not fit out of the patch, or use git cherry-pick",
  },
  branch: {
    "--unset-upstream": "use git config --unset branch.<name>.merge",
    "-i --ignore-case": "use git branch | grep -i",
  },
  checkout: {
    "-f": "git reset --hard discards all changes, git checkout -- <file> those of a file; then git checkout",
    "--track": "git checkout <branch> follows the branch of a remote with this name",
    "-p --patch": byHand,
    "--no-overlay": "git rm the files that the commit lacks",
  },
  "cherry-pick": { "-X --strategy-option --strategy": side },
  commit: {
    "-p --patch": byHand,
    "--squash --fixup": "use git commit --amend, or git reset --soft <commit> and git commit to join commits",
    "-C --reuse-message": "use git commit --amend --no-edit, or git log -1 --format=%B | git commit -F -",
    "--reset-author": "git reset --soft HEAD~1, then git commit",
    "--trailer": "write it as the last -m",
    "--dry-run": "use git status",
    "-i --include": "git add the paths, then git commit",
  },
  config: {
    "--get-regexp": "use git config --list | grep",
    "--bool --int --path --type --default": "use git config --get <name>",
    "--unset-all --replace-all": "use git config --unset once for each value",
  },
  diff: {
    "-w -b": "git show HEAD:<file> | diff -uw - <file> leaves spaces aside",
    "--no-index": "diff -u compares files, diff -ruN folders",
    "--summary": "use --name-status",
    "--patch-with-stat": "use --stat --patch",
    "--compact-summary": "use --stat --summary",
    "--output": "write the output to a file with >",
  },
  "check-ignore": { "--stdin -z": "name the paths: git check-ignore $(cat list)" },
  log: {
    "-L": "use git blame -L, or git log -p -- <file>",
    "-g --walk-reflogs": "use git reflog",
    "--no-walk": "use git show -s <commit>...",
    "-F --fixed-strings": "write a backslash before the special characters of the pattern",
  },
  "ls-files": { "--directory": "git status -s names folders that are not tracked" },
  merge: {
    "-X --strategy-option": side,
    "-s --strategy": side,
  },
  mv: { "-v --verbose": "git status -s shows what moved" },
  push: { "--follow-tags": "git push origin <tag> pushes a tag" },
  rebase: {
    "-i": joining,
    "--autosquash": joining,
    "-x --exec": "run the command after git rebase",
    "-r --rebase-merges": joining,
    "--root": joining,
    "-X --strategy-option": side,
    "-s --strategy": side,
  },
  reset: { "-p --patch": byHand },
  restore: { "-p --patch": byHand },
  revert: { "-X --strategy-option --strategy": side },
  rm: { "--ignore-unmatch": "use git rm <file> || true" },
  stash: {
    "-k --keep-index":
      "git diff > ../rest.patch and git checkout -- . put the rest aside, git apply ../rest.patch brings it back",
    "--index": "git stash pop, then git add",
    "-a --all": "git stash -u stashes all but what is ignored",
    "-S --staged": "commit what is staged, or keep git diff --cached in a file for git apply",
    "-p --patch": byHand,
  },
  status: {
    "-z": "use --porcelain, which quotes names with special characters",
    "--no-renames": "git diff --name-status shows files by their names",
  },
  switch: {
    "--discard-changes": "git reset --hard discards all changes; then git switch",
    "--track": "git switch <branch> follows the branch of a remote with this name",
  },
  tag: { "-s --sign": signing, "-u": signing, "-v --verify": signing },
};

const ways = new Map(
  Object.entries(rows).flatMap(([name, row]) =>
    Object.entries(row).flatMap(([options, way]) =>
      options.split(" ").map((option) => [`${name} ${option}`, way] as const),
    ),
  ),
);

/** Returns the refusal of the first option that a command lacks; null if it has them all. */
export function refuseMissing(name: string, options: readonly string[]): ExecResult | null {
  const lack = options.find((option) => ways.has(`${name} ${option}`));
  return lack === undefined ? null : refuse(`git ${name}`, lack, ways.get(`${name} ${lack}`) ?? "");
}
