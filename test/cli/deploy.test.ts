import { chmodSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createKeySchema } from "../../src/engine/access/key-store.ts";
import { findTeamProblem } from "../../src/cli/serve/first-build.ts";
import { createShippedPlace } from "../support/shipped-place.ts";
import type { ShippedPlace } from "../support/shipped-place.ts";

/** `limpet deploy` against a wrangler on the path that notes what it is asked and answers as a test says. */

interface FakeAnswers {
  /** What `secret list` prints; absent: the Worker does not exist. */
  readonly secrets?: string;
  readonly targets?: readonly string[];
  /** Commands that begin with this fail. */
  readonly fails?: string;
}

const fakeWrangler = ({ secrets, targets = [], fails }: FakeAnswers): string => `#!/usr/bin/env node
const { appendFileSync } = require("node:fs");
const line = process.argv.slice(2).join(" ");
appendFileSync("asked.txt", line + "\\n");
if (${JSON.stringify(fails ?? null)} !== null && line.startsWith(${JSON.stringify(fails ?? "")})) {
  console.error("You are not logged in.");
  process.exit(1);
}
if (line.startsWith("secret list")) {
  const secrets = ${JSON.stringify(secrets ?? null)};
  if (secrets === null) {
    console.error('✘ [ERROR] Worker "limpet-acme" (env: acme) not found.');
    process.exit(1);
  }
  console.error("▲ [WARNING] Processing wrangler.toml configuration:");
  console.log(secrets);
}
const output = process.env.WRANGLER_OUTPUT_FILE_PATH;
if (line.startsWith("deploy") && output !== undefined) {
  const targets = line.includes("-c ") ? undefined : ${JSON.stringify(targets)};
  appendFileSync(output, JSON.stringify({ type: "wrangler-session" }) + "\\n");
  appendFileSync(output, JSON.stringify({ type: "deploy", targets }) + "\\n");
}
`;

let place: ShippedPlace;
const path = process.env["PATH"];
beforeEach(() => {
  place = createShippedPlace();
});
afterEach(() => {
  process.env["PATH"] = path;
  place.remove();
});

const useWrangler = (answers: FakeAnswers): void => {
  const folder = join(place.root, "bin");
  mkdirSync(folder, { recursive: true });
  place.write("bin/wrangler", fakeWrangler(answers));
  chmodSync(join(folder, "wrangler"), 0o755);
  process.env["PATH"] = [folder, path].join(delimiter);
};

const asked = (): readonly string[] => {
  const file = join(place.root, "asked.txt");
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
};

const sandbox = "deploy -c src/sandbox/worker/wrangler.toml --name limpet-sandbox-acme";

const bothSecrets = JSON.stringify([
  { name: "LIMPET_ADMIN_KEY", type: "secret_text" },
  { name: "ANTHROPIC_API_KEY", type: "secret_text" },
]);

test("AP-71: deploy brings up the sandbox, then the team, and prints the address and the next call", async () => {
  await place.call("new-team", "acme", "--from", "assistant");
  useWrangler({ secrets: bothSecrets, targets: ["https://limpet-acme.example.workers.dev"] });
  const { code, lines } = await place.call("deploy", "acme");
  expect(asked()).toEqual(["secret list --env=acme --format=json", sandbox, "deploy --env=acme"]);
  expect(code).toBe(0);
  expect(lines[0]).toBe(
    "acme is at https://limpet-acme.example.workers.dev; make a key for its first customer:",
  );
  const [, body = ""] =
    /^ {2}curl -s https:\/\/limpet-acme\.example\.workers\.dev\/v1\/keys .* -d '(.*)'$/.exec(
      lines[1] ?? "",
    ) ?? [];
  expect(createKeySchema.parse(JSON.parse(body)).tenant).toBe("first-customer");
});

test("AP-71: a secret that is not set stops the deploy with the command that sets it", async () => {
  await place.call("new-team", "acme", "--from", "assistant");
  useWrangler({ secrets: `[{ "name": "LIMPET_ADMIN_KEY", "type": "secret_text" }]` });
  expect(await place.call("deploy", "acme")).toEqual({
    code: 1,
    lines: [
      "acme needs a secret that is not set:",
      "  npx wrangler secret put ANTHROPIC_API_KEY --env acme",
      "then: npx limpet deploy acme",
    ],
  });
  expect(asked()).toEqual(["secret list --env=acme --format=json"]);
});

