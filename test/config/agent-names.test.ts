import { expect, test } from "vitest";
import { compile, complaints, team } from "./support.ts";

test.each(["auto", "Auto"])(
  "AG-7: an agent named %s could never be called by its name, so it is an error",
  async (name) => {
    expect(await complaints(team({ agent: `  - name: ${name}` }))).toEqual([
      `config/acme/team.yaml:9:11 error invalid_value agents[1].name: "${name}" means the agent that fits a task best, so this one could not be called by name\n  choose another name`,
    ]);
  },
);

test("AG-1 AG-7: nor may an agent of the extensions have that name; others may begin with it", async () => {
  const said = async (name: string): Promise<readonly string[]> => {
    const { diagnostics } = await compile(team(), { extensions: { exports: { agents: [{ name }] } } });
    return diagnostics.map(({ file, code }) => `${file.split("/").at(-1)} ${code}`);
  };
  expect(await said("AUTO")).toEqual(["extensions.ts invalid_value"]);
  expect(await said("automaton")).toEqual([]);
});
