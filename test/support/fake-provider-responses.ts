import {
  checkDataUrl,
  each,
  first,
  isBlank,
  isFields,
  isJsonObject,
  keysBeside,
  lacksItems,
  list,
  namePattern,
  sealFor,
} from "./fake-provider-fields.ts";
import type { Fields } from "./fake-provider-fields.ts";
import { argumentsOf, frame, hasCalls, split } from "./fake-provider-reply.ts";
import type { Piece, Speech } from "./fake-provider-reply.ts";

/** OpenAI's Responses API, with nothing stored: what it refuses, and how it streams. */

const bodyKeys =
  "model input tools max_output_tokens stream store include tool_choice reasoning text temperature top_p prompt_cache_key";

const itemKeys: Readonly<Record<string, string>> = {
  message: "role content phase",
  reasoning: "type id summary encrypted_content",
  function_call: "type call_id name arguments",
  function_call_output: "type call_id output",
};

const typeOf = ({ type }: Fields): string => (typeof type === "string" ? type : "message");

const checkContent = (value: unknown, where: string): string | null => {
  if (!isFields(value)) return `${where}: not an object`;
  const { type, text, image_url: image, file_data: file, file_url: address } = value;
  if (type === "input_text") return typeof text === "string" ? null : `${where}.text: not a string`;
  if (type === "input_file" && address !== undefined)
    return file === undefined && typeof address === "string" && URL.canParse(address)
      ? null
      : `${where}.file_url: invalid`;
  if (type === "input_file")
    return isBlank(value["filename"]) ? `${where}.filename` : checkDataUrl(String(file), where);
  if (type !== "input_image") return `${where}.type: invalid value ${String(type)}`;
  const url = String(image);
  if (url.startsWith("data:")) return checkDataUrl(url, where);
  return URL.canParse(url) ? null : `${where}: invalid URL`;
};

const checkContents = (value: unknown, where: string): string | null => {
  if (typeof value === "string") return null;
  if (list(value).length === 0) return `${where}: empty array`;
  return each(list(value), (part, n) => checkContent(part, `${where}[${n}]`));
};

const checkMessage = (item: Fields, where: string): string | null => {
  const { role, content, phase } = item;
  if (role === "assistant")
    return first(
      () => (typeof content !== "string" || isBlank(content)) && `${where}.content: invalid`,
      () => phase !== undefined && phase !== "commentary" && phase !== "final_answer" && `${where}.phase`,
    );
  if (!["system", "developer", "user"].includes(String(role))) return `${where}.role: invalid`;
  if (phase !== undefined) return `${where}.phase: only of an assistant`;
  return content === "" ? `${where}.content: empty` : checkContents(content, `${where}.content`);
};

const checkReasoning = (item: Fields, where: string, next: unknown): string | null => {
  const { id, encrypted_content: encrypted, summary } = item;
  const [sealed = ""] = String(encrypted).split(":");
  const follows = isFields(next) && (typeOf(next) === "function_call" || next["role"] === "assistant");
  return first(
    () => !Array.isArray(summary) && `Missing required parameter: '${where}.summary'.`,
    () =>
      encrypted === undefined &&
      `Item with id '${String(id)}' not found. Items are not persisted when \`store\` is set to false.`,
    () =>
      encrypted !== sealFor(sealed) &&
      "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
    // With its id, the API looks for the very item that followed it.
    () =>
      (!follows || (id !== undefined && next["id"] === undefined)) &&
      !(isFields(next) && typeOf(next) === "reasoning") &&
      `Item '${String(id)}' of type 'reasoning' was provided without its required following item.`,
  );
};

