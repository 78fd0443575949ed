import { expect, test } from "vitest";
import type { Scope } from "../../src/session/rpc.ts";
import { allScopes } from "../../src/session/rpc.ts";
import { operations } from "../../src/session/operations.ts";
import { pathParametersOf } from "../../src/session/define-operation.ts";
import * as logins from "../toolboxes/mcp/logins.ts";
import { say } from "../engine/harness.ts";
import type { Bench } from "../support/bench.ts";

/** Who sees the address at which a person signs in for an agent. */

/** The answers of all reads of a session that take no id of their own, by operation. */
const readAll = (bench: Bench, scopes: readonly Scope[]): ReadonlyMap<string, string> =>
  new Map(
    operations
      .filter((operation) => operation.kind === "read" && pathParametersOf(operation).length === 0)
      .map(({ name }) => {
        const reply = bench.performAs({ scopes }, name, {});
        return [name, reply.ok ? reply.json : reply.problem.code];
      }),
  );

const namesWith = (answers: ReadonlyMap<string, string>, text: string): readonly string[] =>
  [...answers].flatMap(([name, json]) => (json.includes(text) ? [name] : [])).toSorted();

test("AP-13 TB-27: the address of a login is in no answer to who may not decide, and the server's name is", async () => {
  const auth = await logins.oauthOf();
  const sea = await logins.protectedBy(auth);
  const bench = await logins.benchOf({ auth, sea });
  await say(bench);
  const { authorization } = logins.askOf(bench);
  expect(authorization.url).toContain(`${auth.url}/authorize`);
  const [, state = ""] = /[?&]state=([^&]+)/.exec(authorization.url) ?? [];

  const everyScope = readAll(bench, allScopes);
  expect(namesWith(everyScope, state)).toEqual(["asks", "events", "snapshot"]);
  const others = readAll(
    bench,
    allScopes.filter((scope) => scope !== "approvals:decide"),
  );
  for (const secret of [state, "/authorize?"]) expect(namesWith(others, secret)).toEqual([]);
  const shown = '"authorization":{"server":"sea","login":true}';
  expect(namesWith(others, shown)).toEqual(["asks", "events", "snapshot"]);
  const [open] = (JSON.parse(others.get("asks") ?? "") as { readonly data: readonly object[] }).data;
  const [whole] = (JSON.parse(everyScope.get("asks") ?? "") as { readonly data: readonly object[] }).data;
  expect(open).toEqual({ ...whole, authorization: { server: "sea", login: true } });
});
