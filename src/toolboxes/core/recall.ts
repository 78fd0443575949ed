import * as z from "zod";
import { countCharacters, skipCharacters } from "../../chat/text.ts";
import { defineTool } from "../../tools/define-tool.ts";
import { toolError } from "../../tools/errors.ts";

const mostHits = 20;
const excerptMargin = 80;

/** Finds a literal text and returns each position, in code points, with the text around it. */
function findHits(text: string, find: string): string[] {
  const hits: string[] = [];
  let counted = 0;
  let points = 0;
  for (
    let at = text.indexOf(find);
    at >= 0 && hits.length < mostHits;
    at = text.indexOf(find, at + find.length)
  ) {
    points += countCharacters(text.slice(counted, at));
    counted = at;
    const excerpt = text
      .slice(Math.max(at - excerptMargin, 0), at + find.length + excerptMargin)
      .toWellFormed();
    hits.push(`offset ${points}: ${excerpt.replaceAll("\n", "\\n")}`);
  }
  return hits;
}

export const recall = defineTool({
  name: "recall",
  description:
    "Returns stored text of this session, such as an output that was shown shortened. With find it lists where a text occurs.",
  params: z.strictObject({
    id: z.string().min(1).max(200).describe("Id of the stored text, as a shortened output names it."),
    offset: z.int().min(0).default(0).describe("Characters to skip."),
    limit: z.int().min(1).max(30_000).default(16_000).describe("Most characters to return."),
    find: z.string().min(1).max(1000).optional().describe("Literal text to look for instead."),
  }),
  safety: "read",
  workspace: "none",
  progress: false,
  run: ({ id, offset, limit, find }, context) => {
    const text = context.recall(id);
    if (text === null)
      return toolError("not_found", `no stored text has the id ${id}; use an id that a result named`);
    if (find !== undefined) {
      const hits = findHits(text, find);
      return { content: hits.length === 0 ? `${id} does not contain this text.` : hits.join("\n") };
    }
    const length = countCharacters(text);
    if (offset > 0 && offset >= length) {
      return toolError("invalid_arguments", `offset: ${id} has ${length} characters`);
    }
    const start = skipCharacters(text, offset);
    const shown = text.slice(start, skipCharacters(text, limit, start));
    const header = `[Characters ${offset}-${Math.min(offset + limit, length)} of ${length}]`;
    return { content: `${header}\n${shown}` };
  },
});
