import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { administrator } from '../../gateway/identity/key-ring.ts';
import { PolicyArchive } from '../../gateway/decision/policy-archive.ts';
import { Shadow } from '../../gateway/shadow.ts';
import { Tokens } from '../../gateway/identity/tokens.ts';
import {
  firstPolicyOf,
  firstReading,
  PolicyReader,
  type ReadOptions,
} from '../../policy/policy-reader.ts';
import type { PolicyChange, ServedPolicy } from '../../policy/served-policy.ts';
import { watchShadow } from '../../policy/shadow-policy.ts';
import type { PolicySnapshot } from '../../policy/decide/snapshot.ts';
import { watchPolicy, type PolicyWatch } from '../../policy/watch.ts';
import { type DataFolder } from './data-folder.ts';
import type { PolicyReloads } from './policy-reloads.ts';
import { rulesCheck } from '../config/commit-rules.ts';
import { processEnvironment } from '../config/config-environment.ts';
import type { Start } from './opened.ts';

/**
 * The policy that a start begins with, and the reader of the next ones.
 * @throws PolicyError with everything that keeps it from being in force
 */
export async function firstPolicy({
  config,
  opened,
}: Start): Promise<{ readonly first: ServedPolicy; readonly reader: PolicyReader }> {
  const reader = new PolicyReader();
  opened.add(() => reader.close());
  const check = rulesCheck(config, processEnvironment());
  const first = await firstPolicyOf(resolve(config.policies), {
    read: firstReading(reader),
    check,
  });
  return { first, reader };
}

/** Keeps the texts of policies; that of the first one is kept when this resolves. */
export async function openArchive(
  { log, opened }: Start,
  folder: DataFolder,
  { texts, snapshot }: ServedPolicy,
): Promise<PolicyArchive> {
  const archive = new PolicyArchive(folder.audit, (error) =>
    log.error({ err: error }, 'the text of the policy could not be archived'),
  );
  opened.add(() => archive.close());
  await archive.sweep();
  await archive.keep(texts, snapshot.digest);
  return archive;
}

/** What a policy in force needs. */
interface PolicyServices {
  readonly reader: PolicyReader;
  readonly archive: PolicyArchive;
  readonly reloads: PolicyReloads;
}

/** The policy, and the issuers of tokens, which change with it. */
export function openPolicy(
  { config, log, opened, metrics, followsPolicy = true }: Start,
  first: ServedPolicy,
  { reader, archive, reloads }: PolicyServices,
): { readonly policy: Omit<PolicyWatch, 'close'>; readonly tokens: Tokens } {
  const folder = resolve(config.policies);
  warn(first.snapshot, log);
  const tokens = new Tokens(first.snapshot.issuers, { log });
  opened.add(() => tokens.close());
  if (!followsPolicy) {
    return { policy: { current: () => first.snapshot, refused: () => undefined }, tokens };
  }
  const onChange = (snapshot: PolicySnapshot, change: PolicyChange | undefined): void => {
    metrics.count('policyReloads', 'ok');
    tokens.replace(snapshot.issuers);
    reloads.taken(snapshot.digest, change);
    log.info({ digest: snapshot.digest }, 'a new policy is in force');
    warn(snapshot, log);
  };
  const onRefused = (findings: readonly string[]): void => {
    metrics.count('policyReloads', 'refused');
    reloads.refused(findings);
    log.error({ findings }, 'the policy files were refused; the last good policy stays in force');
  };
  const options: ReadOptions = {
    read: reader.read,
    keep: (texts, digest) => archive.keep(texts, digest),
    check: rulesCheck(config, processEnvironment()),
  };
  const watch = watchPolicy(folder, first, onChange, onRefused, options);
  opened.add(() => watch.close());
  return { policy: watch, tokens };
}

/** The policy that is tried out, if there is one. */
export async function openShadow(
  { config, log, opened }: Start,
  { reader, archive }: Pick<PolicyServices, 'reader' | 'archive'>,
): Promise<Shadow> {
  const watch = await watchShadow(resolve(config.policies), {
    read: reader.read,
    keep: (texts, digest) => archive.keep(texts, digest),
    onChange: (snapshot) => {
      if (snapshot === undefined) log.info('the shadow policy was removed');
      else log.info({ digest: snapshot.digest }, 'a new shadow policy is evaluated');
    },
    onRefused: (findings) => log.error({ findings }, 'the shadow policy was refused'),
  });
  opened.add(() => watch.close());
  return new Shadow(watch, log);
}

function warn(policy: PolicySnapshot, log: Logger): void {
  for (const { text, lines } of policyWarnings(policy)) {
    if (lines === undefined) log.warn(text);
    else log.warn({ lines }, text);
  }
}

/** A warning about a policy in force. */
interface PolicyWarning {
  readonly text: string;
  /** Places that it is about. */
  readonly lines?: readonly string[];
}

/** Warnings of a gateway when a policy comes into force. */
export function policyWarnings(policy: PolicySnapshot): readonly PolicyWarning[] {
  const found: PolicyWarning[] = [];
  if (!policy.sees(administrator, [], 'namespace')) {
    found.push({ text: 'the policy gives role:admin nothing: no administrator can do anything' });
  } else if (!policy.decide(administrator, 'manage', []).allowed) {
    found.push({ text: 'the policy does not let role:admin manage everything' });
  }
  if (policy.remarks.length > 0) {
    const lines = policy.remarks.slice(0, 20);
    found.push({ text: 'lines of the policy never decide anything', lines });
  }
  if (policy.slow) {
    found.push({ text: 'the model is not the shipped one: casbin decides, which is slow' });
  }
  return found;
}
