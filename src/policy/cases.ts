import { setImmediate as nextTurn } from 'node:timers/promises';
import { LineCounter, parseDocument } from 'yaml';
import { CaseReader, CASES_FILE, type PolicyCase } from './settings/case-reader.ts';
import { PolicyError, type PolicyFinding } from './lines/policy-error.ts';
import { decideBound, type BoundVerdict } from './decide/restricted-verdict.ts';
import type { PolicySnapshot } from './decide/snapshot.ts';
import { formatMask } from './settings/masks.ts';
import { columnsUnder } from './settings/restriction-book.ts';
import type { WrittenRestriction } from './settings/restrictions.ts';

/** Number of cases that are read or decided in one step; other work runs between steps. */
const TURN = 100;

/** Maximum number of failed cases in a refusal. */
const MAX_NAMED = 20;

/** Reads the text of a `cases.yaml` at once. @throws PolicyError for anything that is not understood: unknown keys too */
export function parseCases(text: string): readonly PolicyCase[] {
  return parsePart({ text, linesBefore: 0 });
}

/** The same in steps of a hundred cases, so that other work can run between them. @throws PolicyError */
export async function readCases(text: string): Promise<readonly PolicyCase[]> {
  const read: PolicyCase[] = [];
  try {
    for (const part of partsOf(text)) {
      read.push(...parsePart(part));
      await nextTurn();
    }
    return read;
  } catch (error) {
    // A fault in a part may be an alias of another part: only the whole text decides.
    if (error instanceof PolicyError) return parseCases(text);
    throw error;
  }
}

interface Part {
  readonly text: string;
  /** By how many lines the text begins later in the file. */
  readonly linesBefore: number;
}

function parsePart({ text, linesBefore }: Part): readonly PolicyCase[] {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const reader = new CaseReader(lines, linesBefore);
  const cases = reader.read(document);
  if (reader.findings.length > 0) throw new PolicyError(reader.findings);
  return cases;
}

/** Text that may precede a list that is read in parts. */
const HEAD = /^(?:[ \t]*(?:#.*)?\r?\n)*cases:[ \t]*(?:#.*)?\r?\n(?:[ \t]*(?:#.*)?\r?\n)*(?= *- )/;

/**
 * A file of cases as files of some cases each: a list in block style can be cut where an item
 * begins, since everything inside an item is indented further. Any other text is one part.
 */
function partsOf(text: string): readonly Part[] {
  const head = HEAD.exec(text)?.[0];
  if (head === undefined) return [{ text, linesBefore: 0 }];
  const lines = text.slice(head.length).split('\n');
  const item = `${/^ */.exec(lines[0]!)![0]}- `;
  const starts = lines.flatMap((line, at) => (line.startsWith(item) ? [at] : []));
  const cuts = starts.filter((_, at) => at % TURN === 0);
  const headLines = head.split('\n').length - 1;
  return cuts.map((start, at) => ({
    text: `cases:\n${lines.slice(start, cuts[at + 1]).join('\n')}`,
    linesBefore: headLines + start - 1,
  }));
}

/** Decides every case; each that comes out otherwise is a finding. */
export async function runCases(
  snapshot: PolicySnapshot,
  cases: readonly PolicyCase[],
): Promise<readonly PolicyFinding[]> {
  const findings: PolicyFinding[] = [];
  for (const [at, one] of cases.entries()) {
    if (at % TURN === TURN - 1) await nextTurn();
    findings.push(...decideCase(snapshot, one));
  }
  return findings;
}

function decideCase(snapshot: PolicySnapshot, one: PolicyCase): readonly PolicyFinding[] {
  const { subject, groups, roles, action, object, circumstances } = one;
  const credential = { kind: 'key', id: '' } as const;
  const principal = { subject, groups, roles, credential };
  const found = decideBound(snapshot, principal, action, object, circumstances);
  const { allowed, rule } = found.verdict;
  const texts =
    allowed === (one.expect === 'allow') ? unseenTexts(one, found) : [failure(one, rule)];
  return texts.map((text) => ({ file: CASES_FILE, line: one.line, text }));
}

/**
 * Refuses a policy whose cases do not come out as they expect.
 * @throws PolicyError naming the first cases, and how many there are.
 */
export async function refuseFailedCases(
  snapshot: PolicySnapshot,
  cases: readonly PolicyCase[],
): Promise<void> {
  const failed = await runCases(snapshot, cases);
  if (failed.length === 0) return;
  const text = `${failed.length} of ${cases.length} cases fail: correct policy.csv, or the cases that no longer hold`;
  throw new PolicyError([...failed.slice(0, MAX_NAMED), { file: CASES_FILE, text }]);
}

function failure(one: PolicyCase, rule: string | null): string {
  const found = one.expect === 'allow' ? 'denied' : 'allowed';
  const by = rule === null ? 'no line decides' : `by ${rule}`;
  const because = one.because === '' ? '' : `: ${one.because}`;
  return `${one.subject} ${one.action} ${one.objectText} is ${found} (${by}), expected ${one.expect}${because}`;
}

/** How the rows and columns that the caller would see differ from those that the case expects. */
function unseenTexts(one: PolicyCase, { restrictions }: BoundVerdict): readonly string[] {
  const { subject, action, objectText, rows, columns } = one;
  const because = one.because === '' ? '' : `: ${one.because}`;
  const filters = restrictions.filter((restriction) => restriction.rows !== null);
  const masked = columnsUnder(restrictions).map(({ column, as }) => `${column}: ${formatMask(as)}`);
  const texts: string[] = [];
  if (rows !== null && !areFilters(filters, rows)) {
    const found = listed(filters.map(({ name }) => name));
    texts.push(`is bound by the row filters ${found}, expected ${listed(rows)}${because}`);
  }
  if (columns !== null && masked.toSorted().join() !== columns.toSorted().join()) {
    texts.push(`has the columns ${listed(masked)}, expected ${listed(columns)}${because}`);
  }
  return texts.map((text) => `${subject} ${action} ${objectText} ${text}`);
}

/** Whether each filter is expected, by the name of its restriction or by its SQL, and no other is. */
function areFilters(filters: readonly WrittenRestriction[], expected: readonly string[]): boolean {
  const known = ({ name, rows }: WrittenRestriction, text: string) =>
    text === name || text === rows;
  return (
    filters.every((one) => expected.some((text) => known(one, text))) &&
    expected.every((text) => filters.some((one) => known(one, text)))
  );
}

function listed(texts: readonly string[]): string {
  return texts.length === 0 ? 'none' : texts.join(', ');
}
