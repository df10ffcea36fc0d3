import { CompiledSnapshot } from './decide/compiled-snapshot.ts';
import type { PackedPolicy } from './decide/packed-policy.ts';
import type { PolicySettings, PolicySnapshot } from './decide/snapshot.ts';
import { RightSet } from './lines/right-set.ts';
import type { PolicyTexts } from './policy-folder.ts';
import { ruleData, ruleOf, type RuleData } from './settings/commits.ts';

/** A policy that decides requests. */
export interface ServedPolicy {
  readonly snapshot: PolicySnapshot;
  /** The source lines. */
  readonly texts: PolicyTexts;
  /** Comparison with the policy that it was read to replace; undefined for a first one. */
  readonly since?: PolicyChange | undefined;
}

/** How a policy differs from the one before it. */
export interface PolicyChange {
  /** Whether it lacks a restriction of the one before it. */
  readonly losesGuard: boolean;
  /** Numbers of lines in its files, without blank ones and comments. */
  readonly linesAdded: number;
  readonly linesRemoved: number;
}

/** A valid policy as plain data, which moves between threads. */
export interface PolicyParts {
  readonly texts: PolicyTexts;
  /** Null under a foreign model, where casbin decides. */
  readonly packed: PackedPolicy | null;
  readonly settings: SettingsData;
  readonly since: PolicyChange | undefined;
}

type SettingsData = Omit<PolicySettings, 'rules'> & { readonly rules: readonly RuleData[] };

/** Number of remarks that are handed over. */
const MAX_REMARKS = 1000;

/** Settings as plain data. */
export function settingsData(settings: PolicySettings): SettingsData {
  const rules = settings.rules.map(ruleData);
  return { ...settings, rules, remarks: settings.remarks.slice(0, MAX_REMARKS) };
}

/** Puts a policy together that another thread has compiled. Takes no time that grows with its lines. */
export async function servedPolicy(parts: PolicyParts): Promise<ServedPolicy> {
  return { snapshot: await snapshotOf(parts), texts: parts.texts, since: parts.since };
}

async function snapshotOf({ packed, settings, texts }: PolicyParts): Promise<PolicySnapshot> {
  if (packed === null) {
    // Casbin itself decides: its own copy of the lines has to be on this thread.
    const { buildPolicy } = await import('./load.ts');
    return (await buildPolicy(texts, settings.issuers)).snapshot;
  }
  return new CompiledSnapshot(packed, {
    ...settings,
    limits: settings.limits.map((limit) => ({ ...limit, rights: RightSet.from(limit.rights) })),
    rules: settings.rules.map(ruleOf),
  });
}
