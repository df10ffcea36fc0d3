import { blocksMeet } from './address.ts';
import {
  isWithin,
  variableOf,
  type AddressTerm,
  type DayTerm,
  type Term,
  type TimeTerm,
  type ValueTerm,
} from './term.ts';

const MINUTES = Array.from({ length: 24 * 60 }, (_, minute) => minute);

/** Why no circumstances could make all terms true; undefined if some can. */
export function conflictIn(terms: readonly Term[]): string | undefined {
  const names = new Set(terms.map(groupOf));
  for (const name of names) {
    const group = terms.filter((term) => groupOf(term) === name);
    if (group.length > 1 && !canMeet(group)) {
      return `no ${variableOf(group[0]!)} satisfies ${group.map(({ text }) => text).join(' and ')}`;
    }
  }
  return undefined;
}

/** Terms about the same variable; times and days only if they are of the same zone. */
function groupOf(term: Term): string {
  return 'zone' in term ? `${term.kind} ${term.zone}` : variableOf(term);
}

function canMeet(group: readonly Term[]): boolean {
  return (
    addressesMeet(group.filter((term) => term.kind === 'ip')) &&
    timesMeet(group.filter((term) => term.kind === 'time')) &&
    daysMeet(group.filter((term) => term.kind === 'day')) &&
    valuesMeet(group.filter((term) => term.kind === 'value'))
  );
}

/** Two blocks that meet are one inside the other, so what all have in common is one of them. */
function addressesMeet(terms: readonly AddressTerm[]): boolean {
  if (terms.length === 0) return true;
  const blocks = terms.flatMap((term) => term.blocks);
  return blocks.some((block) =>
    terms.every((term) =>
      term.blocks.some((other) => other.prefix <= block.prefix && blocksMeet(other, block)),
    ),
  );
}

function timesMeet(terms: readonly TimeTerm[]): boolean {
  return MINUTES.some((minute) => terms.every((term) => isWithin(term, minute)));
}

function daysMeet(terms: readonly DayTerm[]): boolean {
  const [first, ...more] = terms;
  if (first === undefined) return true;
  return [...first.days].some((day) => more.every((term) => term.days.has(day)));
}

function valuesMeet(terms: readonly ValueTerm[]): boolean {
  const [first, ...more] = terms.filter(({ among }) => among);
  if (first === undefined) return true;
  const others = [...more, ...terms.filter(({ among }) => !among)];
  return [...first.values].some((value) =>
    others.every(({ values, among }) => values.has(value) === among),
  );
}
