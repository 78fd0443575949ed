/** Programs that this sandbox lacks, and the advice that their error gives. */
const groups: Readonly<Record<string, string>> = {
  "tar zip unzip gzip gunzip zcat bzip2 bunzip2 xz unxz zstd 7z":
    "no command makes or opens archives here; copy folders with cp -r, and leave packing to the workspace's API",
  "python python3 node nodejs deno bun ruby perl php lua java go rustc gcc g++ cc clang tsc sqlite3 js-exec":
    "no language runs here but the shell; use sh, awk, sed and jq instead",
  "npm npx pnpm yarn pip pip3 uv cargo make cmake mvn gradle apt apt-get apk dpkg brew pytest jest vitest eslint":
    "nothing can be installed or built here; write the files, and leave the build to where the project runs",
  "curl wget ssh scp rsync ping nc telnet": "there is no network here",
  "yq xan": "use awk, sed or (for JSON) jq instead",
  "xxd hexdump": "use od -t x1 instead",
  patch: "git apply takes a patch, with -p0 to -p9, -R and --directory, outside of a repository, too",
  fd: "use find or rg --files instead",
  bc: "use $((…)) for whole numbers, and awk 'BEGIN { print 1 / 3 }' for others",
  "ps top df free lsof": "nothing runs beside the script; du -sh tells how much files take",
  "vim vi nano emacs ed less more":
    "nobody types here; print with cat or sed -n, change with sed -i or cat > file <<'EOF'",
  "shuf yes": "use sort, and awk with srand() and rand(), or printf '%s\\n' in a loop",
  truncate: "empty a file with : > file, shorten it with head -c",
  "docker podman kubectl systemctl service crontab sudo su":
    "there is one user and no system to administer here",
};

const insteadOf = new Map(
  Object.entries(groups).flatMap(([names, instead]) => names.split(" ").map((name) => [name, instead])),
);

/** Names of programs that scripts must not find. */
export const absentPrograms: ReadonlySet<string> = new Set(insteadOf.keys());

/**
 * Returns the error for an absent program; null if there is no advice. The shell itself calls it.
 * @public
 */
export function sayAbsent(path: string): string | null {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const instead = insteadOf.get(name);
  return instead === undefined ? null : `bash: ${name}: not in this sandbox: ${instead}\n`;
}
