import { allScopes } from "../../session/rpc.ts";
import type { ExitCode } from "../usage.ts";
import { exitCodes } from "../usage.ts";
import type { CommandFlags, RemoteContext } from "./context.ts";
import { UsageError } from "./context.ts";
import { readToEnd } from "./pages.ts";
import { toPlainText } from "./plain.ts";
import { tableLines } from "./session-rows.ts";

/** Implements `limpet keys`. */

const createKey = async ({ client, flags, show }: RemoteContext): Promise<ExitCode> => {
  const given = (flags.scopes ?? "").split(",").filter((scope) => scope !== "");
  const scopes = allScopes.filter((scope) => given.includes(scope));
  const unknown = given.find((scope) => !allScopes.some((known) => known === scope));
  if (unknown !== undefined || scopes.length === 0)
    throw new UsageError(
      `${unknown === undefined ? "keys create needs --scopes" : `${unknown} is no scope`}; take some of ${allScopes.join(",")}`,
    );
  const { tenant, name } = flags;
  const made = await client.call("create_key", {
    scopes,
    ...(tenant === undefined ? {} : { tenant }),
    ...(name === undefined ? {} : { name }),
  });
  show(made, () => [made.key ?? `${made.id} was created before, and its secret was shown then`]);
  return exitCodes.fine;
};

const revokeKey = async ({ client, names, show }: RemoteContext): Promise<ExitCode> => {
  const [, key] = names;
  if (key === undefined) throw new UsageError("keys revoke needs the id of a key; limpet keys lists them");
  await client.call("revoke_key", { key });
  show({ revoked: key }, () => [`${key} is revoked; sockets that it opened end within 15 minutes`]);
  return exitCodes.fine;
};

const listKeys = async ({ client, show }: RemoteContext): Promise<ExitCode> => {
  const data = await readToEnd((page) => client.call("list_keys", page));
  show(data, () =>
    data.length === 0
      ? ["There are no keys; limpet keys create --scopes … makes one."]
      : tableLines(
          data.map(({ id, tenant, name, scopes }) => [id, tenant, toPlainText(name ?? ""), scopes.join(",")]),
        ),
  );
  return exitCodes.fine;
};

/** Returns what is wrong with the words and flags of an action, which would be ignored; null if nothing is. */
const findUnused = (
  action: string,
  [, word]: readonly string[],
  { scopes, name, tenant }: CommandFlags,
): string | null => {
  if (action !== "revoke" && word !== undefined)
    return `keys ${action} takes no ${toPlainText(word)}${action === "create" ? "; --name names a key" : ""}`;
  return action === "create" || [scopes, name, tenant].every((each) => each === undefined)
    ? null
    : `keys ${action} takes no --scopes, --name or --tenant, which describe a key that keys create makes`;
};

/** Makes, lists or revokes keys. */
export const manageKeys = async (context: RemoteContext): Promise<ExitCode> => {
  const [action = "list"] = context.names;
  const run = new Map([
    ["list", listKeys],
    ["create", createKey],
    ["revoke", revokeKey],
  ]).get(action);
  if (run === undefined) throw new UsageError(`keys ${action} is unknown; take list, create or revoke`);
  const unused = findUnused(action, context.names, context.flags);
  if (unused !== null) throw new UsageError(unused);
  return run(context);
};
