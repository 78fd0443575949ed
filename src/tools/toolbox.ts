import type { Tool, Toolbox } from "./define-tool.ts";
import { findNearestName } from "./suggest.ts";
import { firstCharacters } from "../chat/text.ts";

/** Entry of an agent's `toolboxes`: no `tools` means all, `[]` none. */
export interface ToolboxEntry {
  readonly name: string;
  readonly tools?: readonly string[] | undefined;
}

/** Tool with the toolbox that it comes from. */
interface SelectedTool {
  readonly tool: Tool;
  readonly toolbox: string;
}

interface SelectionProblem {
  readonly code: "unknown_toolbox" | "unknown_tool" | "duplicate_name" | "name_conflict";
  /** Path below `toolboxes`. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

export interface Selection {
  readonly tools: readonly SelectedTool[];
  readonly problems: readonly SelectionProblem[];
}

const suggestName = (name: string, known: readonly string[]): string => {
  const near = findNearestName(name, known);
  return near === null ? "" : `; did you mean "${near}"?`;
};

function chooseTools(
  entry: ToolboxEntry,
  box: Toolbox,
  index: number,
): { tools: Tool[]; problems: SelectionProblem[] } {
  const names = box.tools.map((tool) => tool.name);
  const unknown = (entry.tools ?? []).flatMap((name, place): SelectionProblem[] =>
    names.includes(name)
      ? []
      : [
          {
            code: "unknown_tool",
            path: [index, "tools", place],
            message: `the toolbox ${box.name} has no tool "${name}"${suggestName(name, names)}`,
          },
        ],
  );
  const tools = box.tools.filter((tool) => entry.tools?.includes(tool.name) ?? true);
  return { tools, problems: unknown };
}

/**
 * Selects the tools of an agent: those of its entries in order, then those of the `implicit` toolboxes that it does
 * not list. Unknown names, a repeated toolbox and two tools of one name are problems, unless one `replaces` the
 * other.
 */
export function selectTools(
  entries: readonly ToolboxEntry[],
  available: readonly Toolbox[],
  implicit: readonly string[],
): Selection {
  const problems: SelectionProblem[] = [];
  const tools: SelectedTool[] = [];
  const listed = new Set<string>();
  const unlisted = implicit
    .filter((name) => !entries.some((entry) => entry.name === name))
    .map((name): ToolboxEntry => ({ name }));
  [...entries, ...unlisted].forEach((entry, index) => {
    const report = (code: SelectionProblem["code"], message: string): void => {
      problems.push({ code, path: [index], message });
    };
    const box = available.find((toolbox) => toolbox.name === entry.name);
    if (listed.has(entry.name))
      return report("duplicate_name", `the toolbox "${entry.name}" is listed twice`);
    listed.add(entry.name);
    if (box === undefined) {
      const known = available.map((toolbox) => toolbox.name);
      return report(
        "unknown_toolbox",
        `there is no toolbox "${entry.name}"${suggestName(entry.name, known)}`,
      );
    }
    const selection = chooseTools(entry, box, index);
    problems.push(...selection.problems);
    for (const tool of selection.tools) {
      const at = tools.findIndex((each) => each.tool.name === tool.name);
      const before = tools[at];
      if (before === undefined) tools.push({ tool, toolbox: box.name });
      else if (tool.replaces === true) tools[at] = { tool, toolbox: box.name };
      else if (before.tool.replaces !== true) {
        const boxes = `${before.toolbox} and ${box.name}`;
        report("name_conflict", `the toolboxes ${boxes} both have a tool "${tool.name}"`);
      }
    }
  });
  return { tools, problems };
}

/** Returns the error text for a call of an unknown tool, with the nearest name. */
export const unknownToolText = (name: string, known: readonly string[]): string =>
  `there is no tool "${firstCharacters(name, 100)}"${suggestName(name, known) || "; use one of the declared tools"}`;
