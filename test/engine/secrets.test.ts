import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createEngine } from "../../src/engine/create.ts";
import { redactorOf } from "../../src/engine/secrets/known-secrets.ts";
import { readSecrets } from "../../src/engine/secrets/secrets.ts";
import { openBench } from "../support/bench.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider } from "../support/fake-provider.ts";
import { engineOf, engineOptions, teamOf } from "../support/teams.ts";
import { benchOf, lastEvent, refused, say, wireEnv } from "./harness.ts";

let fake: FakeProvider;
beforeAll(async () => {
  fake = await startFakeProvider();
});
afterAll(() => fake.close());

const team = (more = "", provider = ""): string => `
providers:
  - name: unused
    kind: openai
    api_key: \${OTHER_KEY}
    model: gpt-6.1-sol
  - name: main
    kind: openai
    base_url: ${fake.url("openai")}
    api_key: \${KEY}
    model: gpt-6.1-sol
    rate_limit: { max_retries: 0 }
${provider}
agents:
  - name: helper
    provider: main
    effects: []
  - name: other
    provider: unused
    effects: []
${more}`;

const newest = () => fake.requests.at(-1);

test("CF-20: a session whose key is not set is refused with the way out, whose name administrators alone read, and nothing is stored", async () => {
  const bench = await benchOf(team(), { env: {} });
  expect(refused(bench, "create")).toEqual({
    code: "config_incomplete",
    detail: "the secret of provider main is not set; GET /readyz tells an administrator which one",
  });
  expect(bench.performAs({ scopes: ["sessions:write", "admin"] }, "create")).toEqual({
    ok: false,
    problem: {
      code: "config_incomplete",
      detail: "providers[1].api_key: secret KEY is not set (wrangler secret put KEY --env test)",
    },
  });
  expect(refused(bench, "get").code).toBe("not_found");
});

test("CF-20: a local server names the file in which the unset key belongs", async () => {
  const bench = await benchOf(team(), { env: { LIMPET_DEV: "1" } });
  expect(bench.performAs({ scopes: ["sessions:write", "admin"] }, "create")).toMatchObject({
    problem: {
      detail:
        "providers[1].api_key: secret KEY is not set (name it under secrets in wrangler.toml, write it into .dev.vars.test and start again)",
    },
  });
});

test("CF-20: an empty key counts as not set, and so does one in a header", async () => {
  for (const KEY of ["", " ", "\n"])
    expect(refused(await benchOf(team(), { env: { KEY } }), "create").code).toBe("config_incomplete");
  const header = team("", "    headers: { X-Team: '${TEAM}' }");
  const bench = await benchOf(header, { env: { KEY: "k" } });
  expect(JSON.stringify(bench.performAs({ scopes: ["sessions:write", "admin"] }, "create"))).toContain(
    "providers[1].headers.X-Team: secret TEAM is not set",
  );
});

test("CF-20: the unset key of a provider that the agent does not use hinders nobody", async () => {
  const bench = await benchOf(team(), { env: wireEnv(fake) }, {});
  expect(await say(bench)).toMatchObject({ state: "completed" });
});

test("★ CF-20, CF-32: a rotated key reaches an old session at its next call, and the old one is gone", async () => {
  const env = wireEnv(fake);
  const bench = await benchOf(team(), { env }, {});
  await say(bench);
  expect(newest()?.headers["authorization"]).toBe("Bearer sk-one");
  env.KEY = "sk-two";
  await say(bench, "Again");
  expect(newest()?.headers["authorization"]).toBe("Bearer sk-two");
});

test("CF-20, RE-15: the secret of a header called models is known to the redactor", async () => {
  const compiled = await teamOf(team("", "    headers: { models: '${TEAM}' }"));
  expect(redactorOf(compiled, { TEAM: "sk-canary-of-the-team" }).holds("sk-canary-of-the-team")).toBe(true);
});

