import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LineCounter, parseDocument } from 'yaml';
import { CaseReader } from './case-reader.ts';
import { CASES_FILE } from './policy-case.ts';
import type { PolicyCase } from './policy-case.ts';
import { PolicyError } from './policy-error.ts';
import type { Finding } from './policy-error.ts';
import type { PolicySnapshot } from './snapshot.ts';

/**
 * Reads `cases.yaml` of a folder; no cases if there is no such file.
 * @throws PolicyError for anything that is not understood: unknown keys too.
 */
export async function loadCases(folder: string): Promise<readonly PolicyCase[]> {
  const text = await readFile(join(folder, CASES_FILE), 'utf8').catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      const text = `the file cannot be read (${error.code})`;
      throw new PolicyError([{ file: CASES_FILE, text }], true);
    },
  );
  return text === undefined ? [] : parseCases(text);
}

/** Reads the text of a `cases.yaml`. @throws PolicyError */
export function parseCases(text: string): readonly PolicyCase[] {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const reader = new CaseReader(lines);
  const cases = reader.read(document);
  if (reader.findings.length > 0) throw new PolicyError(reader.findings);
  return cases;
}

/** Decides every case; each that comes out otherwise is a finding. */
export function runCases(
  snapshot: PolicySnapshot,
  cases: readonly PolicyCase[],
): readonly Finding[] {
  return cases.flatMap((one) => {
    const { subject, groups, roles, action, object, circumstances } = one;
    const credential = { kind: 'key', id: '' } as const;
    const asking = { subject, groups, roles, credential };
    const verdict = snapshot.decide(asking, action, object, circumstances);
    if (verdict.allowed === (one.expect === 'allow')) return [];
    return [{ file: CASES_FILE, line: one.line, text: failure(one, verdict.rule) }];
  });
}

function failure(one: PolicyCase, rule: string | null): string {
  const found = one.expect === 'allow' ? 'denied' : 'allowed';
  const by = rule === null ? 'no line decides' : `by ${rule}`;
  const because = one.because === '' ? '' : `: ${one.because}`;
  return `${one.subject} ${one.action} ${one.objectText} is ${found} (${by}), expected ${one.expect}${because}`;
}
