import type { Result } from "./custom-command.ts";
import { textFrom } from "./programs/program.ts";

/**
 * Returns a result whose output may be joined with that of its errors: as text, unless its redirections keep them
 * apart. The shell itself calls it.
 * @public
 */
export function asText(
  result: Result,
  redirections: readonly { readonly operator: string }[],
  descriptors: ReadonlyMap<number, unknown> | undefined,
): Result {
  const isApart = !redirections.some(({ operator }) => operator.includes("&")) && !descriptors?.size;
  const { stdoutKind, stdoutEncoding, ...rest } = result;
  return isApart || (stdoutKind !== "bytes" && stdoutEncoding !== "binary")
    ? result
    : { ...rest, stdout: textFrom(result.stdout), stdoutKind: "text" };
}
