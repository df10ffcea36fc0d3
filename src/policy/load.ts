import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { COMMITS_FILE } from '../rules/commit-rule.ts';
import { CommitBook } from './commit-book.ts';
import { parseCommits, type WrittenRule } from './commits.ts';
import { CompiledSnapshot } from './compiled-snapshot.ts';
import { loadEnforcer } from './casbin-enforcer.ts';
import type { LoadedEnforcer } from './casbin-enforcer.ts';
import { loadCases } from './cases.ts';
import { checkLines } from './check-lines.ts';
import type { CheckedLines } from './check-lines.ts';
import { parseCsv } from './csv.ts';
import type { CsvLine, CsvResult } from './csv.ts';
import { ForeignSnapshot } from './foreign-snapshot.ts';
import type { Issuer } from './issuer.ts';
import { ISSUERS_FILE, loadIssuers } from './issuers.ts';
import { LimitBook } from './limit-book.ts';
import { LIMITS_FILE } from './limit.ts';
import { parseLimits } from './limits.ts';
import { parseModel } from './model.ts';
import type { PolicyModel } from './model.ts';
import { digestOf, readPolicyTexts } from './policy-folder.ts';
import type { PolicyTexts } from './policy-folder.ts';
import { PolicyError } from './policy-error.ts';
import type { Finding } from './policy-error.ts';
import { MODEL_FILE, POLICY_FILE } from './policy-line.ts';
import type { PolicyLine, RoleLine } from './policy-line.ts';
import type { PolicySnapshot } from './snapshot.ts';

/** A policy with the lines it was made of, for those who explain it. */
export interface LoadedPolicy {
  readonly snapshot: PolicySnapshot;
  /** Empty under a foreign model. */
  readonly policies: readonly PolicyLine[];
  readonly roles: readonly RoleLine[];
  /** What it was made of. */
  readonly texts: PolicyTexts;
}

/** What is wrong with commit rules where they are to be in force: in a gateway with its backends and its secrets. */
export type RulesCheck = (rules: readonly WrittenRule[]) => readonly Finding[];

const anyRules: RulesCheck = () => [];
/** Keeps the texts of a good policy before it decides anything. */
export type KeepTexts = (texts: PolicyTexts) => Promise<void>;

const keepNothing: KeepTexts = async () => {};

/** What is done with a policy that is good in itself. */
export interface LoadOptions {
  readonly keep?: KeepTexts | undefined;
  readonly check?: RulesCheck;
}

/**
 * Loads the policy of a folder.
 * @throws PolicyError with everything that is wrong with it.
 */
export async function loadPolicy(
  folder: string,
  { keep = keepNothing, check = anyRules }: LoadOptions = {},
): Promise<PolicySnapshot> {
  const { snapshot, texts } = await loadPolicyLines(folder);
  refuseRules(snapshot, check);
  await keep(texts);
  return snapshot;
}

/** The same with its lines. @throws PolicyError */
export async function loadPolicyLines(folder: string): Promise<LoadedPolicy> {
  const texts = await readPolicyTexts(folder);
  await loadCases(folder);
  return buildPolicy(texts, await issuersOf(texts, folder));
}

export function refuseRules({ commits }: PolicySnapshot, check: RulesCheck): void {
  const findings = check(commits.rules);
  if (findings.length > 0) throw new PolicyError(findings);
}

/**
 * Loads a policy in the place of a running one; that one itself if nothing
 * is different. A file without its final newline is refused, since it may
 * not be written to its end.
 * @throws PolicyError
 */
export async function reloadPolicy(
  folder: string,
  current: PolicySnapshot,
  { keep = keepNothing, check = anyRules }: LoadOptions = {},
): Promise<PolicySnapshot> {
  const texts = await readPolicyTexts(folder);
  await loadCases(folder);
  const issuers = await issuersOf(texts, folder);
  if (digestOf(texts) === current.digest) return current;
  const cut = [
    { file: MODEL_FILE, text: texts.model },
    { file: POLICY_FILE, text: texts.policy },
    { file: ISSUERS_FILE, text: texts.issuers ?? '\n' },
    { file: LIMITS_FILE, text: texts.limits ?? '\n' },
    { file: COMMITS_FILE, text: texts.commits ?? '\n' },
  ].filter(({ text }) => !text.endsWith('\n'));
  if (cut.length > 0) throw new PolicyError(cut.map(({ file, text }) => cutFinding(file, text)));
  const { snapshot } = await buildPolicy(texts, issuers);
  refuseRules(snapshot, check);
  await keep(texts);
  return snapshot;
}

/** Looked at again even where the text is the same: the key sets that it names are files of their own. */
async function issuersOf(texts: PolicyTexts, folder: string): Promise<readonly Issuer[]> {
  return texts.issuers === undefined ? [] : loadIssuers(texts.issuers, folder);
}

function cutFinding(file: string, text: string): Finding {
  if (text === '') return { file, text: 'the file is empty' };
  const line = text.split('\n').length;
  return { file, line, text: 'the file does not end with a newline: it may be cut short' };
}

/** Builds a policy of its texts and of the issuers that were read from them. @throws PolicyError */
export async function buildPolicy(
  texts: PolicyTexts,
  issuers: readonly Issuer[] = [],
): Promise<LoadedPolicy> {
  const { model, findings } = parseModel(texts.model);
  if (model === undefined) throw new PolicyError(findings);
  // Each step of a long policy takes a while; what waits may run in between.
  const csv = parseCsv(texts.policy);
  await nextTurn();
  const checked = checkLines(csv.lines, model);
  refuse(csv, checked);
  await nextTurn();
  const enforcer = await loadInCasbin(model, csv.lines, checked.roles);
  const digest = digestOf(texts);
  const { policies, roles } = checked;
  const limits = new LimitBook(parseLimits(texts.limits ?? ''), roles);
  const commits = commitsOf(texts, roles);
  if (model.kind === 'foreign') {
    tryOut(enforcer);
    const snapshot = new ForeignSnapshot(
      enforcer,
      csv.lines,
      roles,
      digest,
      issuers,
      limits,
      commits,
    );
    return { snapshot, policies, roles, texts };
  }
  const snapshot = new CompiledSnapshot(policies, roles, digest, issuers, limits, commits);
  return { snapshot, policies, roles, texts };
}

function commitsOf({ commits }: PolicyTexts, roles: readonly RoleLine[]): CommitBook {
  if (commits === undefined) return CommitBook.empty;
  const digest = createHash('sha256').update(commits).digest('hex');
  return new CommitBook(parseCommits(commits), roles, digest);
}

function refuse(csv: CsvResult, checked: CheckedLines): void {
  const findings = [...csv.findings, ...checked.findings];
  if (findings.length === 0) return;
  throw new PolicyError(findings.sort((a, b) => (a.line ?? Infinity) - (b.line ?? Infinity)));
}

async function loadInCasbin(
  model: PolicyModel,
  lines: readonly CsvLine[],
  roles: readonly RoleLine[],
): Promise<LoadedEnforcer> {
  try {
    return await loadEnforcer(model, lines, roles);
  } catch (error) {
    throw new PolicyError([{ file: POLICY_FILE, text: `casbin refuses it: ${String(error)}` }]);
  }
}

/** Asks one question, so that a matcher that cannot run is found now. */
function tryOut({ enforcer }: LoadedEnforcer): void {
  try {
    enforcer.enforceSync('user:nobody', '/', 'QueryTable');
  } catch (error) {
    throw new PolicyError([
      { file: MODEL_FILE, text: `casbin cannot decide by the model: ${String(error)}` },
    ]);
  }
}