const checkItem = (value: unknown, at: number, items: readonly unknown[]): string | null => {
  const where = `input[${at}]`;
  if (!isFields(value)) return `${where}: not an object`;
  const type = typeOf(value);
  const keys = itemKeys[type];
  if (keys === undefined) return `Invalid value: '${type}'.`;
  const extra = keysBeside(value, keys);
  if (extra !== undefined) return `Unknown parameter: '${where}.${extra}'.`;
  if (type === "message") return checkMessage(value, where);
  if (type === "reasoning") return checkReasoning(value, where, items[at + 1]);
  if (isBlank(value["call_id"]) || String(value["call_id"]).length > 64) return `${where}.call_id: invalid`;
  if (type === "function_call_output")
    return value["output"] === "" ? null : checkContents(value["output"], `${where}.output`);
  if (!namePattern.test(String(value["name"]))) return `${where}.name: does not match the pattern`;
  return isJsonObject(value["arguments"]) ? null : `${where}.arguments: not a JSON object`;
};

const checkPairs = (items: readonly Fields[]): string | null => {
  const open = new Set<string>();
  const seen = new Set<string>();
  for (const item of items) {
    const id = String(item["call_id"]);
    if (typeOf(item) === "function_call") {
      if (seen.has(id)) return `Duplicate function call ${id}`;
      seen.add(id);
      open.add(id);
    } else if (typeOf(item) === "function_call_output") {
      if (!open.delete(id)) return `No tool call found for function call output with call_id ${id}.`;
    } else if (open.size > 0 && (item["role"] === "user" || item["role"] === "assistant"))
      return `No tool output found for function call ${[...open].join()}.`;
  }
  return open.size > 0 ? `No tool output found for function call ${[...open].join()}.` : null;
};

const checkTools = (body: Fields): string | null => {
  const tools = list(body["tools"]).filter(isFields);
  const names = tools.map(({ name }) => String(name));
  return first(
    () => "tools" in body && tools.length === 0 && "tools: empty array",
    () => names.some((name) => !namePattern.test(name)) && "Invalid 'tools[0].name'",
    () => new Set(names).size < names.length && "tools: names must be unique",
    () =>
      tools.some((tool) => keysBeside(tool, "type name description parameters strict") !== undefined) &&
      "Unknown parameter: 'tools[0]'",
    () => tools.some(({ strict }) => strict !== false) && "Invalid schema for function: additionalProperties",
    () =>
      tools.some(({ parameters }) => !isFields(parameters) || !isFields(parameters["properties"])) &&
      "Invalid schema for function: object schema missing properties.",
    () =>
      tools.some(({ parameters }) => lacksItems(parameters, "openai")) &&
      "Invalid schema for function: array schema missing items.",
    () => "tool_choice" in body && tools.length === 0 && "Tool choice requires tools.",
  );
};

/** The first thing in a request's body that the API would refuse, or null. */
export const checkResponses = (body: Fields): string | null => {
  const input = list(body["input"]);
  const extra = keysBeside(body, bodyKeys);
  const format = isFields(body["text"]) ? body["text"]["format"] : undefined;
  const cap = body["max_output_tokens"];
  return first(
    () => extra !== undefined && `Unknown parameter: '${extra}'.`,
    () => typeof body["model"] !== "string" && "you must provide a model parameter",
    () => input.length === 0 && "One of 'input' or 'previous_response_id' must be provided.",
    () => !(Number.isInteger(cap) && Number(cap) >= 16) && "Invalid 'max_output_tokens'",
    () => body["store"] !== false && "store: this organization keeps nothing",
    () => each(input, (item, at) => checkItem(item, at, input)),
    () => checkPairs(input as readonly Fields[]),
    () => (input.at(-1) as Fields)["role"] === "assistant" && "the last item is the assistant's",
    () => checkTools(body),
    () =>
      isFields(format) &&
      format["type"] === "json_object" &&
      !/json/i.test(JSON.stringify(input)) &&
      "Response input messages must contain the word 'json' in some form",
  );
};

const event = (type: string, fields: object): string => frame(type, { type, ...fields });

