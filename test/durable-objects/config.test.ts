import { expect, test } from "vitest";
import { compileTeam } from "../../src/config/build/compile.ts";
import { formatDiagnostic } from "../../src/config/document/diagnostics.ts";
import { resolveReferences } from "../../src/config/document/references.ts";

const yaml = `
providers:
  - { name: main, kind: anthropic, api_key: "\${KEY}", model: claude-sonnet-5-5 }
agents:
  - name: guide
    toolboxes: [filesystem, exec]
    options: { question_timeout: 5m, response_format: json_schema, response_schema: { type: object } }
`;

test("CF-2: a team compiles in workerd as it does in Node", async () => {
  const { team, diagnostics } = compileTeam(new Map([["team.yaml", yaml]]), { name: "acme" });
  expect(diagnostics).toEqual([]);
  expect(team?.agents[0]?.options.question_timeout).toBe(300_000);
  expect(team?.revision).toMatch(/^r_[0-9a-f]{20}$/);
  expect(resolveReferences(team?.providers[0]?.api_key ?? "", () => "k")).toEqual({ ok: true, value: "k" });
});

test("CF-28: diagnostics in workerd have file, line and column", async () => {
  const { team, diagnostics } = compileTeam(new Map([["team.yaml", yaml.replace("exec]", "exce]")]]), {
    name: "acme",
  });
  expect(team).toBeNull();
  const [said = "", ...others] = diagnostics.map(formatDiagnostic);
  expect(others).toEqual([]);
  expect(said.split("\n")).toEqual([
    'config/acme/team.yaml:6:29 error unknown_toolbox agents[0].toolboxes[1]: there is no toolbox "exce"',
    expect.stringMatching(/^ {2}did you mean "exec"\? known: ask, filesystem, /),
  ]);
});

test("CF-7: bombs are refused in workerd too", async () => {
  for (const bomb of ["[".repeat(100_000), "a: &a [*a]", "- ".repeat(50_000), "a: !!js/function x"]) {
    const { team, diagnostics } = compileTeam(new Map([["team.yaml", bomb]]), { name: "acme" });
    expect([team, diagnostics.length]).toEqual([null, 1]);
  }
});
