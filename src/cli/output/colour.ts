/** Codes of ECMA-48 for the colours of a terminal. */
const codes = { bold: 1, red: 31, green: 32, yellow: 33 } as const;

export type Colour = keyof typeof codes;

/** A text in a colour. */
export function painted(text: string, colour: Colour): string {
  return `\u001b[${codes[colour]}m${text}\u001b[0m`;
}

/** Colour of a decision: only those that a reader looks for. */
export function decisionColour(decision: string): Colour | undefined {
  if (decision === 'allow') return 'green';
  return ['deny', 'refused', 'unauthenticated'].includes(decision) ? 'red' : 'yellow';
}
