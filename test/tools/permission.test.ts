import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  findRememberable,
  verdict,
  type PermissionCall,
  type PermissionRule,
  type Policy,
  type Preset,
} from "../../src/tools/permission.ts";
import { actNames } from "../../src/tools/acts.ts";
import { leastCpuOf } from "../support/cpu.ts";

const call = (fields: Partial<PermissionCall>): PermissionCall => ({
  tool: "fs_write",
  toolbox: "filesystem",
  subjects: ["src/a.ts"],
  safety: "idempotent",
  now: Date.parse("2026-11-21"),
  ...fields,
});
const policy = (fields: Partial<Policy>): Policy => ({
  preset: "sandboxed",
  rules: [],
  grants: [],
  hosts: ["listed.example", "*.docs.example"],
  afterUntrusted: "off",
  ...fields,
});
const rule = (action: PermissionRule["action"], tool: string, match?: string): PermissionRule => ({
  tool,
  action,
  ...(match === undefined ? {} : { match }),
});

const fetches = (subject: string): Partial<PermissionCall> => ({
  tool: "http_fetch",
  toolbox: "http",
  safety: "read",
  subjects: [subject],
  acts: [{ act: "egress", subject }],
});

test("TB-6: preset × kind of call gives the table", () => {
  const kinds: readonly (readonly [string, Partial<PermissionCall>])[] = [
    ["read", { tool: "fs_read", safety: "read" }],
    ["store", { tool: "shared_state_set", toolbox: "state" }],
    ["ask", { tool: "ask_user", toolbox: "ask" }],
    ["write", {}],
    ["commit", { tool: "git_commit", toolbox: "git", safety: "unsafe" }],
    ["exec", { tool: "exec_shell", toolbox: "exec", safety: "reattach", subjects: ["*"] }],
    ["listed host", fetches("https://listed.example:443/")],
    ["listed subdomain", fetches("https://a.docs.example:8443/")],
    ["other host", fetches("https://docs.example:443/")],
    ["mcp", { tool: "github__merge", toolbox: "github", safety: "unsafe" }],
    ["mcp read", { tool: "github__get", toolbox: "github", safety: "read" }],
  ];
  const table = Object.fromEntries(
    (["sandboxed", "ask", "open", "locked"] as const).map((preset: Preset) => [
      preset,
      kinds.map(([, fields]) => verdict(policy({ preset }), call(fields)).verdict).join(" "),
    ]),
  );
  expect(table).toEqual({
    sandboxed: "allow allow allow allow allow allow allow allow ask ask allow",
    ask: "allow allow allow ask ask ask ask ask ask ask allow",
    open: "allow allow allow allow allow allow allow allow allow allow allow",
    locked: "allow allow allow deny deny deny deny deny deny deny allow",
  });
});

test("TB-7: a pattern of addresses may leave out the port of its scheme, and no other", () => {
  const allow = (match: string) =>
    policy({ preset: "ask", rules: [{ act: "egress", match, action: "allow" }] });
  const found = (match: string, subject: string) => verdict(allow(match), call(fetches(subject))).verdict;
  expect(found("https://a.example/**", "https://a.example:443/x/y")).toBe("allow");
  expect(found("https://a.example:443/**", "https://a.example:443/")).toBe("allow");
  expect(found("http://a.example/x", "http://a.example:80/x")).toBe("allow");
  expect(found("https://a.example/**", "https://a.example:8443/x")).toBe("ask");
  expect(found("https://a.example/**", "http://a.example:443/x")).toBe("ask");
  expect(found("https://a.example/**", "https://a.example.evil:443/x")).toBe("ask");
});

test("TB-6: deny beats ask beats allow, whatever their order; a grant covers an ask, never a deny", () => {
  const rules = [
    rule("allow", "fs_*"),
    rule("ask", "fs_write", "src/**"),
    rule("deny", "fs_write", "src/secret/**"),
  ];
  for (const order of [rules, rules.toReversed()]) {
    expect(verdict(policy({ rules: order }), call({}))).toEqual({
      verdict: "ask",
      by: "rule ask fs_write src/**",
    });
    expect(verdict(policy({ rules: order }), call({ subjects: ["src/secret/k"] })).verdict).toBe("deny");
    expect(verdict(policy({ rules: order }), call({ subjects: ["lib/x"] })).verdict).toBe("allow");
  }
  const grants = [{ id: "g1", tool: "fs_write", pattern: "src/**" }];
  expect(verdict(policy({ rules, grants }), call({}))).toEqual({ verdict: "allow", by: "grant g1" });
  expect(verdict(policy({ rules, grants }), call({ subjects: ["src/secret/k"] })).verdict).toBe("deny");
  expect(verdict(policy({ rules, grants }), call({ tool: "fs_edit" })).by).not.toContain("grant");
});

