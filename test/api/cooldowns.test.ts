import { afterEach, expect, test, vi } from "vitest";
import { problemOf, setUp } from "./harness.ts";

/** Cooldowns of models, which admins end (MO-28). */

test("MO-28 TB-11: an admin ends the cooldowns of one provider, or of all, and the audit says who did", async () => {
  const { call, health, key } = setUp();
  const cooling = { reason: "overloaded", until: 1_000_000 } as const;
  const fail = (): void => {
    for (const provider of ["scripted", "backup"])
      health.set(provider, [{ provider, model: "m", available: false, ...cooling }]);
  };
  fail();
  expect((await call("DELETE", "/v1/models/cooldowns/backup")).status).toBe(204);
  expect([...health.keys()]).toEqual(["scripted"]);
  fail();
  expect((await call("DELETE", "/v1/models/cooldowns")).status).toBe(204);
  expect([...health.keys()]).toEqual([]);
  fail();
  const Authorization = `Bearer ${await key({ scopes: ["admin"], tenant: "other" })}`;
  const others = await call("DELETE", "/v1/models/cooldowns", undefined, { Authorization });
  expect(await problemOf(others)).toMatchObject({ status: 403, code: "scope_missing" });
  expect([...health.keys()]).toHaveLength(2);
  const unknown = await call("DELETE", "/v1/models/cooldowns/nobody");
  expect(await problemOf(unknown)).toMatchObject({ code: "not_found" });
  const audited = await call("GET", "/v1/audit?action=reset_cooldowns");
  const { data } = await audited.json<{ readonly data: readonly object[] }>();
  expect(data).toMatchObject([
    { subject: null, who: "operator" },
    { subject: "backup", who: "operator" },
  ]);
});

afterEach(() => {
  vi.useRealTimers();
});

test("MO-28: a gate that fails or does not answer counts its models as available, and the others are listed as they are", async () => {
  const { call, health } = setUp();
  const cooling = { reason: "overloaded", until: 1_000_000 } as const;
  health.set("scripted", [{ provider: "scripted", model: "scripted-1", available: false, ...cooling }]);
  const availableOf = async () => {
    const answer = await call("GET", "/v1/models");
    expect(answer.status).toBe(200);
    const { data } = await answer.json<{ readonly data: readonly { readonly available: boolean }[] }>();
    return data.map(({ available }) => available);
  };
  const failing = Promise.reject(new Error("the gate's object was reset"));
  failing.catch(() => undefined);
  health.set("backup", failing);
  expect(await availableOf()).toEqual([true, false]);
  vi.useFakeTimers();
  health.set("backup", Promise.withResolvers<never>().promise);
  const late = availableOf();
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1));
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await late).toEqual([true, false]);
});