test("AP-71: a Worker that was never deployed has no secrets", async () => {
  await place.call("new-team", "acme", "--from", "assistant");
  useWrangler({});
  const { code, lines } = await place.call("deploy", "acme");
  expect([code, lines]).toEqual([
    1,
    [
      "acme needs secrets that are not set:",
      "  npx wrangler secret put LIMPET_ADMIN_KEY --env acme",
      "  npx wrangler secret put ANTHROPIC_API_KEY --env acme",
      "then: npx limpet deploy acme",
    ],
  ]);
});

test("AP-71: secrets that the team's own tools read are needed, too; a variable of wrangler.toml is none", async () => {
  await place.call("new-team", "acme");
  const tool = join(import.meta.dirname, "../../src/tools/define-tool.ts");
  const zod = join(import.meta.dirname, "../../node_modules/zod/index.js");
  place.write(
    "config/acme/extensions.ts",
    `import * as z from ${JSON.stringify(zod)};
import { defineTool } from ${JSON.stringify(tool)};
const pilot = defineTool({
  name: "call_pilot", description: "Calls the pilot.", params: z.strictObject({}), safety: "read",
  secrets: ["HARBOUR_TOKEN"], hosts: ["https://harbour.example"], run: () => ({ content: "" }),
});
export const toolboxes = [{ name: "sea", description: "The sea.", tools: [pilot] }];\n`,
  );
  const yaml = place.read("config/acme/team.yaml");
  place.write("config/acme/team.yaml", yaml.replace("toolboxes: [", "toolboxes: [sea, "));
  useWrangler({ secrets: bothSecrets });
  const stopped = await place.call("deploy", "acme");
  expect(stopped.code).toBe(1);
  expect(stopped.lines).toContain("  npx wrangler secret put HARBOUR_TOKEN --env acme");
  expect(stopped.lines.slice(0, 2)).toEqual([
    expect.stringMatching(/^wrangler\.toml:\d+:1 warning undeclared_secret: the team needs HARBOUR_TOKEN/),
    '  declare them there: secrets = { required = ["LIMPET_ADMIN_KEY", "HARBOUR_TOKEN"] }',
  ]);
  const toml = place.read("wrangler.toml").split("[env.acme]");
  place.write(
    "wrangler.toml",
    toml.join("[env.acme]").replace(/(\[env\.acme\][^]*vars = \{)/, '$1 HARBOUR_TOKEN = "t",'),
  );
  expect(await place.call("deploy", "acme")).toMatchObject({ code: 0 });
});

test("AP-71 CF-20: secrets and variables are those that the environment declares, whatever a comment or a value says", async () => {
  const yaml = place.read("config/assistant/team.yaml");
  place.write("config/acme/team.yaml", yaml);
  useWrangler({ secrets: bothSecrets });
  const undeclared = async (lines: string): Promise<readonly string[]> => {
    place.write("wrangler.toml", `[env.acme]\nmain = "w.js"\n${lines}\n`);
    const said = (await place.call("deploy", "acme", "--dry-run")).lines;
    return said.filter((line) => /undeclared_secret|needs the secret/.test(line));
  };
  const needed = ["acme needs the secrets LIMPET_ADMIN_KEY, ANTHROPIC_API_KEY"];
  const warning = expect.stringMatching(
    /^wrangler\.toml:1:1 warning undeclared_secret: the team needs ANTHROPIC_API_KEY/,
  );
  expect(await undeclared('# secrets = { required = ["LIMPET_ADMIN_KEY"] }')).toEqual(needed);
  expect(await undeclared('secrets = { required = [ # "ANTHROPIC_API_KEY"\n"LIMPET_ADMIN_KEY"] }')).toEqual([
    warning,
    ...needed,
  ]);
  expect(
    await undeclared(
      'secrets.required = ["ANTHROPIC_API_KEY", "LIMPET_ADMIN_KEY"]\nvars = { A = "ANTHROPIC_API_KEY = 1" }',
    ),
  ).toEqual(needed);
  expect(await undeclared('vars = { A = "}", ANTHROPIC_API_KEY = "k" }')).toEqual([
    "acme needs the secret LIMPET_ADMIN_KEY",
  ]);
});

test("AP-71: a dry run asks nobody, and leaves nothing but what wrangler's own dry runs write", async () => {
  await place.call("new-team", "acme", "--from", "assistant");
  useWrangler({});
  expect(await place.call("deploy", "acme", "--dry-run")).toEqual({
    code: 0,
    lines: [
      "acme needs the secrets LIMPET_ADMIN_KEY, ANTHROPIC_API_KEY",
      "its Durable Objects, which wrangler does not list: SessionObject, TeamObject, TenantObject, ProviderGate",
      "nothing was uploaded; once its secrets are set, this deploys it: npx limpet deploy acme",
    ],
  });
  expect(asked()).toEqual([`${sandbox} --dry-run`, "deploy --env=acme --dry-run"]);
});

test("AP-71 TB-5: the toolboxes that the bindings of the environment cannot serve are told with what is missing", async () => {
  await place.call("new-team", "acme", "--from", "dev-team");
  const toml = place.read("wrangler.toml");
  const [before = "", own = ""] = toml.split(/(?=\[env\.acme\])/);
  place.write("wrangler.toml", before + own.replaceAll(/^(services|browser) = .*\n/gm, ""));
  useWrangler({});
  const { code, lines } = await place.call("deploy", "acme", "--dry-run");
  const told = lines.filter((line) => line.startsWith("lead cannot use "));
  expect([code, told]).toEqual([
    0,
    [
      expect.stringMatching(
        /^lead cannot use filesystem: this deployment has no SANDBOX binding; add services = /,
      ),
      expect.stringMatching(/^lead cannot use search: /),
      expect.stringMatching(
        /^lead cannot use browser: this deployment has no BROWSER binding; add browser = /,
      ),
    ],
  ]);
  expect(asked()).toEqual(["deploy --env=acme --dry-run"]);
});

test("AP-71: the team default is no environment", async () => {
  useWrangler({ secrets: bothSecrets, targets: ["limpet.example (custom domain)"] });
  const { code, lines } = await place.call("deploy", "default");
  expect([code, lines[0]]).toEqual([
    0,
    "default is at https://limpet.example; make a key for its first customer:",
  ]);
  expect(asked()).toEqual([
    "secret list --env= --format=json",
    "deploy -c src/sandbox/worker/wrangler.toml --name limpet-sandbox",
    "deploy --env=",
  ]);
});

test("AP-71: the address is a host, whatever wrangler tells beside it of a route; a pattern of hosts is none", async () => {
  await place.call("new-team", "acme", "--from", "assistant");
  const route = "agents.example.com/* (zone name: example.com)";
  useWrangler({ secrets: bothSecrets, targets: ["schedule: 0 * * * *", "*.example.com/*", route] });
  const { lines } = await place.call("deploy", "acme");
  expect(lines[0]).toBe("acme is at https://agents.example.com; make a key for its first customer:");
  expect(lines[1]).toContain(" https://agents.example.com/v1/keys ");
  useWrangler({ secrets: bothSecrets, targets: ["*.example.com/*"] });
  expect((await place.call("deploy", "acme")).lines).toEqual([
    "acme is deployed; its environment in wrangler.toml gives it no address",
  ]);
});

test("AP-71: what stops it says why, and nothing is deployed after it", async () => {
  await place.call("new-team", "acme", "--from", "assistant");
  useWrangler({ secrets: bothSecrets, fails: "secret list" });
  const loggedOut = await place.call("deploy", "acme");
  expect(loggedOut).toEqual({
    code: 1,
    lines: [
      "You are not logged in.",
      "wrangler cannot list the secrets; if you are not logged in: npx wrangler login",
    ],
  });
  const see = "see what it prints by: npx wrangler secret list --env=acme --format=json";
  for (const secrets of ["", "Two secrets.", "[LIMPET_ADMIN_KEY]"]) {
    useWrangler({ secrets });
    const { code, lines } = await place.call("deploy", "acme");
    expect([code, lines.at(-1)]).toEqual([1, `wrangler printed no list of the secrets; ${see}`]);
  }
  useWrangler({ secrets: bothSecrets, fails: sandbox });
  expect((await place.call("deploy", "acme")).code).toBe(1);
  expect(asked().filter((line) => line === "deploy --env=acme")).toEqual([]);
  const yaml = place.read("config/acme/team.yaml");
  place.write("config/acme/team.yaml", yaml.replace("toolboxes:", "toolboxs:"));
  const before = asked().length;
  const wrong = await place.call("deploy", "acme");
  expect([wrong.code, wrong.lines[0]]).toEqual([1, expect.stringContaining("unknown_key")]);
  expect(asked()).toHaveLength(before);
});

test("AP-71: a team without an environment is told what to write", async () => {
  place.write("config/acme/team.yaml", place.read("config/assistant/team.yaml"));
  useWrangler({ secrets: bothSecrets });
  const { code, lines } = await place.call("deploy", "acme");
  expect([code, lines.slice(0, 2)]).toEqual([1, ["wrangler.toml has no environment acme; add:", ""]]);
  expect(lines).toContain("[env.acme]");
  expect(asked()).toEqual([]);
});

test("AP-71 AP-70: an environment without an entry point would serve the team default: it is neither deployed nor served", async () => {
  await place.call("new-team", "acme");
  const toml = place.read("wrangler.toml");
  const lacking = toml.replace('main = ".limpet/acme/worker.js"\n', "");
  place.write("wrangler.toml", lacking);
  useWrangler({ secrets: bothSecrets });
  const problem =
    '[env.acme] in wrangler.toml lacks the key main, so wrangler would use that of team default: add main = ".limpet/acme/worker.js".';
  expect(await place.call("deploy", "acme")).toEqual({ code: 1, lines: [problem] });
  expect(asked()).toEqual([]);
  expect(findTeamProblem(place.root, "acme")).toBe(problem);
  place.write(
    "wrangler.toml",
    lacking.replace("[env.acme]", '[env."acme"] # main\nmain = ".limpet/acme/worker.js"'),
  );
  expect((await place.call("deploy", "acme", "--dry-run")).code).toBe(0);
});

test("AP-71 AP-70 CF-3: an environment that serves or builds another team is neither deployed nor served", async () => {
  await place.call("new-team", "acme");
  const toml = place.read("wrangler.toml");
  const [before = "", own = ""] = toml.split(/(?=\[env\.acme\])/);
  useWrangler({ secrets: bothSecrets });
  const problemOf = async (environment: string): Promise<string | null> => {
    place.write("wrangler.toml", before + environment);
    const { code, lines } = await place.call("deploy", "acme", "--dry-run");
    const problem = findTeamProblem(place.root, "acme");
    expect([code, lines[0]]).toEqual(problem === null ? [0, expect.anything()] : [1, problem]);
    return problem;
  };
  const build = own.split("\n").find((line) => line.startsWith("build = ")) ?? "";
  expect(await problemOf(own.replace(".limpet/acme", ".limpet/assistant"))).toBe(
    '[env.acme] in wrangler.toml names the Worker of team assistant: write main = ".limpet/acme/worker.js".',
  );
  expect(await problemOf(own.replace(`${build}\n`, ""))).toBe(
    `[env.acme] in wrangler.toml lacks the key build, so wrangler would not build acme: add ${build}.`,
  );
  expect(await problemOf(own.replace("-- build acme", "-- build assistant"))).toBe(
    `[env.acme] in wrangler.toml builds another team, so changes of acme would not be seen: write ${build}.`,
  );
  expect(asked()).toEqual([]);
  for (const command of ["npx limpet build --all", "npm run -s limpet -- build assistant acme", "make acme"])
    expect(await problemOf(own.replace("npm run -s limpet -- build acme", command))).toBeNull();
});

test("AP-71: a team that does not exist is told with those that do", async () => {
  useWrangler({ secrets: bothSecrets });
  expect(await place.call("deploy", "gamma")).toEqual({
    code: 1,
    lines: ["there is no team gamma; config/ has assistant, default, dev-team"],
  });
  expect(asked()).toEqual([]);
});
