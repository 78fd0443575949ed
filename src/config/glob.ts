/** Whether a text matches a pattern in which `*` stands for any run of characters; linear in practice, any case. */
export const matchesPattern = (pattern: string, text: string): boolean => {
  const wanted = pattern.toLowerCase();
  const given = text.toLowerCase();
  let at = 0;
  let star = -1;
  let mark = 0;
  let index = 0;
  while (index < given.length) {
    if (wanted[at] === "*") {
      star = at++;
      mark = index;
    } else if (wanted[at] === given[index]) {
      at += 1;
      index += 1;
    } else if (star === -1) return false;
    else {
      at = star + 1;
      index = ++mark;
    }
  }
  while (wanted[at] === "*") at += 1;
  return at === wanted.length;
};
