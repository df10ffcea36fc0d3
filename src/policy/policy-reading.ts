import { refuseFailedCases, readCases } from './cases.ts';
import { guardsOf, losesGuard, type Guards } from './guards.ts';
import { checkLines } from './lines/check-lines.ts';
import { parseCsv } from './lines/csv.ts';
import { parseModel } from './lines/model.ts';
import { PolicyError, type PolicyFinding } from './lines/policy-error.ts';
import { buildPolicy, issuersOf, refuseBrokenSeal, type LoadedPolicy } from './load.ts';
import {
  filesOfPolicy,
  policyDigest,
  readPolicyFolder,
  sealedFiles,
  type PolicyFolder,
  type PolicyTexts,
} from './policy-folder.ts';
import { settingsData, type PolicyChange, type PolicyParts } from './served-policy.ts';

/** A request to read the policy of a folder. */
export interface PolicyQuestion {
  readonly folder: string;
  /** Digests of policies that need not be handed over again. */
  readonly known: readonly string[];
  /**
   * The texts that the policy would replace; undefined for a first policy. With them, a file without its
   * final newline is refused, since it may not be written to its end.
   */
  readonly current: PolicyTexts | undefined;
}

/** The policy of a folder, or why it is refused. */
export type PolicyReading =
  | {
      readonly kind: 'refused';
      /** `file:line: fault`. */
      readonly findings: readonly string[];
      readonly passing: boolean;
    }
  | { readonly kind: 'known'; readonly digest: string; readonly sealed: boolean }
  | {
      readonly kind: 'read';
      readonly policy: PolicyParts;
      /** Whether the folder matches its digest file, and so is certainly complete. */
      readonly sealed: boolean;
    };

/** Reads and compiles a policy and decides its cases. The time grows with its lines: services use a thread. */
export async function readPolicy(question: PolicyQuestion): Promise<PolicyReading> {
  try {
    return await reading(question);
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    return { kind: 'refused', findings: error.findings, passing: error.passing };
  }
}

async function reading({ folder, known, current }: PolicyQuestion): Promise<PolicyReading> {
  const read = await readPolicyFolder(folder);
  refuseBrokenSeal(read);
  const { texts } = read;
  const sealed = read.seal !== undefined;
  const cases = await readCases(read.cases ?? '');
  const issuers = await issuersOf(texts, folder);
  const digest = policyDigest(texts);
  const isKnown = known.includes(digest);
  if (isKnown && cases.length === 0) return { kind: 'known', digest, sealed };
  if (!isKnown && current !== undefined) refuseCut(read);
  const loaded = await buildPolicy(texts, issuers);
  await refuseFailedCases(loaded.snapshot, cases);
  if (isKnown) return { kind: 'known', digest, sealed };
  return { kind: 'read', policy: partsOf(loaded, current), sealed };
}

function refuseCut(read: PolicyFolder): void {
  const cut = sealedFiles(read)
    .filter(({ text }) => !text.endsWith('\n'))
    .map(({ name, text }) => cutFinding(name, text));
  if (cut.length > 0) throw new PolicyError(cut);
}

function cutFinding(file: string, text: string): PolicyFinding {
  if (text === '') return { file, text: 'the file is empty' };
  const line = text.split('\n').length;
  return { file, line, text: 'the file does not end with a newline: it may be cut short' };
}

function partsOf(
  { texts, packed, settings, guards }: LoadedPolicy,
  current: PolicyTexts | undefined,
): PolicyParts {
  const since = current === undefined ? undefined : changeBetween(current, texts, guards);
  return { texts, packed, settings: settingsData(settings), since };
}

function changeBetween(before: PolicyTexts, after: PolicyTexts, guards: Guards): PolicyChange {
  const [old, now] = [linesOf(before), linesOf(after)];
  return {
    losesGuard: losesGuard(guardsOfTexts(before), guards),
    linesAdded: missingFrom(old, now),
    linesRemoved: missingFrom(now, old),
  };
}

/** The restricting entries of a policy that is in force, and so is valid. */
function guardsOfTexts(texts: PolicyTexts): Guards {
  const { model, findings } = parseModel(texts.model);
  if (model === undefined) throw new PolicyError(findings);
  const { lines } = parseCsv(texts.policy);
  return guardsOf(lines, checkLines(lines, model).roles, model, texts);
}

/** How often each line stands in the files of a policy; blank ones and comments do not count. */
function linesOf(texts: PolicyTexts): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { name, text } of filesOfPolicy(texts)) {
    for (const line of text.split('\n')) {
      const said = line.trim();
      if (said === '' || said.startsWith('#')) continue;
      const key = `${name}:${said}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  return counts;
}

/** How many lines of the second are not in the first. */
function missingFrom(
  first: ReadonlyMap<string, number>,
  second: ReadonlyMap<string, number>,
): number {
  let missing = 0;
  for (const [line, count] of second) missing += Math.max(0, count - (first.get(line) ?? 0));
  return missing;
}
