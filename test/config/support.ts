import type { CompiledTeam, CompileOptions } from "../../src/config/build/compile.ts";
import { compileTeam } from "../../src/config/build/compile.ts";
import { formatDiagnostic } from "../../src/config/document/diagnostics.ts";

/** A team folder as files by path. */
export type Files = Readonly<Record<string, string | Uint8Array>>;

/** `team.yaml` with one provider and one agent; further keys come behind each, the team's at the end. */
export const team = (more: { provider?: string; agent?: string; top?: string } = {}): string =>
  [
    "providers:",
    "  - name: main",
    "    kind: anthropic",
    "    api_key: ${KEY}",
    "    model: claude-sonnet-5-5",
    ...(more.provider === undefined ? [] : [more.provider]),
    "agents:",
    "  - name: guide",
    "    toolboxes: [filesystem]",
    ...(more.agent === undefined ? [] : [more.agent]),
    ...(more.top === undefined ? [] : [more.top]),
    "",
  ].join("\n");

/** A folder whose provider plays this script. */
export const scripted = (script: string, more: Files = {}): Files => ({
  "team.yaml": [
    "providers:",
    "  - name: main",
    "    kind: scripted",
    "    model: tour-1",
    "    script: scripts/tour.yaml",
    "agents:",
    "  - name: guide",
    "",
  ].join("\n"),
  "scripts/tour.yaml": script,
  ...more,
});

export const compile = async (
  files: Files | string,
  options: Partial<CompileOptions> = {},
): Promise<CompiledTeam> => {
  const folder = typeof files === "string" ? { "team.yaml": files } : files;
  return compileTeam(new Map(Object.entries(folder)), { name: "acme", ...options });
};

/** All diagnostics as they are printed. */
export const complaints = async (
  files: Files | string,
  options: Partial<CompileOptions> = {},
): Promise<string[]> => (await compile(files, options)).diagnostics.map(formatDiagnostic);
