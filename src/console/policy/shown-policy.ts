import type { Principal } from '../../protocol/principal.ts';
import { principalOf } from '../../gateway/identity/key-ring.ts';
import { runCases } from '../../policy/cases.ts';
import { lintFolder } from '../../policy/lint.ts';
import { loadRead, type FolderPolicy } from '../../policy/load.ts';
import { parsedFinding, PolicyError, type PolicyFinding } from '../../policy/lines/policy-error.ts';
import {
  policyDigest,
  readFileNames,
  readPolicyFolder,
  sealedFiles,
  type PolicyFolder,
} from '../../policy/policy-folder.ts';
import { SEAL_FILE, sealFindings } from '../../policy/seal.ts';
import { CASES_FILE, type PolicyCase } from '../../policy/settings/case-reader.ts';
import type { DeskKey } from './desk-task.ts';
import { usableKeys, type Desk } from './desk-work.ts';

/** A finding in its file: `fault` where a gateway refuses the policy or a line can never act. */
interface ShownFinding {
  readonly kind: 'fault' | 'warning';
  readonly file: string;
  readonly line: number | null;
  readonly text: string;
}

/** A case of `cases.yaml` with its result. */
interface ShownCase {
  readonly line: number;
  readonly subject: string;
  readonly action: string;
  readonly object: string;
  readonly expect: string;
  readonly because: string;
  /** Why it fails; null if it comes out as expected. */
  readonly fault: string | null;
}

/** What was found in a policy folder. */
interface CheckedPolicy {
  /** Undefined for a policy that cannot be loaded. */
  readonly loaded: FolderPolicy | undefined;
  readonly findings: readonly ShownFinding[];
  readonly cases: readonly ShownCase[];
}

/** Files that a change may contain. */
const names = readFileNames.filter((name) => name !== SEAL_FILE);

/** The files of the policy folder with what is wrong with them, and whether they are in force. */
export async function shownPolicy(desk: Desk, digest: string): Promise<object> {
  const read = await folderNow(desk.policies);
  if ('findings' in read)
    return { digest, folder_digest: null, names, files: [], cases: [], ...read };
  const { findings, cases } = await checkedPolicy(desk, read);
  const seal = read.seal === undefined ? [] : [{ name: SEAL_FILE, text: read.seal }];
  return {
    digest,
    folder_digest: policyDigest(read.texts),
    names,
    files: [...sealedFiles(read), ...seal],
    findings,
    cases,
  };
}

/** What is read of the policy folder, or why it cannot be read. */
async function folderNow(
  folder: string,
): Promise<PolicyFolder | { readonly findings: readonly ShownFinding[] }> {
  try {
    return await readPolicyFolder(folder);
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    return { findings: error.findings.map((text) => shown('fault', parsedFinding(text))) };
  }
}

/**
 * Checks what was read of a folder, or what is proposed for it, as `arrowgate policy check` does.
 * @param added Names of the files that a proposal adds.
 */
export async function checkedPolicy(
  desk: Desk,
  read: PolicyFolder,
  added: readonly string[] = [],
): Promise<CheckedPolicy> {
  const broken = read.seal === undefined ? [] : sealFindings(read.seal, sealedFiles(read));
  try {
    const loaded = await loadRead(read, desk.policies);
    const keys = usableKeys(desk.keys);
    const callers = { keys: keys.length === 0 ? undefined : keys, certificates: desk.certificates };
    const surroundings = { callers, objects: await desk.objects(), added };
    const { findings, warnings } = await lintFolder(desk.policies, loaded, surroundings);
    const failed = await runCases(loaded.snapshot, loaded.cases);
    const faults = [...broken, ...findings, ...failed];
    return {
      loaded,
      findings: [
        ...faults.map((one) => shown('fault', one)),
        ...warnings.map((one) => shown('warning', one)),
      ],
      cases: loaded.cases.map((one) => caseOf(one, failed)),
    };
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    const faults = [...broken, ...error.findings.map(parsedFinding)];
    return { loaded: undefined, findings: faults.map((one) => shown('fault', one)), cases: [] };
  }
}

/** The keys whose rights differ from those of their owners. */
export function comparedKeys(keys: readonly DeskKey[]): readonly Principal[] {
  return usableKeys(keys)
    .filter(({ roles, scopes }) => roles.length > 0 || scopes !== undefined)
    .map(principalOf);
}

function shown(kind: ShownFinding['kind'], { file, line, text }: PolicyFinding): ShownFinding {
  return { kind, file, line: line ?? null, text };
}

function caseOf(one: PolicyCase, failed: readonly PolicyFinding[]): ShownCase {
  const { line, subject, action, objectText: object, expect, because } = one;
  const faults = failed.filter((each) => each.file === CASES_FILE && each.line === line);
  const fault = faults.length === 0 ? null : faults.map(({ text }) => text).join('; ');
  return { line, subject, action, object, expect, because, fault };
}
