/** The names of keys as they stand on the keyboard of this machine. */

const isApple = /mac|iphone|ipad/i.test("navigator" in globalThis ? navigator.platform : "");

/** Names a key that is pressed together with the command key. */
export const withCommand = (key: string, apple = isApple): string => (apple ? `⌘${key}` : `Ctrl ${key}`);

/** Names a key that is pressed together with the shift key. */
export const withShift = (key: string, apple = isApple): string => (apple ? `⇧${key}` : `Shift ${key}`);
