import { Component, h } from "preact";
import type { ComponentChild, FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { serverNow } from "./format.ts";

/** What the regions stand on: stores, clocks, and components that stay as they are while their properties do. */

interface Source<T> {
  readonly get: () => T;
  readonly subscribe: (listener: () => void) => () => void;
}

/** Follows a store; many changes within a frame, or within `every` milliseconds, are one render. */
export const useStore = <T>({ get, subscribe }: Source<T>, every = 0): T => {
  const [, setShown] = useState(get);
  useEffect(() => {
    let frame = 0;
    let timer = 0;
    const show = (): void => {
      frame = 0;
      timer = 0;
      setShown(() => get());
    };
    const schedule = (): void => {
      if (every > 0) timer ||= window.setTimeout(show, every);
      // A hidden page gets no frames.
      else if (document.hidden) show();
      else frame ||= requestAnimationFrame(show);
    };
    show();
    const end = subscribe(schedule);
    return () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
      end();
    };
  }, [get, subscribe]);
  return get();
};

/** Says the server's time, again each so many milliseconds while `on`. */
export const useNow = (every: number, on = true): number => {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    if (!on) return undefined;
    setNow(serverNow());
    const timer = setInterval(() => setNow(serverNow()), every);
    return () => clearInterval(timer);
  }, [every, on]);
  return on ? Math.max(now, 0) : serverNow();
};

/** Follows a media query. */
export const useMedia = (query: string): boolean => {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const change = (): void => setMatches(list.matches);
    change();
    list.addEventListener("change", change);
    return () => list.removeEventListener("change", change);
  }, [query]);
  return matches;
};

const areEqual = (a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): boolean => {
  for (const key in a) if (!Object.is(a[key], b[key])) return false;
  for (const key in b) if (!(key in a)) return false;
  return true;
};

/** Renders a component again only when one of its properties is another value. */
export const memo = <P extends object>(render: FunctionComponent<P>): FunctionComponent<P> => {
  class Kept extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      return !areEqual({ ...this.props }, { ...next });
    }
    override render(): ComponentChild {
      return h(render, this.props as P);
    }
  }
  return Kept as unknown as FunctionComponent<P>;
};

/** Has the browser ask before the page is left, since something would be lost; returns how to stop it. */
export const askBeforeLeaving = (): (() => void) => {
  const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
  addEventListener("beforeunload", ask);
  return () => removeEventListener("beforeunload", ask);
};