test("★ CF-20: the runtime's own names are refused even in a config that no build has seen", async () => {
  const compiled = await teamOf(team());
  const reference = "${LIMPET_ADMIN_KEY}";
  const changed = compiled.providers.map((each) => ({ ...each, headers: { models: reference } }));
  const env = wireEnv(fake, { LIMPET_ADMIN_KEY: "canary-of-the-operator" });
  const engine = createEngine(engineOptions({ ...compiled, providers: changed }, { env }));
  const refusal = openBench({ engine }).performAs({ scopes: ["sessions:write", "admin"] }, "create");
  expect(refusal).toMatchObject({
    problem: {
      code: "config_incomplete",
      detail:
        "providers[1].headers.models: LIMPET_ADMIN_KEY belongs to the runtime; refer to a secret of another name",
    },
  });
});

test("★ CF-20, RE-15: a key that may stand in the file is sent, and stands in no event and no stored definition", async () => {
  const literal = "canary-of-the-file";
  const gateway = "canary-of-the-gateway";
  const yaml = team(
    "",
    `    headers: { X-Gateway-Key: ${gateway} }\n    allow_literal_secrets: true`,
  ).replace("${KEY}", literal);
  const env = wireEnv(fake);
  const bench = await benchOf(yaml, { env }, {});
  bench.send(`Say ${literal} and ${gateway}`);
  await bench.idle();
  expect(newest()?.headers).toMatchObject({ authorization: `Bearer ${literal}`, "x-gateway-key": gateway });
  expect(newest()?.text).not.toContain("canary");
  expect(JSON.stringify(bench.events())).toContain(
    "[secret:main.api_key] and [secret:main.headers.X-Gateway-Key]",
  );
  expect(JSON.stringify(bench.events())).not.toContain("canary");
  const { definition, redactor } = createEngine(engineOptions(await teamOf(yaml), { env }));
  expect(definition).not.toContain("canary");
  expect(redactor.holds(literal)).toBe(true);
});

test("CF-20: a Secrets Store binding is read at each use", async () => {
  let value = "sk-stored";
  const env = wireEnv(fake, { KEY: { get: () => Promise.resolve(value) } });
  const bench = await benchOf(team(), { env }, {});
  await say(bench);
  expect(newest()?.headers["authorization"]).toBe("Bearer sk-stored");
  value = "sk-rotated";
  await say(bench, "Again");
  expect(newest()?.headers["authorization"]).toBe("Bearer sk-rotated");
});

test("CF-20: a Secrets Store that fails for a moment is asked again, and the run goes on", async () => {
  let asked = 0;
  const get = () => (++asked === 1 ? Promise.reject(new Error("away")) : Promise.resolve("sk-stored"));
  const yaml = team().replace("max_retries: 0", "max_retries: 1");
  const bench = await benchOf(yaml, { env: wireEnv(fake, { KEY: { get } }) }, {});
  await say(bench);
  expect(lastEvent(bench, "attempt_aborted")).toMatchObject({ code: "network" });
  await bench.pass(60_000);
  expect(lastEvent(bench, "run_end")).toMatchObject({ state: "completed" });
  expect(newest()?.headers["authorization"]).toBe("Bearer sk-stored");
});

test("CF-20: a Secrets Store that goes on failing ends the run, which says why and no secret", async () => {
  const env = wireEnv(fake, { KEY: { get: () => Promise.reject(new Error("secret sk-canary is away")) } });
  const bench = await benchOf(team(), { env }, {});
  const before = fake.requests.length;
  expect(await say(bench)).toMatchObject({ state: "failed" });
  expect(lastEvent(bench, "error")["message"]).toContain("the Secrets Store does not give a secret now");
  expect(JSON.stringify(bench.events())).not.toContain("sk-canary");
  expect(fake.requests).toHaveLength(before);
});

