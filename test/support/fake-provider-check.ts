/** What the real APIs reject with 400, as far as a client can get it wrong: the first fault found, or null. */

import {
  isBase64,
  checkDataUrl,
  each,
  first,
  idPattern,
  isBlank,
  isFields,
  isJsonObject,
  jsonFault,
  keysBeside,
  lacksItems,
  list,
  namePattern,
  signatureFor,
} from "./fake-provider-fields.ts";
import type { Fields, Kind } from "./fake-provider-fields.ts";
import { checkResponses } from "./fake-provider-responses.ts";

const hasKeyword = (schema: unknown, keyword: string): boolean =>
  isFields(schema)
    ? keyword in schema || Object.values(schema).some((inner) => hasKeyword(inner, keyword))
    : Array.isArray(schema) && schema.some((inner) => hasKeyword(inner, keyword));

// ---------------------------------------------------------------- Anthropic

const blockKeys: Readonly<Record<string, string>> = {
  text: "type text cache_control",
  image: "type source cache_control",
  document: "type source title cache_control",
  thinking: "type thinking signature",
  redacted_thinking: "type data",
  tool_use: "type id name input cache_control",
  tool_result: "type tool_use_id content is_error cache_control",
};

const checkBlock = (value: unknown, where: string): string | null => {
  if (!isFields(value)) return `${where}: not an object`;
  const keys = blockKeys[String(value["type"])];
  if (keys === undefined) return `${where}.type: unknown ${String(value["type"])}`;
  const extra = keysBeside(value, keys);
  return first(
    () => extra !== undefined && `${where}.${extra}: Extra inputs are not permitted`,
    () =>
      value["type"] === "text" && isBlank(value["text"]) && `${where}: text content blocks must be non-empty`,
    () =>
      value["type"] === "thinking" &&
      value["signature"] !== signatureFor(String(value["thinking"])) &&
      `${where}: Invalid \`signature\` in \`thinking\` block`,
    () => value["type"] === "tool_use" && !idPattern.test(String(value["id"])) && `${where}.id: invalid`,
    () =>
      value["type"] === "tool_use" && !namePattern.test(String(value["name"])) && `${where}.name: invalid`,
    () => value["type"] === "tool_use" && !isFields(value["input"]) && `${where}.input: not an object`,
    () => value["type"] === "tool_result" && checkResult(value, where),
    () => isFields(value["source"]) && checkSource(value["source"], `${where}.source`),
    () =>
      "title" in value &&
      (isBlank(value["title"]) || String(value["title"]).length > 500) &&
      `${where}.title: invalid`,
    () => value["type"] === "redacted_thinking" && isBlank(value["data"]) && `${where}.data: invalid`,
  );
};

const checkSource = ({ type, data, url }: Fields, where: string): string | null => {
  if (type === "url") return URL.canParse(String(url)) ? null : `${where}.url: invalid`;
  if (isBlank(data)) return `${where}.data: cannot be empty`;
  return type === "base64" && !isBase64(String(data)) ? `${where}.data: invalid base64 data` : null;
};

const checkResult = (value: Fields, where: string): string | null => {
  const blocks = list(value["content"]);
  if (value["is_error"] === true && blocks.some((block) => isFields(block) && block["type"] !== "text"))
    return `${where}: all content must be type "text" if "is_error" is true`;
  if (value["is_error"] === true && blocks.length === 0 && isBlank(value["content"]))
    return `${where}: content cannot be empty if "is_error" is true`;
  if ("content" in value && typeof value["content"] !== "string" && blocks.length === 0)
    return `${where}.content: empty`;
  return each(blocks, (block, at) => checkBlock(block, `${where}.content.${at}`));
};

const idsOf = (message: unknown, type: string, key: string): string[] =>
  list(isFields(message) ? message["content"] : [])
    .filter(isFields)
    .filter((block) => block["type"] === type)
    .map((block) => String(block[key]));

const checkPairs = (messages: readonly unknown[]): string | null => {
  const seen = new Set<string>();
  return each(messages, (message, at) => {
    const called = idsOf(message, "tool_use", "id");
    const repeated = called.find((id) => seen.has(id));
    for (const id of called) seen.add(id);
    const answered = idsOf(messages[at + 1], "tool_result", "tool_use_id");
    const asked = at > 0 ? idsOf(messages[at - 1], "tool_use", "id") : [];
    const given = idsOf(message, "tool_result", "tool_use_id");
    const blocks = list(isFields(message) ? message["content"] : []).filter(isFields);
    const late = blocks.findIndex(
      (block, n) => block["type"] === "tool_result" && n > 0 && blocks[n - 1]?.["type"] !== "tool_result",
    );
    return first(
      () => repeated !== undefined && `messages.${at}: tool_use ids must be unique (${repeated})`,
      () =>
        called.some((id) => !answered.includes(id)) &&
        `messages.${at}: tool_use ids were found without tool_result blocks immediately after`,
      () =>
        given.some((id) => !asked.includes(id)) &&
        `messages.${at}: unexpected tool_use_id in tool_result blocks`,
      () => new Set(given).size < given.length && `messages.${at}: each tool_use must have a single result`,
      () => late >= 0 && `messages.${at}.content.${late}: tool_result blocks must lead`,
    );
  });
};

