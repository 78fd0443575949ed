import { parseJson } from "../parts/json.ts";
import type { AskAnswer } from "./session.ts";
import { keepInTab, readTab } from "./tab.ts";

/** Which answers the server has not acknowledged, by their asks. */

export type KeptAnswers = Readonly<Record<string, AskAnswer>>;

const nameOf = (session: string): string => `limpet-answers ${session}`;

export const readKeptAnswers = (session: string): KeptAnswers => ({
  ...(parseJson(readTab(nameOf(session)) ?? "") as unknown as KeptAnswers | null),
});

export const keepAnswers = (session: string, answers: KeptAnswers): void =>
  keepInTab(nameOf(session), Object.keys(answers).length === 0 ? null : JSON.stringify(answers));