const itemFrames = (
  piece: Piece,
  output_index: number,
  { size, seed, phase }: { readonly size: number; readonly seed: number; readonly phase: string },
): string[] => {
  const added = (item: object) => event("response.output_item.added", { output_index, item });
  const ended = (item: object) => event("response.output_item.done", { output_index, item });
  if ("call" in piece) {
    const args = argumentsOf(piece);
    const call_id = piece.id ?? `call_${seed}_${output_index}`;
    const item = { id: `fc_${seed}_${output_index}`, type: "function_call", call_id, name: piece.call };
    return [
      added({ ...item, arguments: "", status: "in_progress" }),
      ...split(args, size).map((delta) =>
        event("response.function_call_arguments.delta", { item_id: item.id, output_index, delta }),
      ),
      event("response.function_call_arguments.done", { item_id: item.id, output_index, arguments: args }),
      ended({ ...item, arguments: args, status: "completed" }),
    ];
  }
  if ("reasoning" in piece) {
    const id = `rs_${seed}_${output_index}`;
    const place = { item_id: id, output_index, summary_index: 0 };
    const part = (text: string) => ({ type: "summary_text", text });
    return [
      added({ id, type: "reasoning", summary: [], encrypted_content: "half" }),
      event("response.reasoning_summary_part.added", { ...place, part: part("") }),
      ...split(piece.reasoning, size).map((delta) =>
        event("response.reasoning_summary_text.delta", { ...place, delta }),
      ),
      event("response.reasoning_summary_text.done", { ...place, text: piece.reasoning }),
      event("response.reasoning_summary_part.done", { ...place, part: part(piece.reasoning) }),
      ended({ id, type: "reasoning", summary: [part(piece.reasoning)], encrypted_content: sealFor(id) }),
    ];
  }
  const [kind, key, text] =
    "text" in piece ? ["output_text", "text", piece.text] : ["refusal", "refusal", piece.refusal];
  const id = `msg_${seed}_${output_index}`;
  const place = { item_id: id, output_index, content_index: 0 };
  const part = (said: string) => ({ type: kind, [key]: said, ...(key === "text" && { annotations: [] }) });
  const item = { id, type: "message", role: "assistant", phase };
  return [
    added({ ...item, status: "in_progress", content: [] }),
    event("response.content_part.added", { ...place, part: part("") }),
    ...split(text, size).map((delta) => event(`response.${kind}.delta`, { ...place, delta, logprobs: [] })),
    event(`response.${kind}.done`, { ...place, [key]: text, logprobs: [] }),
    event("response.content_part.done", { ...place, part: part(text) }),
    ended({ ...item, status: "completed", content: [part(text)] }),
  ];
};

/** The item that a frame ends. */
const itemOf = (text: string): unknown[] => {
  const [, data = "{}"] = /^event: response\.output_item\.done\ndata: (.*)/.exec(text) ?? [];
  const { item } = JSON.parse(data) as { item?: unknown };
  return item === undefined ? [] : [item];
};

/** A stream of the Responses API as its frames. Text before a call is commentary, other text the final answer. */
export const responsesFrames = (speech: Speech, model: string, seed = 1): readonly string[] => {
  const response = { id: `resp_${seed}`, object: "response", created_at: 1, model, error: null };
  const usage = { input_tokens: 25, output_tokens: 15, total_tokens: 40, ...speech.usage };
  const phase = hasCalls(speech) ? "commentary" : "final_answer";
  const begun = { response: { ...response, status: "in_progress", output: [] } };
  const items = speech.pieces.flatMap((piece, index) =>
    itemFrames(piece, index, { size: speech.chunk ?? 24, seed, phase }),
  );
  const whole = { ...response, output: items.flatMap(itemOf), ...(speech.usage !== null && { usage }) };
  const incomplete_details = { reason: "max_output_tokens" };
  const end =
    speech.finish === "length"
      ? event("response.incomplete", { response: { ...whole, status: "incomplete", incomplete_details } })
      : event("response.completed", {
          response: { ...whole, status: "completed", incomplete_details: null },
        });
  return [event("response.created", begun), event("response.in_progress", begun), ...items, end];
};
