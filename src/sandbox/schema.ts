import * as z from "zod";
import { count, duration, mapOf, size, text } from "../schema.ts";
import { environmentName, leastOutput } from "./contract.ts";

const environmentSchema = () =>
  mapOf(z.string()).superRefine((env, context) => {
    for (const key of Object.keys(env).filter((each) => !environmentName.test(each))) {
      const message = "invalid_value: a name has letters, digits and _, and does not begin with a digit";
      context.addIssue({ code: "custom", path: [key], message });
    }
  });

/** Schema of a team's section `sandbox`. Durations are milliseconds, sizes are bytes. */
export const sandboxSchema = z.strictObject({
  idle: duration({ min: "10s" }).prefault("5m").describe("Idle time after which it may be suspended."),
  limits: z
    .strictObject({
      wall: duration({ min: "1s", max: "1h" }).prefault("10m").describe("Longest time of one command."),
      output: size()
        .refine((value) => value >= leastOutput, `out_of_range: it must be at least ${leastOutput} bytes`)
        .prefault("1MiB")
        .describe("Longest output of one command."),
      processes: count(1, 10_000).default(64).describe("Processes at the same time."),
      disk: size().prefault("256MiB").describe("Size of all files together."),
      file: size().prefault("32MiB").describe("One file."),
    })
    .prefault({})
    .describe("Limits of the sandbox."),
  egress: z.array(text(253, 1)).max(100).default([]).describe("Hosts that commands may reach."),
  allow_open_egress: z.boolean().default(false).describe("Accept a driver that cannot restrict the network."),
  env: environmentSchema().prefault({}).describe("Environment of commands; literal texts, never secrets."),
  credentials: z
    .array(
      z.strictObject({
        host: text(253, 1).describe("Host whose requests get these headers."),
        headers: mapOf(z.string()).describe("Headers added outside the sandbox; references allowed."),
      }),
    )
    .max(50)
    .default([])
    .describe("Secrets that are added to matching requests outside the sandbox."),
});
