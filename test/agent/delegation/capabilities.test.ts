import { expect, test } from "vitest";
import { leastCpuOf } from "../../support/cpu.ts";
import type { Capability } from "../../../src/agent/definition/delegation.ts";
import { formatCapabilities, matchCapabilities } from "../../../src/agent/definition/delegation.ts";

const capability = (name: string, languages: readonly string[] = [], strength = 1): Capability => ({
  name,
  languages,
  strength,
});

const agent = (name: string, ...capabilities: readonly Capability[]) => ({ name, capabilities });

const scoreOf = (text: string, ...capabilities: readonly Capability[]): number =>
  matchCapabilities([agent("a", ...capabilities)], text)[0]?.score ?? 0;

const review = capability("code-review", ["go"], 0.9);

test("AG-29: words and a language without the phrase score 1.125, with the phrase 1.575", () => {
  expect(matchCapabilities([agent("gopher", review)], "please review this Go code")).toEqual([
    { agentId: "gopher", score: 1.125, matchedCap: "code-review" },
  ]);
  expect(scoreOf("code review in Go", review)).toBe(1.575);
});

test("AG-29: equal agents come by name, whatever the order in the file", () => {
  const agents = ["zoe", "Adam", "mia"].map((name) => agent(name, review));
  const orders = [agents, agents.toReversed()];
  for (const order of orders)
    expect(matchCapabilities(order, "code review").map(({ agentId }) => agentId)).toEqual([
      "Adam",
      "mia",
      "zoe",
    ]);
});

test("AG-29: an empty text, and one that shares no word, match nobody", () => {
  for (const text of ["", "  ", "--", "cook a soup"])
    expect(matchCapabilities([agent("a", review)], text)).toEqual([]);
  expect(matchCapabilities([agent("a")], "code review")).toEqual([]);
});

test.each([
  ["reviewing the code", 1, "a longer word with the whole shorter one in front"],
  ["codes, reviewed", 1.5, "other endings, neighbours in order"],
  ["a codec for rev", 0.5, "three letters in common are too few"],
  ["co-de re-view", 0, "parts of words"],
  ["CODE_REVIEW", 1.5, "an underscore parts words of a text, too"],
])("AG-29: %j against code-review is %d: %s", (text, score) => {
  expect(scoreOf(text, capability("code-review"))).toBe(score);
});

test("AG-29: languages count a quarter each, at most a half, under their other names too, and only whole", () => {
  const all = capability("port", ["golang", "python", "typescript", "C++", "objective-c"]);
  const named = (text: string): number => scoreOf(text, all);
  expect(named("go")).toBe(0.25);
  expect(named("py and ts")).toBe(0.5);
  expect(named("go, py, ts")).toBe(0.5);
  expect(named("some C++ here")).toBe(0.25);
  expect(named("Objective-C")).toBe(0.25);
  expect(named("objective, then c")).toBe(0);
  expect(scoreOf("javascript", capability("port", ["java"]))).toBe(0);
  expect(scoreOf("go", capability("port", ["go", "golang"]))).toBe(0.25);
});

test("AG-29: an agent scores its best capability, the first of equals; strength weighs all of it", () => {
  const strong = capability("deploy", [], 1);
  const weak = capability("deploy-fast", [], 0.5);
  const twin = capability("deploy", ["x"], 1);
  const [match] = matchCapabilities([agent("a", weak, strong, twin)], "deploy it");
  expect(match).toEqual({ agentId: "a", score: 1.5, matchedCap: "deploy" });
  expect(scoreOf("deploy", capability("deploy_a b", [], 0.3333))).toBe(0.1111);
});

test("AG-29: the best come first", () => {
  const agents = [agent("low", capability("docs", [], 0.2)), agent("high", capability("docs"))];
  expect(matchCapabilities(agents, "write docs").map(({ agentId }) => agentId)).toEqual(["high", "low"]);
});

test("AG-29: full width letters and node.js are words like others", () => {
  expect(scoreOf("ｃｏｄｅ ｒｅｖｉｅｗ", capability("code-review"))).toBe(1.5);
  expect(scoreOf("a server in node.js.", capability("web", ["node.js"]))).toBe(0.25);
});

test("AG-6: capabilities are said with languages in brackets and strength unless it is 1", () => {
  expect(formatCapabilities([capability("code-generation", ["golang", "python"], 0.9), review])).toBe(
    "code-generation [golang, python] (0.9), code-review [go] (0.9)",
  );
  expect(formatCapabilities([capability("docs"), capability("tests", ["go"])])).toBe("docs, tests [go]");
  expect(formatCapabilities([])).toBe("");
});

test("AG-29: a long task is compared with many capabilities in little time", async () => {
  const agents = Array.from({ length: 30 }, (_, at) =>
    agent(
      `agent${at}`,
      ...Array.from({ length: 8 }, (__, index) =>
        capability(`code-review ${at} ${index}`, ["golang", "python"]),
      ),
    ),
  );
  const task = Array.from({ length: 5_000 }, (_, at) => `word${at}`).join(" ");
  expect(await leastCpuOf(() => matchCapabilities(agents, task))).toBeLessThan(500);
});
