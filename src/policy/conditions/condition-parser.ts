import type { Condition } from './condition.ts';
import { isKeyed, type ReadTerm, type Term } from './kind.ts';
import { conditionKinds, type JudgedValues } from './kinds.ts';
import { ConditionFault, TermReader } from './term-reader.ts';

/** Either the condition (none if the text is blank), or one sentence that says what is wrong. */
export type ConditionResult =
  | { readonly condition: Condition | undefined }
  | { readonly fault: string };

/** Reads the `cond` column of a line. */
export function parseCondition(text: string): ConditionResult {
  try {
    const reader = new TermReader(text);
    if (reader.isAtEnd) return { condition: undefined };
    const terms = settled(termsOf(reader));
    const conflict = conflictIn(terms);
    if (conflict !== undefined) return { fault: `the condition can never hold: ${conflict}` };
    return { condition: { text: text.trim(), terms } };
  } catch (error) {
    if (error instanceof ConditionFault) return { fault: error.message };
    throw error;
  }
}

const [plain, keyed] = [false, true].map((one) =>
  conditionKinds.flatMap((kind) => (isKeyed(kind) === one ? [kind.variable] : [])),
);
const VARIABLES = `${plain!.join(', ')} and ${keyed!.join(' and ')}`;

function termsOf(reader: TermReader): readonly ReadTerm<JudgedValues>[] {
  const terms = [termOf(reader)];
  while (!reader.isAtEnd) {
    reader.word('and', 'terms are joined by and');
    terms.push(termOf(reader));
  }
  return terms;
}

function termOf(reader: TermReader): ReadTerm<JudgedValues> {
  const { kind, text } = reader.next(`a term begins with one of ${VARIABLES}`);
  for (const one of kind === 'word' ? conditionKinds : []) {
    const term = one.readTerm(text, reader);
    if (term !== undefined) return term;
  }
  throw new ConditionFault(`unknown variable ${JSON.stringify(text)}: there are ${VARIABLES}`);
}

function settled(terms: readonly ReadTerm<JudgedValues>[]): readonly Term<JudgedValues>[] {
  const zones = new Set(terms.flatMap(({ zone }) => zone ?? []));
  return terms.map((term) => term.settle(zones));
}

/** Why no circumstances could make all terms true; undefined if some can. */
function conflictIn(terms: readonly Term<JudgedValues>[]): string | undefined {
  for (const name of new Set(terms.map(({ group }) => group))) {
    const group = terms.filter((term) => term.group === name);
    const [first] = group;
    if (first !== undefined && group.length > 1 && !first.canMeet(group)) {
      return `no ${first.variable} satisfies ${group.map(({ text }) => text).join(' and ')}`;
    }
  }
  return undefined;
}