test("CF-20 MO-20: a Secrets Store that never answers holds up no call for ever", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const get = () => new Promise<string>(() => {});
    const read = readSecrets({ KEY: { get }, OTHER: "plain" }, ["KEY", "OTHER"], () => undefined);
    const refused = expect(read).rejects.toThrow("the Secrets Store does not give a secret now");
    await vi.advanceTimersByTimeAsync(10_000);
    await refused;
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test("CF-20 MO-25: a run whose key is refused says by whom, for which model and what to do, and no secret", async () => {
  const bench = await benchOf(team(), { env: wireEnv(fake, { KEY: "sk-canary" }) }, {});
  for (const status of [401, 403]) {
    fake.play(() => ({ status, body: { error: { message: "Bad key sk-canary", code: "invalid_api_key" } } }));
    expect(await say(bench)).toMatchObject({
      reason: "provider_auth",
      result: {
        error: `The provider refuses the key or its permissions (main/gpt-6.1-sol, HTTP ${status}, invalid_api_key). Check the secret in its api_key or headers, and what that key may do.`,
      },
    });
  }
  fake.play(() => ({}));
  expect(JSON.stringify(bench.events())).not.toContain("sk-canary");
});

test("CF-20: a secret that was taken away fails the next run, and none of its value is in the log", async () => {
  const env = wireEnv(fake, { KEY: "sk-canary" });
  const bench = await benchOf(team(), { env }, {});
  await say(bench);
  env.KEY = "";
  expect(await say(bench, "Again")).toMatchObject({ state: "failed", reason: "provider_auth" });
  expect(JSON.stringify(bench.events())).not.toContain("sk-canary");
});

test("CF-19: a reference in a provider's model is resolved before the request, the window and the ledger", async () => {
  const yaml = team().replace("model: gpt-6.1-sol\n    rate", "model: ${MODEL}\n    rate");
  const env = wireEnv(fake, { MODEL: "gpt-4o" });
  const bench = await benchOf(yaml, { env }, {});
  await say(bench);
  expect(newest()?.body["model"]).toBe("gpt-4o");
  expect(bench.ledger().map(({ model }) => model)).toEqual(["gpt-4o"]);
  const unset = await benchOf(yaml, { env: wireEnv(fake) });
  expect(JSON.stringify(unset.performAs({ scopes: ["sessions:write", "admin"] }, "create"))).toContain(
    "providers[1].model: secret MODEL is not set",
  );
});

test("CF-19, CF-31: what a session pins holds the reference, not the value of this deployment", async () => {
  const yaml = team().replace("model: gpt-6.1-sol\n    rate", () => "model: ${MODEL}\n    rate");
  const one = await engineOf(yaml, { env: wireEnv(fake, { MODEL: "gpt-4o" }) });
  const two = await engineOf(yaml, { env: wireEnv(fake, { MODEL: "gpt-4.1" }) });
  expect(one.definition).toContain('"model":"${MODEL}"');
  expect(two.definition).toBe(one.definition);
  expect(two.revision).toBe(one.revision);
});

test("CF-19: a reference in an agent's own model and in a fallback's is resolved too", async () => {
  const yaml = team("", "    fallbacks: [{ provider: main, model: '${SPARE}' }]").replace(
    "    provider: main\n",
    "    provider: main\n    model: ${OWN}\n",
  );
  fake.play(({ body }) =>
    body["model"] === "gpt-own" ? { status: 404, body: { error: { message: "no such model" } } } : {},
  );
  const bench = await benchOf(yaml, { env: wireEnv(fake, { OWN: "gpt-own", SPARE: "gpt-spare" }) }, {});
  expect(await say(bench)).toMatchObject({ state: "completed" });
  expect(lastEvent(bench, "provider_failover")).toMatchObject({ from: "main/gpt-own", to: "main/gpt-spare" });
  fake.play(() => ({}));
});

test("CF-19: a reference in the model that an agent gives its children is resolved too", async () => {
  const yaml = `
providers:
  - name: plan
    kind: scripted
    model: plan-1
    context_window: 128000
    script:
      script: 1
      replies:
        - reply: [{ call: delegate_to_agent, args: { agent: helper, task: Help, context: None. } }]
        - reply: [{ text: Done. }]
  - name: main
    kind: openai
    base_url: ${fake.url("openai")}
    api_key: sk-literal
    allow_literal_secrets: true
    model: gpt-6.1-sol
agents:
  - name: lead
    effects: []
    delegation: { model: "\${CHILD}" }
  - name: helper
    provider: main
    effects: []`;
  const bench = await benchOf(yaml, { env: wireEnv(fake, { CHILD: "gpt-child" }) }, {});
  expect(await say(bench)).toMatchObject({ state: "completed" });
  expect(newest()?.body["model"]).toBe("gpt-child");
});

test("★ CF-19: a dollar sign in instructions reaches the model as written", async () => {
  const yaml = team().replace(
    "    provider: main\n",
    () => "    provider: main\n    instructions: Charge $5, not $x or $$ or ${X}\n",
  );
  const bench = await benchOf(yaml, { env: wireEnv(fake, { X: "wrong" }) }, {});
  await say(bench);
  expect(newest()?.text).toContain("Charge $5, not $x or $$ or ${X}");
});

test("CF-21: an unknown agent is refused and the known ones are named; the entry agent is the default", async () => {
  const bench = await benchOf(team("entry_agent: helper"), { env: wireEnv(fake) });
  expect(refused(bench, "create", { agent: "ghost" })).toMatchObject({
    code: "unknown_agent",
    detail: '/agent: no agent "ghost"; known: helper, other',
  });
  expect(bench.ok("create")).toMatchObject({ agent: "helper" });
});

test("RE-15: the credentials of an authorisation are taken out with and without their scheme", async () => {
  const yaml = team(
    "",
    "    headers: { Authorization: Bearer canary-of-the-file }\n    allow_literal_secrets: true",
  );
  const env = { GATEWAY: "Bearer canary-of-the-gateway", GREETING: "Hello people" };
  const redactor = redactorOf(await teamOf(yaml), env);
  expect(redactor.text("401: canary-of-the-file")).toBe("401: [secret:main.headers.Authorization]");
  expect(redactor.text("401: canary-of-the-gateway")).toBe("401: [secret:GATEWAY]");
  expect(redactor.text("Bearer canary-of-the-gateway")).not.toContain("canary");
  expect(redactor.text("for people")).toBe("for people");
});

test("RE-15: ★ an address that carries a key in its path or fragment is a secret, and one that does not is none", async () => {
  const compiled = await teamOf(team());
  const hook = "https://hooks.example.com/services/T0001/XyZ123secretXyZ123";
  const idHook = "https://hooks.example.com/550e8400-e29b-41d4-a716-446655440000";
  for (const secret of [hook, "https://h.example.com/#XyZ123secret", "abc://verysecretvalue", idHook])
    expect(redactorOf(compiled, { HOOK: secret }).text(`see ${secret}`)).toBe("see [secret:HOOK]");
  for (const open of ["https://api.example.com/v1/chat", "https://mcp.example.com/workspaces-production/mcp"])
    expect(redactorOf(compiled, { PLACE: open }).text(`see ${open}`)).toBe(`see ${open}`);
});

test("RE-15: a secret is known without the blanks around it, and by each line of a key", async () => {
  const compiled = await teamOf(team());
  expect(redactorOf(compiled, { KEY: " sk-verysecretvalue\n" }).text("sk-verysecretvalue?")).toBe(
    "[secret:KEY]?",
  );
  const line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7";
  const pem = `-----BEGIN PRIVATE KEY-----\n${line}\nQ29udGludWVk\n-----END PRIVATE KEY-----\n`;
  const redactor = redactorOf(compiled, { PEM: pem });
  expect(redactor.text(`2: ${line}`)).toBe("2: [secret:PEM]");
  expect(redactor.text("-----BEGIN PRIVATE KEY-----")).toBe("-----BEGIN PRIVATE KEY-----");
});
