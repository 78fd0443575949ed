import { describeModel, priceOf } from "../model/catalogue.ts";
import type { Catalogue } from "./draft.ts";

/** What the product knows of models. */
export const productCatalogue: Catalogue = (kind, model) => ({
  window: describeModel(kind, model).window,
  price: priceOf(kind, model),
});
