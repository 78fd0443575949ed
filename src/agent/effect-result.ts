import type { Json } from "../chat/message.ts";
import type { EffectResult, Inject, Overlay, Retire } from "./effect.ts";

/** Results of effects that anybody may have written. */

const isEdit = (edit: unknown): boolean => {
  if (typeof edit !== "object" || edit === null) return false;
  if ("inject" in edit) return typeof (edit as Inject).inject?.text === "string";
  if ("retire" in edit) return typeof (edit as Retire).retire?.from === "string";
  if (!("overlay" in edit)) return false;
  const text: unknown = (edit as Overlay).overlay?.text;
  return (
    typeof (typeof text === "function" ? (text as (recall: string) => unknown)("b0") : text) === "string"
  );
};

/** What an effect gave back, if it is what effects may give; throws what is wrong with it (EF-6, EF-44). */
export const checkedResult = (result: EffectResult<Json>): EffectResult<Json> => {
  const given: unknown = result;
  if (typeof given !== "object" || given === null) throw new Error("it gave back no result");
  const { edits = [], notify = [], tools, state } = result;
  if (!Array.isArray(edits) || !edits.every(isEdit))
    throw new Error("it gave back something else than edits");
  if (!Array.isArray(notify)) throw new Error("it gave back something else than notices");
  if (tools !== undefined && !Array.isArray(tools.hide)) throw new Error("tools.hide is no list of names");
  if (state !== undefined && typeof JSON.stringify(state) !== "string")
    throw new Error("its state is no JSON");
  return result;
};
