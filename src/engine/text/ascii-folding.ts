/** Letters that Unicode takes for letters of their own, not for ones of ASCII with a mark. */
const letters: ReadonlyMap<string, string> = new Map(
  Object.entries({
    Æ: 'AE',
    Ð: 'D',
    Ø: 'O',
    Þ: 'TH',
    ß: 'ss',
    ẞ: 'SS',
    æ: 'ae',
    ð: 'd',
    ø: 'o',
    þ: 'th',
    Đ: 'D',
    đ: 'd',
    Ħ: 'H',
    ħ: 'h',
    ı: 'i',
    ĸ: 'k',
    Ł: 'L',
    ł: 'l',
    Ŋ: 'N',
    ŋ: 'n',
    Œ: 'OE',
    œ: 'oe',
    Ŧ: 'T',
    ŧ: 't',
  }),
);

const BEYOND_ASCII = /\P{ASCII}/u;

/** A text with letters of ASCII in place of those that are made of one; other letters stay as they are. */
export function foldToAscii(text: string): string {
  if (!BEYOND_ASCII.test(text)) return text;
  let folded = '';
  for (const letter of text) folded += foldedLetter(letter);
  return folded;
}

function foldedLetter(letter: string): string {
  if (letter < '\x80') return letter;
  let folded = '';
  for (const part of letter.normalize('NFKD')) {
    folded += part < '\x80' ? part : (letters.get(part) ?? '');
  }
  return folded === '' ? letter : folded;
}