test("TB-7: every subject counts: both ends of a move, each file of a patch", () => {
  const rules = [rule("deny", "fs_*", "infra/**"), rule("ask", "apply_patch", "docs/**")];
  expect(verdict(policy({ rules }), call({ tool: "fs_move", subjects: ["src/a", "infra/b"] })).verdict).toBe(
    "deny",
  );
  expect(
    verdict(policy({ rules }), call({ tool: "apply_patch", subjects: ["src/a", "docs/b"] })).verdict,
  ).toBe("ask");
  const grants = [{ id: "g", tool: "apply_patch", pattern: "docs/**" }];
  expect(
    verdict(policy({ rules, grants }), call({ tool: "apply_patch", subjects: ["docs/a", "docs/b"] })).verdict,
  ).toBe("allow");
});

test("TB-7: patterns are anchored; * stays in a path segment and crosses slashes of a command line", () => {
  const run = (line: string) =>
    call({ tool: "exec_run", toolbox: "exec", safety: "reattach", subjects: [line] });
  const push = policy({ rules: [rule("deny", "exec_run", "git push*")] });
  expect(verdict(push, run("git push origin feature/x")).verdict).toBe("deny");
  expect(verdict(push, run("echo git push")).verdict).toBe("allow");
  const paths = policy({ rules: [rule("deny", "fs_write", "src/*.ts")] });
  expect(verdict(paths, call({})).verdict).toBe("deny");
  expect(verdict(paths, call({ subjects: ["src/in/a.ts"] })).verdict).toBe("allow");
});

test("TB-7: ★ shell text cannot be matched: a pattern restricts every shell call and allows none", () => {
  const shell = call({ tool: "exec_shell", toolbox: "exec", safety: "reattach", subjects: ["*"] });
  const ask = policy({ preset: "ask" });
  expect(verdict({ ...ask, rules: [rule("allow", "exec_*", "ls*")] }, shell).verdict).toBe("ask");
  expect(verdict({ ...ask, rules: [rule("allow", "exec_shell", "*")] }, shell).verdict).toBe("allow");
  expect(verdict(policy({ rules: [rule("deny", "exec_*", "git push*")] }), shell).verdict).toBe("deny");
});

test("TB-6: an expired rule does not hold, a reason goes with the verdict", () => {
  const expires = "2026-11-20";
  expect(verdict(policy({ rules: [{ ...rule("deny", "fs_write"), expires }] }), call({})).verdict).toBe(
    "allow",
  );
  const rules = [{ ...rule("deny", "fs_write"), expires: "2027-01-01", reason: "Owned by ops" }];
  expect(verdict(policy({ rules }), call({}))).toMatchObject({ verdict: "deny", reason: "Owned by ops" });
});

test("TB-6: property: adding a deny never yields allow where it matches, nor loosens any verdict", () => {
  const severity = { allow: 0, ask: 1, deny: 2 };
  const glob = fc.constantFrom("*", "**", "src/**", "src/*.ts", "lib/**", "git push*", "infra/x");
  const tool = fc.constantFrom("fs_*", "fs_write", "exec_run", "exec_*", "*", "github__*");
  const rules = fc.array(
    fc.record({
      tool,
      match: fc.option(glob, { nil: undefined }),
      action: fc.constantFrom("allow", "ask", "deny"),
    }),
  );
  const calls = fc.record({
    tool: fc.constantFrom("fs_write", "exec_run", "exec_shell", "github__x"),
    toolbox: fc.constantFrom("filesystem", "exec", "github"),
    subjects: fc.array(fc.constantFrom("src/a.ts", "lib/b", "git push origin/x", "infra/x"), {
      maxLength: 3,
    }),
    safety: fc.constantFrom("read", "unsafe", "idempotent"),
  });
  fc.assert(
    fc.property(
      rules,
      fc.record({ tool, match: fc.option(glob, { nil: undefined }) }),
      calls,
      fc.constantFrom("sandboxed", "ask", "open", "locked"),
      fc.boolean(),
      (given, denied, fields, preset, granted) => {
        const grants = granted ? [{ id: "g", tool: fields.tool, pattern: "*" }] : [];
        const before = verdict(policy({ preset, rules: given, grants }), call(fields));
        const after = verdict(
          policy({ preset, rules: [...given, { ...denied, action: "deny" }], grants }),
          call(fields),
        );
        expect(severity[after.verdict]).toBeGreaterThanOrEqual(severity[before.verdict]);
        const alone = verdict(
          {
            preset: "open",
            rules: [{ ...denied, action: "deny" }],
            grants: [],
            hosts: [],
            afterUntrusted: "off",
          },
          call(fields),
        );
        if (alone.verdict === "deny") expect(after.verdict).toBe("deny");
      },
    ),
    { numRuns: 2000 },
  );
});

