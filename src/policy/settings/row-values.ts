import { parseExpression } from '../../sql/parse.ts';
import { tokenReader, type Token } from '../../sql/parse/tokens.ts';
import { SqlError } from '../../sql/values/sql-error.ts';

/** Values of a caller that the SQL of a row filter may name. */
export interface RowValues {
  readonly subject: string;
  readonly groups: readonly string[];
  readonly roles: readonly string[];
  /** Of the context only what the caller did not choose. */
  readonly context: ReadonlyMap<string, string>;
}

const nobody: RowValues = { subject: '', groups: [], roles: [], context: new Map() };

/** Values of `principal`; lists stand in `IN (…)` only. */
const principalValues: Readonly<Record<string, (values: RowValues) => string | readonly string[]>> =
  {
    subject: ({ subject }) => subject,
    groups: ({ groups }) => groups,
    roles: ({ roles }) => roles,
  };

/** In every text that names a value of the caller. */
const NAMES_CALLER = /principal|ctx/i;

/**
 * The SQL of a row filter with the values of a caller as literals. An absent value and an empty list
 * are NULL, so that no row passes for want of a value.
 * @throws SqlError for what is not SQL, or names a value that does not exist
 */
export function withRowValues(sql: string, values: RowValues): string {
  if (!NAMES_CALLER.test(sql)) return sql;
  const characters = Array.from(sql);
  const tokens = tokensOf(sql);
  const parts: string[] = [];
  let done = 0;
  for (let at = 0; at < tokens.length; at++) {
    const literal = literalAt(tokens, at, values);
    if (literal === undefined) continue;
    const end = tokens[at + 3]?.position ?? characters.length + 1;
    parts.push(characters.slice(done, tokens[at]!.position - 1).join(''), literal, ' ');
    done = end - 1;
    at += 2;
  }
  parts.push(characters.slice(done).join(''));
  return parts.join('');
}

/** The SQL of a row filter for an unknown caller: the subject is an empty text, every other value is NULL. */
export function withoutCaller(sql: string): string {
  return withRowValues(sql, nobody);
}

/** Whether the SQL of a row filter names values of the caller. */
export function isOfCaller(sql: string): boolean {
  return withoutCaller(sql) !== sql;
}

/** The fault in the SQL of a row filter that any table would show; undefined if there is none. */
export function rowFilterFault(sql: string): string | undefined {
  try {
    parseExpression(withoutCaller(sql));
    return undefined;
  } catch (error) {
    if (!(error instanceof SqlError)) throw error;
    return `rows cannot be read: ${error.message}`;
  }
}

function tokensOf(sql: string): readonly Token[] {
  const next = tokenReader(sql);
  const tokens: Token[] = [];
  for (let token = next(); token.kind !== 'end'; token = next()) tokens.push(token);
  return tokens;
}

/** The literal of `principal.NAME` or `ctx.NAME` that begins at a token; undefined if none does. */
function literalAt(tokens: readonly Token[], at: number, values: RowValues): string | undefined {
  const [token, dot, name] = [tokens[at]!, tokens[at + 1], tokens[at + 2]];
  if (token.kind !== 'name' || isSymbol(tokens[at - 1], '.')) return undefined;
  const of = token.text.toLowerCase();
  if (of !== 'principal' && of !== 'ctx') return undefined;
  if (!isSymbol(dot, '.') || (name?.kind !== 'name' && name?.kind !== 'quoted')) {
    throw new SqlError(
      'syntax',
      `expected a name after ${of}, such as ${sample[of]}`,
      token.position,
    );
  }
  if (isSymbol(tokens[at + 3], '.')) {
    throw new SqlError('syntax', `${of}.${name.text} has no parts`, token.position);
  }
  if (of === 'ctx') return literalOf(values.context.get(name.text.toLowerCase()));
  const value = Object.hasOwn(principalValues, name.text)
    ? principalValues[name.text]!(values)
    : undefined;
  if (value === undefined) {
    const names = Object.keys(principalValues).join(', ');
    throw new SqlError('syntax', `principal has ${names}, not ${name.text}`, token.position);
  }
  if (typeof value === 'string') return literalOf(value);
  if (!isListed(tokens, at)) {
    const text = `principal.${name.text} is a list: it stands in IN (principal.${name.text})`;
    throw new SqlError('syntax', text, token.position);
  }
  return value.length === 0 ? 'NULL' : value.map(literalOf).join(', ');
}

const sample = { principal: 'principal.subject', ctx: 'ctx.region' };

/** Whether the value at a token is all that stands in `IN ( … )`. */
function isListed(tokens: readonly Token[], at: number): boolean {
  const [word, open, close] = [tokens[at - 2], tokens[at - 1], tokens[at + 3]];
  const isIn = word?.kind === 'name' && word.text.toLowerCase() === 'in';
  return isIn && isSymbol(open, '(') && isSymbol(close, ')');
}

function isSymbol(token: Token | undefined, text: string): boolean {
  return token?.kind === 'symbol' && token.text === text;
}

function literalOf(value: string | undefined): string {
  return value === undefined ? 'NULL' : `'${value.replaceAll("'", "''")}'`;
}
