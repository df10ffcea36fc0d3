import { excerpt, SqlError } from '../errors.ts';
import { flagsOf } from '../parse-regexp.ts';
import type { RegexpFlags } from '../regexp-tree.ts';
import type { FunctionCall } from './function-row.ts';
import { fitArgument } from './function-row.ts';

const noFlags: RegexpFlags = { ignoreCase: false, lines: false, dotAll: false };

/** The flags of a function, and whether `g` is among them. */
interface Flags {
  readonly flags: RegexpFlags;
  readonly global: boolean;
}

/** The flags that argument `at`, a literal such as `'i'`, has; a null is none. Throws SqlError `value` for other letters. */
export function flagsArgument(
  usage: string,
  { name, arguments: args }: FunctionCall,
  at: number,
  mayBeGlobal: boolean,
): Flags {
  const given = args[at - 1];
  const argument = given === undefined ? undefined : fitArgument(usage, 'text', given, at);
  if (argument === undefined || (argument.kind === 'literal' && argument.value === null)) {
    return { flags: noFlags, global: false };
  }
  const text =
    argument.kind === 'literal' && typeof argument.value === 'string' ? argument.value : undefined;
  const global = mayBeGlobal && text?.includes('g') === true;
  const letters = global ? text.replaceAll('g', '') : text;
  const flags =
    letters === undefined || letters.includes('-') ? undefined : flagsOf(letters, noFlags);
  if (flags === undefined) {
    const shown = text === undefined ? 'no literal' : `'${excerpt(text)}'`;
    const known = mayBeGlobal ? 'g, i, m and s' : 'i, m and s';
    const message = `expected the letters ${known} as the flags of ${name}, found ${shown}`;
    throw new SqlError('value', message, argument.position);
  }
  return { flags, global };
}