const breakpoints = (value: unknown): number => {
  if (Array.isArray(value)) return value.reduce<number>((sum, inner) => sum + breakpoints(inner), 0);
  if (!isFields(value)) return 0;
  const inner = Object.entries(value).filter(([key]) => key !== "cache_control" && key !== "input");
  return ("cache_control" in value ? 1 : 0) + breakpoints(inner.map(([, field]) => field));
};

const anthropicKeys =
  "model max_tokens messages system tools tool_choice stream thinking output_config temperature top_p top_k stop_sequences metadata service_tier";

/** The replies of the tool loop that goes on, which the API takes for one: each is followed by results. */
const loopOf = (messages: readonly unknown[]): readonly unknown[] => {
  const hasResults = (message: unknown): boolean => idsOf(message, "tool_result", "tool_use_id").length > 0;
  const before = messages.findLastIndex((message, at) => at % 2 === 0 && !hasResults(message));
  return messages.slice(before + 1).filter((_, at) => at % 2 === 0);
};

const checkThinking = (body: Fields): string | null => {
  const thinking = isFields(body["thinking"]) ? body["thinking"] : {};
  const on = thinking["type"] === "enabled" || thinking["type"] === "adaptive";
  const choice = isFields(body["tool_choice"]) ? body["tool_choice"]["type"] : "auto";
  const budget = Number(thinking["budget_tokens"]);
  const loop = loopOf(list(body["messages"]));
  const blocks = loop.map((message) => list(isFields(message) ? message["content"] : []).filter(isFields));
  const isThinking = (block: Fields | undefined): boolean => String(block?.["type"]).includes("thinking");
  const thinksUnasked = !/claude-\w+-4/.test(String(body["model"]));
  return first(
    () => thinking["type"] === "enabled" && !(budget >= 1024) && "thinking.budget_tokens: must be ≥ 1024",
    () =>
      thinking["type"] === "enabled" &&
      budget >= Number(body["max_tokens"]) &&
      "max_tokens: must be greater than thinking.budget_tokens",
    () =>
      thinking["type"] === "enabled" &&
      blocks[0] !== undefined &&
      !isThinking(blocks[0][0]) &&
      "Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block",
    () =>
      !on &&
      !thinksUnasked &&
      blocks.some((each) => each.some(isThinking)) &&
      "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`",
    () => on && body["temperature"] !== undefined && "temperature: may only be 1 when thinking is enabled",
    () =>
      on &&
      (choice === "any" || choice === "tool") &&
      "Thinking may not be enabled when tool_choice forces tool use",
  );
};

const keyPattern = /^[a-zA-Z0-9_.-]{1,64}$/;

const checkAnthropic = (body: Fields): string | null => {
  const messages = list(body["messages"]);
  const extra = keysBeside(body, anthropicKeys);
  const roles = messages.map((message) => (isFields(message) ? message["role"] : undefined));
  const tools = list(body["tools"]).filter(isFields);
  const names = tools.map((tool) => String(tool["name"]));
  return first(
    () => extra !== undefined && `${extra}: Extra inputs are not permitted`,
    () => typeof body["model"] !== "string" && "model: Field required",
    () =>
      !(Number.isInteger(body["max_tokens"]) && Number(body["max_tokens"]) > 0) &&
      "max_tokens: Field required",
    () => messages.length === 0 && "messages: at least one message is required",
    () => roles[0] !== "user" && "messages: first message must use the user role",
    () => roles.at(-1) === "assistant" && "This model does not support assistant message prefill",
    () =>
      roles.some((role, at) => role !== "user" && role !== "assistant" && `${at}`) &&
      "messages: unknown role",
    () => roles.some((role, at) => at > 0 && role === roles[at - 1]) && "messages: roles must alternate",
    () =>
      each(messages, (message, at) => {
        const blocks = list((message as Fields)["content"]);
        if (blocks.length === 0) return `messages.${at}: all messages must have non-empty content`;
        return each(blocks, (block, n) => checkBlock(block, `messages.${at}.content.${n}`));
      }),
    () => checkPairs(messages),
    () => "system" in body && each(list(body["system"]), (block, at) => checkBlock(block, `system.${at}`)),
    () => new Set(names).size < names.length && "tools: Tool names must be unique",
    () => names.some((name) => !namePattern.test(name)) && "tools: invalid name",
    () =>
      tools.some(
        (tool) => keysBeside(tool, "name description input_schema cache_control type strict") !== undefined,
      ) && "tools: Extra inputs are not permitted",
    () =>
      tools.some((tool) => !isFields(tool["input_schema"]) || tool["input_schema"]["type"] !== "object") &&
      "tools.input_schema.type: must be object",
    () =>
      tools.some((tool) => {
        const { properties } = tool["input_schema"] as Fields;
        return isFields(properties) && !Object.keys(properties).every((key) => keyPattern.test(key));
      }) && "tools.custom.input_schema.properties: Property keys should match pattern",
    () =>
      "tool_choice" in body &&
      tools.length === 0 &&
      "tool_choice may only be specified while providing tools",
    () =>
      tools.length === 0 &&
      messages.some((message) => idsOf(message, "tool_use", "id").length > 0) &&
      "Requests which include `tool_use` or `tool_result` blocks must define tools",
    () =>
      breakpoints([body["tools"], body["system"], messages]) > 4 &&
      "A maximum of 4 blocks with cache_control",
    () => "temperature" in body && "top_p" in body && "`temperature` and `top_p` cannot both be specified",
    () => checkThinking(body),
  );
};

