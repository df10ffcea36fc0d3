import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { administrator } from '../../gateway/identity/key-ring.ts';
import { PolicyArchive } from '../../gateway/decision/policy-archive.ts';
import { Shadow } from '../../gateway/shadow.ts';
import { Tokens } from '../../gateway/identity/tokens.ts';
import {
  loadForService,
  type FolderPolicy,
  type KeepTexts,
  type LoadedPolicy,
} from '../../policy/load.ts';
import { watchShadow } from '../../policy/shadow-policy.ts';
import type { PolicySnapshot } from '../../policy/decide/snapshot.ts';
import { watchPolicy, type PolicyWatch } from '../../policy/watch.ts';
import { type DataFolder } from './data-folder.ts';
import type { PolicyReloads } from './policy-reloads.ts';
import { rulesCheck } from '../config/commit-rules.ts';
import { processEnvironment } from '../config/config-environment.ts';
import type { Config } from '../config/config-table.ts';
import type { Start } from './opened.ts';

/** The policy that a start begins with. @throws PolicyError with everything that keeps it from being in force */
export async function firstPolicy(config: Config): Promise<FolderPolicy> {
  const check = rulesCheck(config, processEnvironment());
  return loadForService(resolve(config.policies), { check });
}

/** Keeps the texts of policies; that of the first one is kept when this resolves. */
export async function openArchive(
  { log, opened }: Start,
  folder: DataFolder,
  { texts }: LoadedPolicy,
): Promise<PolicyArchive> {
  const archive = new PolicyArchive(folder.audit, (error) =>
    log.error({ err: error }, 'the text of the policy could not be archived'),
  );
  opened.add(() => archive.close());
  await archive.sweep();
  await archive.keep(texts);
  return archive;
}

/** The policy, and the issuers of tokens, which change with it. */
export function openPolicy(
  { config, log, opened, metrics }: Start,
  first: LoadedPolicy,
  { archive, reloads }: { readonly archive: PolicyArchive; readonly reloads: PolicyReloads },
): { readonly policy: PolicyWatch; readonly tokens: Tokens } {
  const folder = resolve(config.policies);
  warn(first.snapshot, log);
  const tokens = new Tokens(first.snapshot.issuers, { log });
  opened.add(() => tokens.close());
  const onChange = (snapshot: PolicySnapshot): void => {
    metrics.count('policyReloads', 'ok');
    tokens.replace(snapshot.issuers);
    reloads.taken(snapshot.digest);
    log.info({ digest: snapshot.digest }, 'a new policy is in force');
    warn(snapshot, log);
  };
  const onRefused = (findings: readonly string[]): void => {
    metrics.count('policyReloads', 'refused');
    reloads.refused(findings);
    log.error({ findings }, 'the policy files were refused; the last good policy stays in force');
  };
  const keep: KeepTexts = (texts) => {
    reloads.read(texts);
    return archive.keep(texts);
  };
  const watch = watchPolicy(folder, first, onChange, onRefused, {
    keep,
    check: rulesCheck(config, processEnvironment()),
  });
  opened.add(() => watch.close());
  return { policy: watch, tokens };
}

/** The policy that is tried out, if there is one. */
export async function openShadow(
  { config, log, opened }: Start,
  archive: PolicyArchive,
): Promise<Shadow> {
  const watch = await watchShadow(resolve(config.policies), {
    keep: (texts) => archive.keep(texts),
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
