import { createConfig } from "./vitest.config.ts";

export default createConfig(true);
