import type { Static } from 'typebox';
import type { Mask } from '../../protocol/restrictions.ts';
import type { maskSchema } from './restrictions-schema.ts';

/** A mask as a policy file has it. */
export type WrittenMask = Static<typeof maskSchema>;

/** The parameter that a mask needs. */
const parameterOf: Readonly<Partial<Record<Mask['mask'], 'value' | 'n' | 'to'>>> = {
  constant: 'value',
  first: 'n',
  last: 'n',
  round: 'to',
};

/** The mask of a column. @param fault Takes each parameter that is missing or too many. */
export function readMask(column: string, entry: WrittenMask, fault: (text: string) => void): Mask {
  const mask = entry.mask ?? 'null';
  for (const key of ['value', 'n', 'to'] as const) {
    const [wanted, found] = [parameterOf[mask] === key, entry[key] !== undefined];
    if (wanted && !found) fault(`the mask ${mask} of ${column} has no ${key}`);
    if (found && !wanted) fault(`the mask ${mask} of ${column} takes no ${key}`);
  }
  const { value = '', n = 0, to = 1 } = entry;
  if (mask === 'constant') return { mask, value };
  if (mask === 'first' || mask === 'last') return { mask, n };
  return mask === 'round' ? { mask, to } : { mask };
}

/** How a column is seen, as a text: `hidden`, `sha256`, `last (3)`, `constant ("x")`. */
export function formatMask(as: Mask | 'hidden'): string {
  if (as === 'hidden') return as;
  if ('n' in as) return `${as.mask} (${as.n})`;
  if ('to' in as) return `${as.mask} (${as.to})`;
  return 'value' in as ? `${as.mask} (${JSON.stringify(as.value)})` : as.mask;
}