// ---------------------------------------------------------------- chat completions

/** Kinds that are asked over chat completions. */
export type ChatKind = Exclude<Kind, "anthropic" | "responses">;

const chatKeys =
  "model messages tools tool_choice stream stream_options temperature top_p reasoning_effort response_format parallel_tool_calls";
const extraKeys: Readonly<Record<ChatKind, string>> = {
  openai: "max_completion_tokens store prompt_cache_key stop presence_penalty frequency_penalty",
  grok: "max_completion_tokens max_tokens",
  gemini: "max_completion_tokens max_tokens stop",
  compatible: "max_tokens max_completion_tokens stop",
};
const chatRoleKeys: Readonly<Record<string, string>> = {
  system: "role content",
  developer: "role content",
  user: "role content name",
  assistant: "role content tool_calls refusal reasoning_content reasoning_details",
  tool: "role content tool_call_id",
};

const checkCall = (value: unknown, kind: Kind, where: string): string | null => {
  if (!isFields(value) || !isFields(value["function"])) return `${where}: invalid tool call`;
  const { name, arguments: args } = value["function"] as { name?: unknown; arguments?: unknown };
  const extra = isFields(value["extra_content"]) ? value["extra_content"]["google"] : undefined;
  const signature = isFields(extra) ? extra["thought_signature"] : undefined;
  return first(
    () => (isBlank(value["id"]) || String(value["id"]).length > 40) && `${where}.id: invalid`,
    () => value["type"] !== "function" && `${where}.type: invalid`,
    () => !namePattern.test(String(name)) && `${where}.function.name: does not match the pattern`,
    () => !isJsonObject(args) && `${where}.function.arguments: not a JSON object`,
    () =>
      kind === "gemini" && typeof signature !== "string" && "Function call is missing a thought_signature",
    () => kind !== "gemini" && "extra_content" in value && `${where}.extra_content: Extra inputs`,
  );
};

const checkContentPart = (value: unknown, where: string): string | null => {
  if (!isFields(value)) return `${where}: not an object`;
  const { type, image_url: image, file } = value;
  if (type === "text") return typeof value["text"] === "string" ? null : `${where}.text: not a string`;
  if (type === "file")
    return isFields(file) ? checkDataUrl(String(file["file_data"]), where) : `${where}.file: missing`;
  const url = isFields(image) ? String(image["url"]) : "";
  return url.startsWith("data:")
    ? checkDataUrl(url, where)
    : URL.canParse(url)
      ? null
      : `${where}: invalid URL`;
};

const checkChatMessage = (value: unknown, at: number, kind: Kind): string | null => {
  const where = `messages[${at}]`;
  if (!isFields(value)) return `${where}: not an object`;
  const { role, content } = value as { role?: unknown; content?: unknown };
  const keys = chatRoleKeys[String(role)];
  if (keys === undefined) return `${where}.role: invalid`;
  const extra = keysBeside(value, keys);
  const calls = value["tool_calls"];
  return first(
    () => extra !== undefined && `${where}.${extra}: unknown field`,
    () =>
      (role === "system" || role === "developer") &&
      at > 0 &&
      `${where}: only the first message may be ${role}`,
    () => role === "user" && !Array.isArray(content) && isBlank(content) && `${where}.content: empty`,
    () => role === "user" && Array.isArray(content) && content.length === 0 && `${where}.content: empty`,
    () => each(list(content), (part, n) => checkContentPart(part, `${where}.content[${n}]`)),
    () => role === "tool" && isBlank(value["tool_call_id"]) && `${where}.tool_call_id: invalid`,
    () =>
      each(list(value["reasoning_details"]), (detail) =>
        isFields(detail) ? null : `${where}.reasoning_details: invalid`,
      ),
    () => role === "tool" && typeof content !== "string" && `${where}.content: not a string`,
    () => role === "assistant" && content !== null && isBlank(content) && `${where}.content: empty`,
    () =>
      role === "assistant" && content === null && calls === undefined && `${where}: content or tool_calls`,
    () => calls !== undefined && list(calls).length === 0 && `${where}.tool_calls: empty array`,
    () => each(list(calls), (call, n) => checkCall(call, kind, `${where}.tool_calls[${n}]`)),
  );
};

