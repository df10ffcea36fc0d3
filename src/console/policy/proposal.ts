import { readRequests } from '../../audit/decided/reader.ts';
import { PoliciesBefore } from '../../gateway/replay/policy-before.ts';
import { Replay } from '../../gateway/replay/replay.ts';
import { accessChanges, comparedCallers, comparisonNotes } from '../../policy/access-diff.ts';
import { PolicyError } from '../../policy/lines/policy-error.ts';
import type { LoadedPolicy } from '../../policy/load.ts';
import {
  folderOfFiles,
  readPolicyFolder,
  sealedFiles,
  type PolicyFolder,
} from '../../policy/policy-folder.ts';
import { policySeal, SEAL_FILE } from '../../policy/seal.ts';
import { unifiedDiff } from '../../policy/unified-diff.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { DeskTask } from './desk-task.ts';
import { policyInForce, progressTo, type Desk } from './desk-work.ts';
import { checkedPolicy, comparedKeys } from './shown-policy.ts';

type Proposal = Extract<DeskTask, { readonly kind: 'propose' }>;

/** Changes of access, and of requests, that an answer lists. */
const MOST_LISTED = 500;

/**
 * Judges a proposed change of the policy folder: findings and cases, whose access it changes, and which
 * requests of a period it would decide otherwise. Each part of the answer is handed out when it is known.
 * Nothing is written.
 */
export async function judgedProposal(desk: Desk, task: Proposal): Promise<object> {
  const now = await folderNow(desk.policies);
  const { files, added } = changedFiles(now, task.files);
  const patch = patchOf(now, files);
  const proposed = proposedFolder(files);
  if (proposed instanceof PolicyError) {
    throw new CatalogError('InvalidInput', proposed.message);
  }
  const { loaded, findings, cases } = await checkedPolicy(desk, proposed, added);
  const isRefused = loaded === undefined || findings.some(({ kind }) => kind === 'fault');
  desk.part({ stage: 'check', result: { findings, cases, patch, refused: isRefused } });
  if (loaded === undefined) return { stage: 'end' };
  const before = await policyInForce(desk.audit, task.digest);
  desk.part({ stage: 'access', result: await comparedAccess(desk, before, loaded) });
  desk.part({ stage: 'replay', result: await replayed(desk, loaded, task.since) });
  return { stage: 'end' };
}

async function folderNow(folder: string): Promise<ReadonlyMap<string, string>> {
  const read = await readPolicyFolder(folder).catch((error: unknown) => {
    if (error instanceof PolicyError) throw new CatalogError('ServiceUnavailable', error.message);
    throw error;
  });
  const seal = read.seal === undefined ? [] : [{ name: SEAL_FILE, text: read.seal }];
  return new Map([...sealedFiles(read), ...seal].map(({ name, text }) => [name, text]));
}

interface Changed {
  readonly files: ReadonlyMap<string, string>;
  readonly added: readonly string[];
}

/** The files after the change. A folder with a seal gets a new one. */
function changedFiles(now: ReadonlyMap<string, string>, changes: Proposal['files']): Changed {
  const files = new Map(now);
  for (const [name, text] of Object.entries(changes)) {
    if (text === null) files.delete(name);
    else files.set(name, text);
  }
  const folder = proposedFolder(files);
  if (now.has(SEAL_FILE) && !(folder instanceof PolicyError)) {
    files.set(SEAL_FILE, policySeal(sealedFiles(folder)));
  }
  return { files, added: [...files.keys()].filter((name) => !now.has(name)) };
}

function proposedFolder(files: ReadonlyMap<string, string>): PolicyFolder | PolicyError {
  try {
    return folderOfFiles(files);
  } catch (error) {
    if (error instanceof PolicyError) return error;
    throw error;
  }
}

function patchOf(now: ReadonlyMap<string, string>, next: ReadonlyMap<string, string>): string {
  const names = [...new Set([...now.keys(), ...next.keys()])].toSorted();
  return unifiedDiff(names.map((name) => ({ name, before: now.get(name), after: next.get(name) })));
}

async function comparedAccess(
  desk: Desk,
  before: LoadedPolicy,
  after: LoadedPolicy,
): Promise<object> {
  const callers = comparedCallers(before, after, comparedKeys(desk.keys));
  const objects = await desk.objects();
  const paths = [...(objects?.namespaces ?? []), ...(objects?.tables ?? []).map((one) => one.path)];
  const progress = progressTo(desk.part, 'access');
  const changes = accessChanges(before, after, callers, paths, progress);
  return {
    changes: changes.slice(0, MOST_LISTED),
    total: changes.length,
    notes: comparisonNotes(before, after),
  };
}

async function replayed(desk: Desk, proposed: LoadedPolicy, since: string): Promise<object> {
  const policies = new PoliciesBefore(desk.audit);
  const replay = new Replay({ proposed, before: (digest) => policies.of(digest) });
  const progress = progressTo(desk.part, 'replay');
  for await (const requests of readRequests(desk.audit, { since })) {
    await replay.add(requests);
    progress(replay.report.requests);
  }
  const { changed, ...counts } = replay.report.shown();
  return { ...counts, changed: changed.slice(0, MOST_LISTED), total: changed.length };
}
