import { plainTraits } from "./profile.ts";
import type { Profile } from "./profile.ts";

/** Anthropic takes the key as a bearer token, like its SDK; `auth: x-api-key` sends it in that header. */
export const anthropic: Profile = {
  kind: "anthropic",
  protocol: "anthropic-messages",
  baseUrl: "https://api.anthropic.com",
  auth: "bearer",
  traits: () => ({ ...plainTraits, efforts: ["low", "medium", "high", "xhigh", "max"] }),
};
