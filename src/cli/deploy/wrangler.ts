import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

/** Runs wrangler: the one on the path, else the project's own. */

interface WranglerResult {
  readonly code: number;
  /** All that it printed, and what of it went to stdout; empty if wrangler wrote to the terminal itself. */
  readonly output: string;
  readonly stdout: string;
}

interface WranglerOptions {
  /** The project's folder. */
  readonly root: string;
  /** Whether the output is returned instead of printed. */
  readonly captures?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs wrangler to its end. */
export const runWrangler = async (
  args: readonly string[],
  { root, captures = false, env = {} }: WranglerOptions,
): Promise<WranglerResult> => {
  const path = [process.env["PATH"], join(root, "node_modules/.bin")].join(delimiter);
  const child = spawn("wrangler", args, {
    cwd: root,
    // Its banner announces newer versions, and the project has the version that its tests ran with.
    env: { ...process.env, WRANGLER_HIDE_BANNER: "true", ...env, PATH: path },
    stdio: captures ? ["ignore", "pipe", "pipe"] : "inherit",
    // On Windows only a shell finds the scripts of packages.
    shell: process.platform === "win32",
  });
  let [output, stdout] = ["", ""];
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (stream === child.stdout) stdout += text;
    });
  }
  const [code] = (await once(child, "close")) as [number | null];
  return { code: code ?? 1, output, stdout };
};

/** Deploys with wrangler, which writes to the terminal; returns the addresses of the Worker, or null if it failed. */
export const deployWorker = async (
  args: readonly string[],
  root: string,
): Promise<readonly string[] | null> => {
  const folder = mkdtempSync(join(tmpdir(), "limpet-deploy-"));
  const file = join(folder, "output.jsonl");
  try {
    const env = { WRANGLER_OUTPUT_FILE_PATH: file };
    const { code } = await runWrangler(["deploy", ...args], { root, env });
    return code === 0 ? readTargets(file) : null;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

const readTargets = (file: string): readonly string[] =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { readonly type: string; readonly targets?: readonly string[] })
    .flatMap(({ type, targets = [] }) => (type === "deploy" ? targets : []));
