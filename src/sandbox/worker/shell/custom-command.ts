import type { Bash } from "just-bash/browser";

type Options = NonNullable<ConstructorParameters<typeof Bash>[0]>;

type AnyCommand = NonNullable<Options["customCommands"]>[number];

/** A command that is added to the shell, or takes the place of one of its own. */
export type CustomCommand = Extract<AnyCommand, { execute: unknown }>;

export type CommandContext = Parameters<CustomCommand["execute"]>[1];

export type Result = Awaited<ReturnType<CustomCommand["execute"]>>;
