/** Determines what an approval of a command may remember. */

/** Programs that run their arguments: their first argument does not reveal what they do. */
const runners: ReadonlySet<string> = new Set(
  [
    "sh ash bash dash fish ksh rbash zsh csh tcsh busybox cmd powershell pwsh",
    "env exec eval command builtin source . xargs parallel find fd entr watch timeout time nohup nice ionice",
    "chroot doas flock runuser script setsid stdbuf strace su sudo systemd-run taskset unshare ssh expect gdb",
    "awk gawk mawk nawk sed gsed ed ex vi vim nvim emacs tar",
    "deno bun lua luajit node nodejs perl php pypy python rscript ruby tclsh tsx ts-node",
    "bunx npm npx pip pipx pnpm pnpx poetry uv uvx yarn cargo go docker kubectl podman gmake just make",
    "alias complete declare export let mapfile readonly test trap typeset [",
  ].flatMap((line) => line.split(" ")),
);

/** Returns a program's name without its folder, version and `.exe`. */
const nameOf = (program: string): string =>
  (program.split("/").at(-1) ?? "")
    .toLowerCase()
    .replace(/\.exe$/, "")
    .replace(/(?<=.)[-\d.]+$/, "");

/** Longest line that a person can be expected to read to its end. */
const longestLine = 4_096;

/** Returns a word as a shell would read it back, so that no two commands share a line. */
const quote = (word: string): string =>
  /^[^\s'"\\<]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

/**
 * Returns the pattern for a command: its program and first argument; the exact line with its standard input of a
 * program that runs others, or whose first argument is an option or missing. Null: the line is too long for a
 * lasting approval.
 */
export const commandPattern = (argv: readonly string[], stdin?: string): string | null => {
  const [program = "", first = "-"] = argv;
  const isExact = runners.has(nameOf(program)) || first.startsWith("-");
  const line = [...argv.map(quote), ...(isExact && stdin !== undefined ? ["<<<", quote(stdin)] : [])].join(
    " ",
  );
  if (line.length > longestLine) return null;
  return isExact ? line : `${quote(program)} ${quote(first)} *`;
};
