import * as fc from "fast-check";
import { expect, test } from "vitest";
import { cpuOf } from "../support/cpu.ts";
import { createLogLine, describeFault } from "../../src/tools/log-line.ts";
import { createRedactor } from "../../src/tools/redaction.ts";

const secret = `s3cr/t+"key"=\u00e4 1`;
const redactor = createRedactor([["KEY", secret]]);

const base64 = (text: string): string => Buffer.from(text).toString("base64");

const disguises: Readonly<Record<string, string>> = {
  plain: secret,
  "URL-encoded": encodeURIComponent(secret),
  "URL-encoded in lower case": encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase()),
  "in a form": new URLSearchParams({ v: secret }).toString().slice(2),
  JSON: JSON.stringify(secret),
  "JSON in JSON": JSON.stringify(JSON.stringify({ secret })),
  base64: base64(secret),
  "base64 behind a user name": base64(`someone:${secret}`),
  "base64 in the middle": base64(`{"key":${JSON.stringify("a")},"k":"${secret}"}`),
  "base64 of the URL alphabet": Buffer.from(`xy${secret}`).toString("base64url"),
};

test.each(Object.entries(disguises))("RE-15: a secret that comes back %s is taken out", (_, form) => {
  const text = redactor.text(`before ${form} after`);
  expect(text).toContain("[secret:KEY]");
  expect(text).toMatch(/^before .* after$/s);
  for (const each of Object.values(disguises)) expect(text).not.toContain(each);
});

test("RE-15: other text stays byte for byte, and a secret shorter than 8 characters is not looked for", () => {
  const short = createRedactor([["PIN", "1234567"]]);
  for (const text of ["", "s3cr", "1234567", "\ud800 lone", "[secret:KEY]", secret.slice(1)]) {
    expect(redactor.text(text)).toBe(text);
    expect(short.text(text)).toBe(text);
  }
  const value = { list: ["a", 1, null, { b: true }], bytes: new Uint8Array([1, 2]) };
  expect(redactor.value(value)).toBe(value);
});

test("RE-15: a value is cleaned in its texts and its keys, at any depth", () => {
  expect(redactor.value({ a: [{ b: `x${secret}` }], [secret]: 1, ["__proto__"]: { c: secret } })).toEqual({
    a: [{ b: "x[secret:KEY]" }],
    "[secret:KEY]": 1,
    ["__proto__"]: { c: "[secret:KEY]" },
  });
});

test("RE-15: a secret learned later counts from then on, and each has its name", () => {
  const own = createRedactor();
  expect(own.text("first-secret second-secret")).toBe("first-secret second-secret");
  own.learn("ONE", "first-secret");
  own.learn("TWO", "second-secret");
  expect([own.holds("first-secret"), own.holds("first-secret"), own.holds("third-secret")]).toEqual([
    true,
    true,
    false,
  ]);
  expect(own.text("first-secret second-secret")).toBe("[secret:ONE] [secret:TWO]");
});

test("RE-15: of two secrets that begin alike the longer is found, whole or streamed", () => {
  const both = createRedactor([
    ["SHORT", "abcdefgh"],
    ["LONG", "abcdefghijkl"],
  ]);
  const text = "abcdefgh. abcdefghijkl. abcdefghij.";
  const whole = "[secret:SHORT]. [secret:LONG]. [secret:SHORT]ij.";
  expect(both.text(text)).toBe(whole);
  const stream = both.stream();
  expect([...text].map(stream).join("")).toBe(whole);
});

test("RE-15: a streamed text holds back what may begin a secret, and nothing else", () => {
  const stream = redactor.stream();
  expect(stream("so s3c")).toBe("so ");
  expect(stream("r")).toBe("");
  expect(stream("abs")).toBe("s3crab");
  expect(stream(`${secret.slice(1)}!`)).toBe("[secret:KEY]!");
});

const secrets = fc.array(
  fc.string({ minLength: 8, maxLength: 24, unit: fc.constantFrom(...'ab+/ =%"\\é') }),
  {
    minLength: 1,
    maxLength: 4,
  },
);
const cuts = fc.array(fc.nat(12), { maxLength: 30 });

