import type { GitCommand } from "../run-package.ts";
import { absoluteTime } from "../shown/commit-dates.ts";
import type { WorkTree } from "../tracked-files.ts";

/** Who commits, and when. */

/** Returns a date as commits have it, in seconds with a zone; null if the text is no date that this git reads. */
export function readDate(text: string): string | null {
  const [, seconds, zone = "+0000"] = /^@?(\d{9,})(?: ([+-]\d{4}))?$/.exec(text) ?? [];
  if (seconds !== undefined) return `${seconds} ${zone}`;
  const isDate = /\d{4}/.test(text) || absoluteTime(text, 0) !== text;
  const time = isDate ? Date.parse(absoluteTime(text, Date.now())) : Number.NaN;
  const [, hours = "+00", minutes = "00"] = /:\d\d.*?([+-]\d\d):?(\d\d)$/.exec(text) ?? [];
  return Number.isNaN(time) ? null : `${Math.floor(time / 1000)} ${hours}${minutes}`;
}

/** Returns the committer of a command as `Name <mail>`. */
export async function readCommitter(
  { fs, gitDir }: WorkTree,
  { context, settings = {} }: GitCommand,
): Promise<string> {
  const config = await fs.readFile(`${gitDir}/config`).catch(() => "");
  const own = (key: string): string | undefined =>
    settings[`user.${key}`] ?? new RegExp(`^\\s*${key}\\s*=\\s*(.*?)\\s*$`, "m").exec(config)?.[1];
  const name = context.env.get("GIT_COMMITTER_NAME") ?? own("name") ?? "Limpet";
  const mail = context.env.get("GIT_COMMITTER_EMAIL") ?? own("email") ?? "agent@localhost";
  return `${name} <${mail}>`;
}
