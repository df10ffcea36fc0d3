import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseCommits } from './settings/commits.ts';
import { CompiledSnapshot } from './decide/compiled-snapshot.ts';
import { loadEnforcer, type LoadedEnforcer } from './decide/casbin-enforcer.ts';
import { readCases, refuseFailedCases } from './cases.ts';
import { checkLines, type CheckedLines } from './lines/check-lines.ts';
import { parseCsv, type CsvLine, type CsvResult } from './lines/csv.ts';
import { ForeignSnapshot } from './decide/foreign-snapshot.ts';
import type { Issuer } from './settings/issuer.ts';
import { guardsOf, type Guards } from './guards.ts';
import { loadIssuers } from './settings/issuers.ts';
import { parseLimits } from './settings/limits.ts';
import { parseRestrictions } from './settings/restrictions.ts';
import { parseModel, type PolicyModel } from './lines/model.ts';
import type { PolicyCase } from './settings/case-reader.ts';
import {
  policyDigest,
  readPolicyFolder,
  sealedFiles,
  type PolicyFolder,
  type PolicyTexts,
} from './policy-folder.ts';
import { inertLines } from './lines/inert.ts';
import { formatFinding, PolicyError } from './lines/policy-error.ts';
import { packPolicy, type PackedPolicy } from './decide/packed-policy.ts';
import { sealFindings } from './seal.ts';
import { refuseRules, type RulesCheck } from './rules-check.ts';
import { RoleGraph } from './lines/role-graph.ts';
import { MODEL_FILE, POLICY_FILE, type PolicyLine, type RoleLine } from './lines/policy-line.ts';
import type { PolicySettings, PolicySnapshot } from './decide/snapshot.ts';

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
  /** The compiled lines; null under a foreign model. */
  readonly packed: PackedPolicy | null;
  readonly settings: PolicySettings;
}

/** A policy of a folder, with the folder's other results. */
export interface FolderPolicy extends LoadedPolicy {
  readonly cases: readonly PolicyCase[];
  /** Everything that was read. */
  readonly folder: PolicyFolder;
}

/**
 * Loads the policy of a folder, as a gateway does.
 * @throws PolicyError with everything that is wrong with it.
 */
export async function loadPolicy(folder: string): Promise<PolicySnapshot> {
  return (await loadForService(folder)).snapshot;
}

/** Loads the policy of a folder with its lines, and refuses what a gateway refuses. @throws PolicyError */
export async function loadForService(
  folder: string,
  check: RulesCheck = () => [],
): Promise<FolderPolicy> {
  const read = await readPolicyFolder(folder);
  refuseBrokenSeal(read);
  const loaded = await loadRead(read, folder);
  await refuseFailedCases(loaded.snapshot, loaded.cases);
  refuseRules(loaded.snapshot, check);
  return loaded;
}

/** Loads a policy for explanation, even one that a gateway refuses. @throws PolicyError */
export async function loadPolicyLines(folder: string): Promise<FolderPolicy> {
  return loadRead(await readPolicyFolder(folder), folder);
}

/**
 * Loads what was read of a folder, or is proposed for it, as `loadPolicyLines` does.
 * @param folder Where files lie that `issuers.yaml` names.
 * @throws PolicyError
 */
export async function loadRead(read: PolicyFolder, folder: string): Promise<FolderPolicy> {
  const cases = await readCases(read.cases ?? '');
  const loaded = await buildPolicy(read.texts, await issuersOf(read.texts, folder));
  return { ...loaded, cases, folder: read };
}

/** Refuses a folder that does not match its digest file, which may not be written to its end. */
export function refuseBrokenSeal(read: PolicyFolder): void {
  if (read.seal === undefined) return;
  const findings = sealFindings(read.seal, sealedFiles(read));
  if (findings.length > 0) throw new PolicyError(findings);
}

/** Looked at again even where the text is the same: the key sets that it names are files of their own. */
export async function issuersOf(texts: PolicyTexts, folder: string): Promise<readonly Issuer[]> {
  return texts.issuers === undefined ? [] : loadIssuers(texts.issuers, folder);
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
  const { policies, roles } = checked;
  const settings = settingsOf(texts, issuers, policies);
  const guards = guardsOf(csv.lines, roles, model, texts);
  const packed = model.kind === 'foreign' ? null : packPolicy(policies, roles);
  const loaded = { policies, roles, texts, guards, packed, settings };
  if (packed !== null) return { ...loaded, snapshot: new CompiledSnapshot(packed, settings) };
  tryOut(enforcer);
  const graph = new RoleGraph(roles);
  return { ...loaded, snapshot: new ForeignSnapshot(enforcer, csv.lines, graph, settings) };
}

function settingsOf(
  texts: PolicyTexts,
  issuers: readonly Issuer[],
  policies: readonly PolicyLine[],
): PolicySettings {
  const { limits = '', commits, restrictions } = texts;
  return {
    digest: policyDigest(texts),
    remarks: inertLines(policies).map(formatFinding),
    issuers,
    limits: parseLimits(limits),
    rules: commits === undefined ? [] : parseCommits(commits),
    restrictions: restrictions === undefined ? [] : parseRestrictions(restrictions),
    commitsDigest: commits === undefined ? '' : createHash('sha256').update(commits).digest('hex'),
  };
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