test("TB-6, TB-7: property: order means nothing, and a deny of an act never yields allow, nor loosens any verdict", () => {
  const severity = { allow: 0, ask: 1, deny: 2 };
  const act = fc.constantFrom(...actNames);
  const subject = fc.constantFrom("src", "src/a.ts", "lib/b", "git push origin", "*", "coder");
  const match = fc.option(fc.constantFrom("*", "**", "src/**", "src/*", "src", "git push*", "coder"), {
    nil: undefined,
  });
  const named = fc.oneof(
    fc.record({ act, match }),
    fc.record({ tool: fc.constantFrom("fs_*", "fs_move", "exec_shell", "*"), match }),
  );
  const rules = fc.array(
    fc.tuple(named, fc.constantFrom("allow", "ask", "deny")).map(([rule, action]) => ({ ...rule, action })),
  );
  const calls = fc.record({
    tool: fc.constantFrom("fs_move", "exec_run", "exec_shell", "spawn_agents", "stamp"),
    toolbox: fc.constantFrom("filesystem", "exec", "agents", "lab"),
    subjects: fc.array(subject, { maxLength: 2 }),
    acts: fc.array(fc.record({ act, subject }), { maxLength: 3 }),
    subtree: fc.boolean(),
    safety: fc.constantFrom("read", "unsafe", "idempotent"),
  });
  fc.assert(
    fc.property(
      rules,
      named,
      calls,
      fc.constantFrom("sandboxed", "ask", "open", "locked"),
      (given, denied, fields, preset) => {
        const before = verdict(
          { preset, rules: given, grants: [], hosts: [], afterUntrusted: "off" },
          call(fields),
        );
        const turned = verdict(
          { preset, rules: given.toReversed(), grants: [], hosts: [], afterUntrusted: "off" },
          call(fields),
        );
        expect(turned.verdict).toBe(before.verdict);
        const deny = { ...denied, action: "deny" } as const;
        const after = verdict(
          { preset, rules: [...given, deny], grants: [], hosts: [], afterUntrusted: "off" },
          call(fields),
        );
        expect(severity[after.verdict]).toBeGreaterThanOrEqual(severity[before.verdict]);
        const alone = verdict(
          { preset: "open", rules: [deny], grants: [], hosts: [], afterUntrusted: "off" },
          call(fields),
        );
        if (alone.verdict === "deny") expect(after.verdict).toBe("deny");
      },
    ),
    { numRuns: 3000 },
  );
});

/** A call of exec_run with these words. */
const command = (line: string): PermissionCall =>
  call({
    tool: "exec_run",
    toolbox: "exec",
    safety: "reattach",
    subjects: [line],
    acts: [{ act: "exec", subject: line, argv: line.split(" ") }],
  });

test("TB-8: what can be remembered: program and first argument, origin, folder, tool; never wider than the call", () => {
  const exec = { toolbox: "exec", safety: "reattach" } as const;
  expect(findRememberable(command("git push origin main"))).toEqual({
    tool: "exec_run",
    pattern: "git push *",
  });
  expect(findRememberable(call({ ...exec, tool: "exec_shell", subjects: ["*"] }))).toBeNull();
  expect(findRememberable(call({ subjects: ["src/a/b.ts", "src/a/c.ts"] }))).toEqual({
    tool: "fs_write",
    pattern: "src/a/**",
  });
  expect(findRememberable(call({ subjects: ["top[1].md"] }))).toEqual({
    tool: "fs_write",
    pattern: "top\\[1].md",
  });
  expect(findRememberable(call({ subjects: ["a", "b"] }))).toBeNull();
  const http = call({ tool: "http_fetch", toolbox: "http", subjects: ["https://api.example.com:443/v1/x"] });
  expect(findRememberable(http)).toEqual({ tool: "http_fetch", pattern: "https://api.example.com:443/**" });
  const pushed = command("git push origin main");
  const grants = [{ id: "g", ...(findRememberable(pushed) ?? { tool: "", pattern: "" }) }];
  const asked = policy({ preset: "ask", grants });
  expect(verdict(asked, pushed).verdict).toBe("allow");
  expect(verdict(asked, command("git push")).verdict).toBe("allow");
  expect(verdict(asked, command("git pushx")).verdict).toBe("ask");
});

test("TB-8: a command that is too long to remember is judged in little time", async () => {
  const judged = await leastCpuOf(() => {
    for (const piece of ["-", "1.", "/", "a ", "*", "[", "'"]) {
      const long = command(`${piece.repeat(100_000)}x`);
      expect(findRememberable(long)).toBeNull();
      expect(verdict(policy({ preset: "ask" }), long).verdict).toBe("ask");
    }
  });
  expect(judged).toBeLessThan(500);
});

test("TB-8: a grant of commands from before covers no call of which it would not be remembered today", () => {
  const judged = (tool: string, pattern: string, made: PermissionCall) =>
    verdict(policy({ preset: "ask", grants: [{ id: "g", tool, pattern }] }), made).verdict;
  expect(judged("exec_run", "sh -c *", command("sh -c rm"))).toBe("ask");
  expect(judged("exec_run", "git -c *", command("git -c core.pager=x log"))).toBe("ask");
  const shell = call({ tool: "exec_shell", toolbox: "exec", safety: "reattach", subjects: ["*"] });
  expect(judged("exec_shell", "*", shell)).toBe("ask");
  expect(judged("exec_run", "git push *", command("git push origin"))).toBe("allow");
});
