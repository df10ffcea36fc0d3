import { POLICY_FILE } from './policy-line.ts';

const RULE = new RegExp(`^${POLICY_FILE.replace('.', '\\.')}:([1-9][0-9]*)$`);

/** The number of the line that a rule names; undefined if it names none of `policy.csv`. */
export function lineOfRule(rule: string): number | undefined {
  const number = RULE.exec(rule)?.[1];
  return number === undefined ? undefined : Number(number);
}

/** The lines of a `policy.csv`, each the same for all ways to set spaces; the first is line 1. */
export function linesOfText(text: string): readonly string[] {
  return text.split('\n').map((line) =>
    line
      .split(',')
      .map((cell) => cell.trim())
      .join(', ')
      .trimEnd(),
  );
}
