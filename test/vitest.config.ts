import { availableParallelism } from "node:os";
import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";
import { answerFromOutside } from "./support/outside.ts";
import { ProjectOrder } from "./support/project-order.ts";
import { slowestFiles } from "./support/slowest-files.ts";
import { createSandboxBinding } from "./support/sandbox-binding.ts";

const common = {
  /** A slow machine is no failure: what hangs is ended, nothing else. */
  testTimeout: 240_000,
  hookTimeout: 240_000,
  expect: { poll: { timeout: 60_000 } },
};

/**
 * Tests in plain Node compute, those that start servers wait half of their time, for processes, alarms and retries: side by
 * side, two files more than cores, they keep the machine busy. Deep ones compute more: one file more is enough.
 */
const sideBySideOf = (isDeep: boolean) => ({ maxWorkers: availableParallelism() + (isDeep ? 1 : 2) });

/** Tests that measure how long something takes need the machine for themselves. */
const alone = "**/*-speed.deep.test.ts";
const afterAllOthers = { maxWorkers: 1, sequence: { groupOrder: 1 } };

/** Whole matrices of kills and power cuts, simulations, conformance, and what needs servers of its own: longer than all others together. */
const deep = "**/*.deep.test.ts";

/** The tests below a folder: those of `npm test`, or the deep ones. */
const testsIn = (folder: string, isDeep: boolean, exclude: readonly string[] = []) => ({
  include: [isDeep ? `${folder}/${deep}` : `${folder}/**/*.test.ts`],
  exclude: [...exclude, ...(isDeep ? [] : [deep])],
});

const elsewhere = ["test/durable-objects/**", "test/e2e/**", "test/sandbox/worker/**", alone];

/** The tests in plain Node: those below `test/`, and the teams' own beside their team files. */
const unitTests = (isDeep: boolean) => {
  const { include, exclude } = testsIn("test", isDeep, elsewhere);
  return { include: isDeep ? include : [...include, "config/*/*.test.ts"], exclude };
};

/** Tests of what an isolate learns once: which definitions its team and tenants have. Each file gets one of its own. */
const withFreshIsolate = ["away", "definitions", "migration"].map(
  (name) => `test/durable-objects/${name}.test.ts`,
);

const testWorker = () =>
  cloudflareTest({
    wrangler: { configPath: `${import.meta.dirname}/support/wrangler.toml` },
    miniflare: { serviceBindings: { SANDBOX: createSandboxBinding() }, outboundService: answerFromOutside },
  });

export const createConfig = (isDeep: boolean) => {
  const sideBySide = sideBySideOf(isDeep);
  return defineConfig({
    test: {
      sequence: { sequencer: ProjectOrder },
      reporters: ["default", slowestFiles, "json"],
      outputFile: { json: `.limpet/${isDeep ? "deep" : "test"}-report.json` },
      projects: [
        {
          test: {
            name: "unit",
            ...unitTests(isDeep),
            isolate: false,
            ...common,
            ...sideBySide,
          },
        },
        {
          plugins: [testWorker()],
          test: {
            name: "worker",
            ...testsIn("test/durable-objects", isDeep, withFreshIsolate),
            isolate: false,
            setupFiles: ["test/support/worker/fresh-storage.ts"],
            ...common,
            ...sideBySide,
          },
        },
        {
          plugins: [testWorker()],
          test: {
            name: "worker-alone",
            include: isDeep ? [] : withFreshIsolate,
            ...common,
            ...sideBySide,
          },
        },
        {
          plugins: [
            cloudflareTest({
              wrangler: { configPath: `${import.meta.dirname}/../src/sandbox/worker/wrangler.toml` },
            }),
          ],
          test: {
            name: "sandbox",
            ...testsIn("test/sandbox/worker", isDeep),
            ...common,
            ...sideBySide,
          },
        },
        {
          test: {
            name: "e2e",
            ...testsIn("test/e2e", isDeep, [alone]),
            globalSetup: "test/support/shared-bundles.ts",
            ...common,
            ...sideBySide,
          },
        },
        {
          test: {
            name: "alone",
            include: isDeep ? [alone] : [],
            globalSetup: "test/support/shared-bundles.ts",
            ...common,
            ...afterAllOthers,
          },
        },
      ],
    },
  });
};

export default createConfig(false);