const checkChatPairs = (messages: readonly Fields[]): string | null => {
  let open = new Set<string>();
  const seen = new Set<string>();
  for (const message of messages) {
    if (message["role"] === "tool") {
      if (!open.delete(String(message["tool_call_id"])))
        return "messages with role 'tool' must be a response to a preceding message with 'tool_calls'";
      continue;
    }
    if (open.size > 0)
      return "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'";
    const ids = list(message["tool_calls"]).map((call) => String((call as Fields)["id"]));
    if (ids.some((id) => seen.has(id)) || new Set(ids).size < ids.length)
      return "tool call ids must be unique";
    for (const id of ids) seen.add(id);
    open = new Set(ids);
  }
  return open.size > 0 ? "tool messages are missing at the end" : null;
};

const minimalOnly = ["$schema", "$ref", "$defs", "additionalProperties", "oneOf", "allOf", "const", "not"];
const refusedKeywords: Readonly<Record<ChatKind, readonly string[]>> = {
  openai: [],
  compatible: [],
  grok: ["maxLength", "minLength", "maxItems", "minItems"],
  gemini: minimalOnly,
};

const checkTools = (body: Fields, kind: ChatKind): string | null => {
  const tools = list(body["tools"]).map((tool) => (isFields(tool) ? tool["function"] : undefined));
  const names = tools.map((tool) => String(isFields(tool) ? tool["name"] : ""));
  const refused = refusedKeywords[kind].find((keyword) =>
    tools.some((tool) => isFields(tool) && hasKeyword(tool["parameters"], keyword)),
  );
  return first(
    () => "tools" in body && tools.length === 0 && "tools: empty array",
    () => names.some((name) => !namePattern.test(name)) && "tools: function name does not match the pattern",
    () => new Set(names).size < names.length && "tools: names must be unique",
    () =>
      tools.some((tool) => !isFields(tool) || !isFields(tool["parameters"])) && "tools: invalid parameters",
    () =>
      kind === "openai" &&
      tools.some((tool) => isFields(tool) && !isFields((tool["parameters"] as Fields)["properties"])) &&
      "Invalid schema for function: In context=(), object schema missing properties.",
    () =>
      tools.some((tool) => isFields(tool) && lacksItems(tool["parameters"], kind)) &&
      "Invalid schema for function: array schema missing items.",
    () => refused !== undefined && `tools: Unknown name "${refused}": Cannot find field`,
    () =>
      "tool_choice" in body && tools.length === 0 && "tool_choice is only allowed when tools are specified",
  );
};

const checkChat = (body: Fields, kind: ChatKind): string | null => {
  const messages = list(body["messages"]);
  const extra = keysBeside(body, `${chatKeys} ${extraKeys[kind]}`);
  const cap = body["max_tokens"] ?? body["max_completion_tokens"];
  return first(
    () => extra !== undefined && `Unrecognized request argument supplied: ${extra}`,
    () => typeof body["model"] !== "string" && "you must provide a model parameter",
    () => messages.length === 0 && "messages: empty array",
    () => "max_tokens" in body && "max_completion_tokens" in body && "set one of the two token fields",
    () => cap !== undefined && !(Number.isInteger(cap) && Number(cap) > 0) && "max tokens: invalid",
    () => "stream_options" in body && body["stream"] !== true && "stream_options needs stream",
    () => each(messages, (message, at) => checkChatMessage(message, at, kind)),
    () => checkChatPairs(messages as readonly Fields[]),
    () => (messages.at(-1) as Fields)["role"] === "assistant" && "the last message is the assistant's",
    () => checkTools(body, kind),
  );
};

const checkDialect = (body: Fields, kind: Kind): string | null => {
  if (kind === "anthropic") return checkAnthropic(body);
  return kind === "responses" ? checkResponses(body) : checkChat(body, kind);
};

/** The first thing in a request's body that the real API would refuse, or null. */
export const checkBody = (body: unknown, kind: Kind): string | null => {
  if (!isFields(body)) return "the body is not a JSON object";
  return jsonFault(body) ?? checkDialect(body, kind);
};
