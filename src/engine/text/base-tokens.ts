/** Is given a piece of a text, and which piece of it that is. */
export type OnToken = (token: string, position: number) => void;

/** How texts are cut into pieces before anything is done to these. */
export type BaseTokenizer = (text: string, visit: OnToken) => void;

/** Letters and digits of any script, as Unicode knows them. */
const WORD = /[\p{Alphabetic}\p{N}]/u;
/** What is known of the units of the first plane: 0 for not asked yet, 1 for a part of a word, 2 for none. */
const units = new Uint8Array(0x10000);

/** Runs of letters and digits. */
export function simpleTokens(text: string, visit: OnToken): void {
  let position = 0;
  let start = -1;
  for (let at = 0; at < text.length;) {
    const unit = text.charCodeAt(at);
    const width = isPair(unit) ? 2 : 1;
    if (width === 1 ? isWordUnit(unit) : WORD.test(text.slice(at, at + 2))) {
      if (start < 0) start = at;
    } else if (start >= 0) {
      visit(text.slice(start, at), position++);
      start = -1;
    }
    at += width;
  }
  if (start >= 0) visit(text.slice(start), position);
}

function isPair(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

function isWordUnit(unit: number): boolean {
  const known = units[unit]!;
  if (known !== 0) return known === 1;
  const isWord = WORD.test(String.fromCharCode(unit));
  units[unit] = isWord ? 1 : 2;
  return isWord;
}

/** What stands between blanks, tabs and line ends of ASCII. */
export function whitespaceTokens(text: string, visit: OnToken): void {
  let position = 0;
  for (const token of text.split(/[ \t\n\f\r]+/)) {
    if (token !== '') visit(token, position++);
  }
}

/** The text as it is. */
export function rawTokens(text: string, visit: OnToken): void {
  visit(text, 0);
}

/** All runs of so many characters, blanks and signs included; each stands where it begins. */
export function ngramTokens(least: number, most: number, prefixOnly: boolean): BaseTokenizer {
  return (text, visit) => {
    const characters = Array.from(text);
    const starts = prefixOnly ? Math.min(1, characters.length) : characters.length;
    for (let start = 0; start < starts; start++) {
      const longest = Math.min(most, characters.length - start);
      for (let length = least; length <= longest; length++) {
        visit(characters.slice(start, start + length).join(''), start);
      }
    }
  };
}
