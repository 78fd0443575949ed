import { parseJson } from "../parts/json.ts";
import type { AskAnswer } from "./session.ts";
import { keepInTab, ownName, readTab } from "./tab.ts";

/** Which answers the server has not acknowledged, by their asks. */

export type KeptAnswers = Readonly<Record<string, AskAnswer>>;

/** Names where the answers in a session are kept. */
export const answersPlace = (session: string): string => ownName(`limpet-answers ${session}`);

export const readKeptAnswers = (place: string): KeptAnswers => ({
  ...(parseJson(readTab(place) ?? "") as unknown as KeptAnswers | null),
});

export const keepAnswers = (place: string, answers: KeptAnswers): void =>
  keepInTab(place, Object.keys(answers).length === 0 ? null : JSON.stringify(answers));
