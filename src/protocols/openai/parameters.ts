import type { Json } from "../../chat/message.ts";
import type { Effort, ModelRequest } from "../../model/completer.ts";
import { isStrictSchema } from "../../tools/schema/strict-schema.ts";
import { adaptSchema } from "../json-schema.ts";
import type { WireTarget } from "../protocol.ts";
import { effortOf, nearestEffort } from "../reasoning.ts";
import { hash8 } from "../tool-names.ts";

/** Parameters that both protocols of OpenAI share. */

/** Returns the effort to send, undefined for the model's own; adds to the dropped ones what the model cannot do. */
export const chooseEffort = (
  request: ModelRequest,
  { capabilities, traits }: WireTarget,
  droppedParameters: string[],
): Effort | undefined => {
  const wanted = effortOf(request);
  if (wanted === undefined) return undefined;
  if (capabilities.reasoning === "none" || traits.efforts.length === 0) {
    if (wanted !== "none") droppedParameters.push("reasoning");
    return undefined;
  }
  if (wanted === "none" && capabilities.reasoning_off) return "none";
  return nearestEffort(wanted, traits.efforts);
};

interface Sampling {
  readonly temperature?: number;
  readonly top_p?: number;
}

export const samplingOf = (
  { temperature, topP }: ModelRequest,
  target: WireTarget,
  droppedParameters: string[],
): Sampling => {
  if (target.capabilities.sampling)
    return { ...(temperature !== undefined && { temperature }), ...(topP !== undefined && { top_p: topP }) };
  if (temperature !== undefined) droppedParameters.push("temperature");
  if (topP !== undefined) droppedParameters.push("top_p");
  return {};
};

interface AnswerSchema {
  readonly name: string;
  readonly schema: Record<string, Json>;
  readonly strict: boolean;
}

/** Returns the schema to enforce, `json_object` for any object; undefined if the answer is free or the API cannot. */
export const answerSchemaOf = (
  { responseFormat }: ModelRequest,
  { capabilities, traits }: WireTarget,
): AnswerSchema | "json_object" | undefined => {
  if (responseFormat === undefined) return undefined;
  const { type, schema: asked } = responseFormat;
  if (type === "json_object" || asked === undefined) return "json_object";
  if (!capabilities.strict_schema) return undefined;
  const schema = adaptSchema(asked, traits.schema) as Record<string, Json>;
  return { name: "answer", schema, strict: isStrictSchema(asked) };
};

/** Returns the cache key of a thread, so that its calls hit the same cache; the key does not reveal the ids. */
export const cacheKeyOf = ({ context }: ModelRequest): string => {
  const thread = `${context.session}\n${context.thread}`;
  return `limpet-${hash8(thread)}${hash8(`${thread}\n`)}`;
};
