import type { Purpose } from "../model/completer.ts";
import type { Run } from "./state.ts";

/** What a run's model calls are for. */
export const purposeOf = ({ repair, announces }: Pick<Run, "repair" | "announces">): Purpose => {
  if (repair) return "repair";
  return announces ? "announce" : "turn";
};