const forms = (value: string): readonly string[] => [
  value,
  encodeURIComponent(value),
  JSON.stringify(value).slice(1, -1),
  base64(value).slice(0, Math.floor((Buffer.byteLength(value) * 8) / 6)),
];

test("RE-9, RE-15: whatever is asked for and however it is cut, a stream is a prefix of the filtered text and no secret is in it", () => {
  const scene = fc.record({
    secrets,
    pieces: fc.array(
      fc.oneof(fc.string({ maxLength: 9, unit: fc.constantFrom(...'ab+/ =%"\\é') }), fc.nat(40)),
    ),
    cuts,
  });
  fc.assert(
    fc.property(scene, ({ secrets: values, pieces, cuts: lengths }) => {
      const own = createRedactor(values.map((value, index) => [`N${index}`, value]));
      const all = values.flatMap(forms);
      const text = pieces
        .map((piece) => (typeof piece === "number" ? (all[piece % all.length] ?? "") : piece))
        .join("");
      const filtered = own.text(text);
      const outside = filtered.replaceAll(/\[secret:N\d\]/g, "\0");
      expect(values.filter((value) => outside.includes(value))).toEqual([]);
      const stream = own.stream();
      let told = "";
      let rest = text;
      for (const length of [...lengths, text.length]) {
        told += stream(rest.slice(0, length));
        rest = rest.slice(length);
        expect(filtered.startsWith(told)).toBe(true);
      }
      expect(own.value({ text }).text).toBe(filtered);
      expect(own.holds(text)).toBe(filtered !== text);
    }),
    { numRuns: 5_000 },
  );
});

test("RE-15: a filter that finds nothing costs next to nothing", async () => {
  const keys = Array.from(
    { length: 6 },
    (_, index) => [`K${index}`, `sk-ant-${index}-${"qXz9".repeat(12)}`] as const,
  );
  const own = createRedactor(keys);
  const text = "The tide goes out and comes in again. ".repeat(250);
  const cost = (work: () => void): Promise<number> => {
    for (let round = 0; round < 50; round++) work();
    return cpuOf(() => {
      for (let round = 0; round < 300; round++) work();
    });
  };
  const floor = await cost(() => void JSON.stringify(text));
  expect(await cost(() => void own.holds(text))).toBeLessThan(Math.max(20, floor * 20));
});

test("RE-12: a log line masks what stands under the named keys and headers, and known secrets anywhere", () => {
  const line = createLogLine(redactor, ["authorization", "token", "api_key"]);
  const fields = {
    level: "error",
    Authorization: "Bearer abc",
    headers: { "x-api-key": "abc", accept: "text/plain" },
    tokens: 12,
    error: `POST failed: authorization: Bearer abc.def, access_token="abc" (${secret})`,
  };
  expect(JSON.parse(line(fields))).toEqual({
    level: "error",
    Authorization: "[masked]",
    headers: { "x-api-key": "[masked]", accept: "text/plain" },
    tokens: 12,
    error: 'POST failed: authorization: [masked], access_token="[masked]" ([secret:KEY])',
  });
  expect(JSON.parse(createLogLine(redactor, [])({ token: "abc" }))).toEqual({ token: "abc" });
});

test("MO-41: a fault is logged by its name, code and place, never by its message, which may quote content", () => {
  const quoting = ((): unknown => {
    try {
      return JSON.parse("canary-prompt");
    } catch (error) {
      return error;
    }
  })();
  expect(String(quoting)).toContain("canary");
  const said = describeFault(quoting);
  expect(said).toMatchObject({ fault: "SyntaxError" });
  expect(said["frames"]).not.toEqual([]);
  expect(JSON.stringify(said)).not.toContain("canary");
  expect(describeFault(new Error("database or disk is full: SQLITE_FULL"))).toMatchObject({
    code: "SQLITE_FULL",
  });
  const refused = Object.assign(new Error("canary"), { code: "exec_transport_error" });
  expect(describeFault(refused)).toMatchObject({ fault: "Error", code: "exec_transport_error" });
  expect(JSON.stringify(describeFault(new Error("no\n    at canary")))).not.toContain("canary");
  expect(describeFault("canary")).toEqual({ fault: "string" });
});
