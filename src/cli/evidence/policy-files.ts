import { resolve } from 'node:path';
import { archivedPolicy } from '../../audit/archived-policies.ts';
import { ArchivedPolicyError, PolicyError } from '../../policy/lines/policy-error.ts';
import { buildPolicy, type LoadedPolicy } from '../../policy/load.ts';
import {
  filesOfPolicy,
  policyDigest,
  readPolicyTexts,
  type PolicyTexts,
} from '../../policy/policy-folder.ts';
import type { Config } from '../config/config-table.ts';
import type { PolicyEvent } from '../../gateway/replay/policy-history.ts';
import type { PolicyInForce } from './report-page.ts';

/** The policies of a period, with their texts. */
export interface PolicyHistory {
  readonly inForce: readonly PolicyInForce[];
  /** The last policy whose texts are there. */
  readonly last: LoadedPolicy | undefined;
  /** Policies without texts, a sentence each. */
  readonly limits: readonly string[];
}

/** Reads the texts of policies: archived ones, and the current one from the policy folder. */
export async function policyHistory(
  config: Config,
  audit: string,
  events: readonly PolicyEvent[],
): Promise<PolicyHistory> {
  const inForce: PolicyInForce[] = [];
  const limits: string[] = [];
  let last: PolicyTexts | undefined;
  for (const event of events) {
    const { digest } = event;
    const texts = digest === null ? undefined : await textsOf(config, audit, digest);
    inForce.push({ ...event, files: texts === undefined ? [] : filesOfPolicy(texts) });
    if (texts !== undefined) last = texts;
    else if (digest !== null) {
      limits.push(
        `the texts of the policy ${digest} are not here: it was not archived, or its archive was changed`,
      );
    }
  }
  if (last === undefined) {
    last = await readPolicyTexts(resolve(config.policies)).catch(unreadable);
    limits.push('no policy of the period can be read: the table of readers is of the current one');
  }
  return { inForce, last: last === undefined ? undefined : await loadedOf(last), limits };
}

async function textsOf(
  config: Config,
  audit: string,
  digest: string,
): Promise<PolicyTexts | undefined> {
  for (const folder of [archivedPolicy(audit, digest), resolve(config.policies)]) {
    const texts = await readPolicyTexts(folder).catch(unreadable);
    if (texts !== undefined && policyDigest(texts) === digest) return texts;
  }
  return undefined;
}

/** A policy of an older version may not be readable any more. */
async function loadedOf(texts: PolicyTexts): Promise<LoadedPolicy | undefined> {
  return buildPolicy(texts).catch(unreadable);
}

function unreadable(error: unknown): undefined {
  const isPolicy = error instanceof PolicyError || error instanceof ArchivedPolicyError;
  const isSystem = error instanceof Error && 'syscall' in error;
  if (!isPolicy && !isSystem) throw error;
}
