import type { Afterword, Stop, Verdict } from "./guard.ts";

/** What guards give back, which anybody may have written (EF-44). */

const isText = (value: unknown): boolean => typeof value === "string";
const isTextOrAbsent = (value: unknown): boolean => value === undefined || isText(value);

const isMoment = (until: unknown): boolean => until === undefined || Number.isFinite(until);

const isLoop = (loop: Stop["loop"] | null): boolean =>
  loop === undefined ||
  (loop !== null && isText(loop.detector) && Number.isFinite(loop.count) && isText(loop.message));

const ends: readonly unknown[] = [undefined, "tool_loop", "no_progress", "budget_exceeded"];

const isStop = ({ reason, loop, end, exhausted }: Stop): boolean =>
  isText(reason) &&
  isLoop(loop) &&
  ends.includes(end) &&
  (exhausted === undefined || typeof exhausted === "boolean");

const isVerdict = (given: Verdict | null | undefined): boolean => {
  if (given == null) return false;
  switch (given.do) {
    case "allow":
      return isMoment(given.until);
    case "warn":
      return (given.note === null || isText(given.note)) && isLoop(given.loop) && isMoment(given.until);
    case "veto":
      return isText(given.reason) && isLoop(given.loop);
    case "stop":
      return isStop(given);
    default:
      return false;
  }
};

/** Guards answer at once: what a promise brings later is nobody's. */
const promiseDropped = (given: unknown): boolean => {
  if (typeof given !== "object" || given === null || !("then" in given)) return false;
  void Promise.resolve(given).catch(() => {});
  return true;
};

/** A guard's verdict; throws if it is none. Its state is checked where it is stored. */
export const checkedVerdict = (given: Verdict): Verdict => {
  if (promiseDropped(given) || !isVerdict(given))
    throw new Error(
      "before gives back no verdict: allow, warn (with note), veto or stop (with reason); until is a moment, loop names detector, count and message",
    );
  return given;
};

const isAfterword = (given: unknown): given is Afterword => {
  if (typeof given !== "object" || given === null || promiseDropped(given)) return false;
  const { note, stop } = given as Partial<Afterword>;
  return isTextOrAbsent(note) && (stop === undefined || (stop !== null && isStop(stop)));
};

const silence: Afterword = {};

/** What a guard says once a call has its outcome; throws if that is nothing it may say. */
export const checkedAfterword = (given: Afterword | null | undefined): Afterword => {
  if (given == null) return silence;
  if (!isAfterword(given))
    throw new Error("after gives back something else than note, state and stop (with reason)");
  return given;
};
