import * as z from "zod";
import { matchesGlob } from "../sandbox/glob.ts";
import { defineBuiltIn } from "./built-in.ts";

const matchesAny = (globs: readonly string[], name: string): boolean =>
  globs.some((glob) => matchesGlob(glob, name, { segments: false }));

/** Removes tools from every turn: they are neither declared nor run. */
export const toolScope = defineBuiltIn({
  kind: "tool_scope",
  description: "Hides tools.",
  phase: "before_complete",
  order: "scope",
  params: z.strictObject({
    exclude: z.array(z.string()).default([]).describe("Globs of tools to hide."),
    include: z.array(z.string()).default([]).describe("Globs of the only tools to show; []: all."),
  }),
  run: ({ tools }, { exclude, include }) => {
    const hide = tools.filter(
      (name) => matchesAny(exclude, name) || (include.length > 0 && !matchesAny(include, name)),
    );
    return hide.length === 0 ? {} : { tools: { hide } };
  },
});
