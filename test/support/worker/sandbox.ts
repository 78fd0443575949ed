import { env } from "cloudflare:test";
import { sandboxId } from "../../../src/sandbox/id.ts";
import type { Session } from "./session.ts";

/** The sandboxes of the test Worker's sessions, past the sessions themselves. */

const { SANDBOX } = env as unknown as { readonly SANDBOX: Fetcher };

const idOf = ({ id }: Session): string => sandboxId("test", { tenant: "default", jurisdiction: null }, id);

/** Breaks or mends the line to a session's sandbox, or asks how often it was used. */
export const line = async (what: "down" | "up" | "asked", session: Session): Promise<number> => {
  const answer = await SANDBOX.fetch(`http://sandbox/${what}/${idOf(session)}`);
  return (await answer.json<{ asked: number }>()).asked;
};

/** Writes a file under a key, as a router does that a session has sent there. */
export const writeUnder = async (
  session: Session,
  key: string,
  path: string,
  text: string,
  instance?: string,
): Promise<number> => {
  const address = `http://sandbox/v1/sandbox/${idOf(session)}/file/workspace/${path}`;
  const headers = {
    "Idempotency-Key": key,
    ...(instance === undefined ? {} : { "Sandbox-Instance": instance }),
  };
  return (await SANDBOX.fetch(address, { method: "PUT", headers, body: text })).status;
};

/** Places a skill in a session's sandbox, as the session does before it runs commands. */
export const placeSkillIn = async (session: Session, path: string, text: string): Promise<void> => {
  const body = JSON.stringify({ digest: "d", files: { [path]: text } });
  await SANDBOX.fetch(`http://sandbox/v1/sandbox/${idOf(session)}/skills`, { method: "PUT", body });
};

/** Ends a key in a session's sandbox, as the session's alarm does. */
export const endKeyIn = async (session: Session, key: string): Promise<void> => {
  const address = `http://sandbox/v1/sandbox/${idOf(session)}/fs/settle`;
  await SANDBOX.fetch(address, { method: "POST", body: JSON.stringify({ key }) });
};

/** Resolves when so many commands run in a session's sandbox. */
export const untilRunning = async (session: Session, count: number): Promise<void> => {
  for (;;) {
    const answer = await SANDBOX.fetch(`http://sandbox/running/${idOf(session)}`);
    if ((await answer.json<{ running: number }>()).running === count) return;
    await scheduler.wait(15);
  }
};
