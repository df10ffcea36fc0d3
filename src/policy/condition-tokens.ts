/** A piece of a condition: a mark (`==`, `!=`, `(`, `)`, `,`) or a word. */
export interface Token {
  readonly kind: 'mark' | 'word' | 'quoted';
  readonly text: string;
  /** Where it stands. */
  readonly start: number;
  readonly end: number;
}

/** What a word may hold without quotes. */
const TOKEN = /\s*(?:(==|!=|[(),])|'([^']*)'|"([^"]*)"|([^\s,()'"=!<>&|]+))/y;

/** The pieces of a condition, or what is wrong with it. */
export function tokensOf(text: string): readonly Token[] | string {
  const tokens: Token[] = [];
  const end = text.trimEnd().length;
  let at = 0;
  while (at < end) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (match === null) {
      const rest = text.slice(at).trim();
      return `the condition cannot be read from ${JSON.stringify(rest)} on`;
    }
    const [whole, mark, single, double, word] = match;
    const kind = mark !== undefined ? 'mark' : word !== undefined ? 'word' : 'quoted';
    const read = mark ?? single ?? double ?? word ?? '';
    const start = at + whole.length - whole.trimStart().length;
    at += whole.length;
    tokens.push({ kind, text: read, start, end: at });
  }
  return tokens;
}
