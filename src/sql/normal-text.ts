import { clockFunctions } from './functions/clock.ts';
import { tokenReader, type Token } from './parse/tokens.ts';
import { SqlError } from './values/sql-error.ts';

/**
 * An expression in one form for all spellings: words in lower case, one space between tokens. Texts that
 * mean the same may differ in it; a text that is no expression of this dialect keeps its words.
 */
export function normalText(text: string): string {
  const tokens = tokensOf(text);
  return tokens?.map(normalToken).join(' ') ?? text.trim().split(/\s+/).join(' ');
}

function normalToken({ kind, text }: Token): string {
  if (kind === 'name') return text.toLowerCase();
  if (kind === 'string') return `'${text.replaceAll("'", "''")}'`;
  if (kind === 'quoted') return `"${text.replaceAll('"', '""')}"`;
  return kind === 'binary' ? `x'${text.toLowerCase()}'` : text;
}

/**
 * Columns that an expression may read, found by their names alone: those of functions and of fields
 * inside a column do not count. All columns for a text that is no expression of this dialect.
 */
export function columnsNamed(text: string, columns: readonly string[]): readonly string[] {
  const tokens = tokensOf(text);
  if (tokens === undefined) return columns;
  const named = tokens.filter(({ kind }, at) => {
    if (kind === 'quoted') return tokens[at - 1]?.text !== '.';
    return kind === 'name' && tokens[at - 1]?.text !== '.' && tokens[at + 1]?.text !== '(';
  });
  const words = new Set(named.map((token) => token.text.toLowerCase()));
  return columns.filter((column) => words.has(column.toLowerCase()));
}

/**
 * Whether an expression may read the clock, so that its values depend on the moment; found by names alone. True for a
 * text that is no expression of this dialect.
 */
export function namesClock(text: string): boolean {
  const tokens = tokensOf(text);
  return tokens?.some((token) => Object.hasOwn(clockFunctions, token.text.toLowerCase())) ?? true;
}

/** Undefined for a text that has other tokens. */
function tokensOf(text: string): readonly Token[] | undefined {
  try {
    const next = tokenReader(text);
    const tokens: Token[] = [];
    for (let token = next(); token.kind !== 'end'; token = next()) tokens.push(token);
    return tokens;
  } catch (error) {
    if (error instanceof SqlError) return undefined;
    throw error;
  }
}
