import { describeModel } from "../model/catalogue.ts";
import type { ModelEntry } from "../model/catalogue.ts";
import type { ModelOverride } from "../model/schema.ts";
import type { ProviderConfig } from "./schema.ts";

/** Describes a provider's model from the catalogue, the team and `compat` together. */
export const describeProviderModel = (
  { kind, compat }: Pick<ProviderConfig, "kind" | "compat">,
  model: string,
  override?: ModelOverride,
): ModelEntry => {
  const entry = describeModel(kind, model, override);
  const images = entry.capabilities.images || compat.images;
  const strict_schema = entry.capabilities.strict_schema || compat.schema === "strict";
  return { ...entry, capabilities: { ...entry.capabilities, images, strict_schema } };
};
