import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";
import { createSandboxBinding } from "./support/sandbox-binding.ts";

const common = {
  /** Every core has a file to run, of any project; without this, one of two cores stood idle. */
  maxWorkers: "100%",
  /** A slow machine is no failure: what hangs is ended, nothing else. */
  testTimeout: 240_000,
  hookTimeout: 240_000,
  expect: { poll: { timeout: 60_000 } },
};

export default defineConfig({
  test: {
    reporters: ["default", "json"],
    outputFile: { json: ".limpet/test-report.json" },
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/durable-objects/**", "test/e2e/**", "test/sandbox/worker/**"],
          isolate: false,
          ...common,
        },
      },
      {
        plugins: [
          cloudflareTest({
            wrangler: { configPath: `${import.meta.dirname}/support/wrangler.toml` },
            miniflare: { serviceBindings: { SANDBOX: createSandboxBinding() } },
          }),
        ],
        test: { name: "worker", include: ["test/durable-objects/**/*.test.ts"], ...common },
      },
      {
        plugins: [
          cloudflareTest({
            wrangler: { configPath: `${import.meta.dirname}/../src/sandbox/worker/wrangler.toml` },
          }),
        ],
        test: { name: "sandbox", include: ["test/sandbox/worker/**/*.test.ts"], ...common },
      },
      {
        test: { name: "e2e", include: ["test/e2e/**/*.test.ts"], ...common },
      },
    ],
  },
});
