import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CommitBook } from './settings/commit-book.ts';
import { parseCommits, type WrittenRule } from './settings/commits.ts';
import { CompiledSnapshot } from './decide/compiled-snapshot.ts';
import { loadEnforcer, type LoadedEnforcer } from './decide/casbin-enforcer.ts';
import { readCases, refuseFailedCases } from './cases.ts';
import { checkLines, type CheckedLines } from './lines/check-lines.ts';
import { parseCsv, type CsvLine, type CsvResult } from './lines/csv.ts';
import { ForeignSnapshot } from './decide/foreign-snapshot.ts';
import type { Issuer } from './settings/issuer.ts';
import { guardsOf, type Guards } from './guards.ts';
import { loadIssuers } from './settings/issuers.ts';
import { LimitBook } from './settings/limit-book.ts';
import { parseLimits } from './settings/limits.ts';
import { parseModel, type PolicyModel } from './lines/model.ts';
import type { PolicyCase } from './settings/case-reader.ts';
import {
  policyDigest,
  readPolicyFolder,
  sealedFiles,
  type PolicyFolder,
  type PolicyTexts,
} from './policy-folder.ts';
import { PolicyError, type PolicyFinding } from './lines/policy-error.ts';
import { MODEL_FILE, POLICY_FILE, type PolicyLine, type RoleLine } from './lines/policy-line.ts';
import { sealFindings } from './seal.ts';
import type { PolicySnapshot } from './decide/snapshot.ts';

/** A policy with the lines it was compiled from, for explanations. */
export interface LoadedPolicy {
  readonly snapshot: PolicySnapshot;
  /** Empty under a foreign model. */
  readonly policies: readonly PolicyLine[];
  readonly roles: readonly RoleLine[];
  /** The source lines. */
  readonly texts: PolicyTexts;
  /** The restricting entries. */
  readonly guards: Guards;
}

/** A policy of a folder, with the folder's other results. */
export interface FolderPolicy extends LoadedPolicy {
  readonly cases: readonly PolicyCase[];
  /** Everything that was read. */
  readonly folder: PolicyFolder;
}

/** Checks commit rules where they will be in force: in a gateway with its backends and secrets. */
export type RulesCheck = (rules: readonly WrittenRule[]) => readonly PolicyFinding[];

const anyRules: RulesCheck = () => [];
/** Keeps the texts of a good policy before it decides anything. */
export type KeepTexts = (texts: PolicyTexts) => Promise<void>;

const keepNothing: KeepTexts = async () => {};

/** Hooks for a valid policy. */
export interface LoadOptions {
  readonly keep?: KeepTexts | undefined;
  readonly check?: RulesCheck;
}

/**
 * Loads the policy of a folder, as a gateway does.
 * @throws PolicyError with everything that is wrong with it.
 */
export async function loadPolicy(folder: string, options?: LoadOptions): Promise<PolicySnapshot> {
  return (await loadForService(folder, options)).snapshot;
}

/** The same with its lines. @throws PolicyError */
export async function loadForService(
  folder: string,
  { keep = keepNothing, check = anyRules }: LoadOptions = {},
): Promise<FolderPolicy> {
  const read = await readPolicyFolder(folder);
  refuseBrokenSeal(read);
  const loaded = await loadRead(read, folder);
  await refuseFailedCases(loaded.snapshot, loaded.cases);
  refuseRules(loaded.snapshot, check);
  await keep(loaded.texts);
  return loaded;
}

/** Loads a policy for explanation, even one that a gateway refuses. @throws PolicyError */
export async function loadPolicyLines(folder: string): Promise<FolderPolicy> {
  return loadRead(await readPolicyFolder(folder), folder);
}

async function loadRead(read: PolicyFolder, folder: string): Promise<FolderPolicy> {
  const cases = await readCases(read.cases ?? '');
  const loaded = await buildPolicy(read.texts, await issuersOf(read.texts, folder));
  return { ...loaded, cases, folder: read };
}

/** Refuses a folder that does not match its digest file, which may not be written to its end. */
function refuseBrokenSeal(read: PolicyFolder): void {
  if (read.seal === undefined) return;
  const findings = sealFindings(read.seal, sealedFiles(read));
  if (findings.length > 0) throw new PolicyError(findings);
}

function refuseRules({ commits }: PolicySnapshot, check: RulesCheck): void {
  const findings = check(commits.rules);
  if (findings.length > 0) throw new PolicyError(findings);
}

/** The policies of a folder, compared with known ones. */
interface Reloaded {
  /** A known policy with the same content, or the new one. */
  readonly policy: LoadedPolicy;
  /** Whether the folder matches its digest file, and so is certainly complete. */
  readonly sealed: boolean;
}

/**
 * Loads the policy of a folder in the place of a running one. A file without its final newline
 * is refused, since it may not be written to its end.
 * @param loaded Policies of before, that in force among them.
 * @throws PolicyError
 */
export async function reloadPolicy(
  folder: string,
  loaded: readonly LoadedPolicy[],
  { check = anyRules }: Pick<LoadOptions, 'check'> = {},
): Promise<Reloaded> {
  const read = await readPolicyFolder(folder);
  refuseBrokenSeal(read);
  const { texts } = read;
  const cases = await readCases(read.cases ?? '');
  const issuers = await issuersOf(texts, folder);
  const digest = policyDigest(texts);
  let policy = loaded.find(({ snapshot }) => snapshot.digest === digest);
  if (policy === undefined) {
    refuseCut(read);
    policy = await buildPolicy(texts, issuers);
    refuseRules(policy.snapshot, check);
  }
  await refuseFailedCases(policy.snapshot, cases);
  return { policy, sealed: read.seal !== undefined };
}

function refuseCut(read: PolicyFolder): void {
  const cut = sealedFiles(read)
    .filter(({ text }) => !text.endsWith('\n'))
    .map(({ name, text }) => cutFinding(name, text));
  if (cut.length > 0) throw new PolicyError(cut);
}

/** Looked at again even where the text is the same: the key sets that it names are files of their own. */
async function issuersOf(texts: PolicyTexts, folder: string): Promise<readonly Issuer[]> {
  return texts.issuers === undefined ? [] : loadIssuers(texts.issuers, folder);
}

function cutFinding(file: string, text: string): PolicyFinding {
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
  // Each step of a long policy takes time; other work runs between steps.
  const csv = parseCsv(texts.policy);
  await nextTurn();
  const checked = checkLines(csv.lines, model);
  refuse(csv, checked);
  await nextTurn();
  const enforcer = await loadInCasbin(model, csv.lines, checked.roles);
  const digest = policyDigest(texts);
  const { policies, roles } = checked;
  const limits = new LimitBook(parseLimits(texts.limits ?? ''), roles);
  const commits = commitsOf(texts, roles);
  const guards = guardsOf(csv.lines, roles, model, texts);
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
    return { snapshot, policies, roles, texts, guards };
  }
  const snapshot = new CompiledSnapshot(policies, roles, digest, issuers, limits, commits);
  return { snapshot, policies, roles, texts, guards };
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

/** Makes one decision, so that a matcher that cannot run is found now. */
function tryOut({ enforcer }: LoadedEnforcer): void {
  try {
    enforcer.enforceSync('user:nobody', '/', 'QueryTable');
  } catch (error) {
    throw new PolicyError([
      { file: MODEL_FILE, text: `casbin cannot decide by the model: ${String(error)}` },
    ]);
  }
}
