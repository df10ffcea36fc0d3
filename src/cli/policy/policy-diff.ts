import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { archivedPolicy } from '../../audit/archived-policies.ts';
import { POLICIES_FOLDER } from '../../audit/chain/log-files.ts';
import { readOutline } from '../../engine/upkeep/verification/catalog-outline.ts';
import { principalOf } from '../../gateway/identity/key-ring.ts';
import { buildPolicy, type LoadedPolicy } from '../../policy/load.ts';
import {
  accessChanges,
  comparedCallers,
  comparisonNotes,
  type AccessChange,
} from '../../policy/access-diff.ts';
import { filesOfPolicy, policyDigest, readPolicyTexts } from '../../policy/policy-folder.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';
import { configOf, withConfig } from '../config/command-config.ts';
import type { Config } from '../config/config-table.ts';
import { meterOf, type Run } from '../output/output.ts';
import { UsageError } from '../output/service-error.ts';
import { tableText, withTable, type TableFlags } from '../output/table.ts';
import { dataFolderOf, disk } from '../service/data-folder.ts';
import { activeKeys, isDataFolder } from '../service/known-keys.ts';
import { readKeys } from '../../gateway/identity/key-file.ts';
import { sightDifferences, type SightDifference } from './sight-diff.ts';

interface DiffFlags extends TableFlags {
  readonly json?: boolean;
}

/** The lines of one file that only one of the policies has. */
interface FileChange {
  readonly file: string;
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

interface PolicyDiff {
  /** Digests. */
  readonly before: string;
  readonly after: string;
  readonly files: readonly FileChange[];
  readonly access: readonly AccessChange[];
  /** Other rows and columns of tables that both policies let a caller query. */
  readonly sight: readonly SightDifference[];
  readonly notes: readonly string[];
}

/** `arrowgate policy diff`. */
export function addDiff(policy: Command, run: Run): void {
  withTable(withConfig(policy.command('diff'), ['data']))
    .argument('<before>', 'a policy folder, or the digest of an archived policy or its beginning')
    .argument('<after>', 'the same; . is no digest, so the folder policies is ./policies')
    .description('compare two policies: changed lines, and whose access they change')
    .option('--json', 'print JSON')
    .action(async (before: string, after: string, flags: DiffFlags, command: Command) => {
      const found = await diffOf(configOf(command), before, after, run);
      run.code = found.access.length + found.sight.length === 0 ? 0 : 1;
      for (const note of found.notes) run.output.note(`note: ${note}`);
      run.output.line(flags.json === true ? JSON.stringify(found) : textOf(found, flags, run));
    });
}

async function diffOf(
  config: Config,
  from: string,
  to: string,
  { output }: Run,
): Promise<PolicyDiff> {
  const folder = dataFolderOf(config);
  const before = await loaded(folder.audit, from);
  const after = await loaded(folder.audit, to);
  const isThere = await isDataFolder(folder.root).catch(() => false);
  const keys = isThere ? activeKeys(await readKeys(folder.keys), new Date()) : [];
  const callers = comparedCallers(
    before,
    after,
    keys.filter(({ roles, scopes }) => roles.length > 0 || scopes !== undefined).map(principalOf),
  );
  const { namespaces, tables } = await existingObjects(isThere ? folder.root : null);
  const access = accessChanges(
    before,
    after,
    callers,
    [...namespaces, ...tables],
    meterOf(output, 'callers', { total: callers.length }),
  );
  return {
    before: before.snapshot.digest,
    after: after.snapshot.digest,
    files: fileChanges(before, after),
    access,
    sight: sightDifferences(before, after, callers, tables),
    notes: comparisonNotes(before, after),
  };
}

/** @throws UsageError for a name that is neither folder nor archived digest, PolicyError for a broken policy */
async function loaded(audit: string, typed: string): Promise<LoadedPolicy> {
  const isFolder = await stat(typed).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (isFolder) return buildPolicy(await readPolicyTexts(resolve(typed)));
  const digest = await archivedDigest(audit, typed);
  const texts = await readPolicyTexts(archivedPolicy(audit, digest));
  if (policyDigest(texts) === digest) return buildPolicy(texts);
  throw new UsageError(
    `the archived policy ${digest} was changed: its files no longer have this digest`,
  );
}

async function archivedDigest(audit: string, typed: string): Promise<string> {
  const all = await readdir(join(audit, POLICIES_FOLDER)).catch((): string[] => []);
  const found = /^[0-9a-f]{6,64}$/.test(typed) ? all.filter((name) => name.startsWith(typed)) : [];
  const [digest] = found;
  if (digest !== undefined && found.length === 1) return digest;
  const why =
    found.length > 1
      ? `begins ${found.length} archived digests`
      : 'is neither a policy folder nor the digest of an archived policy';
  throw new UsageError(`${typed} ${why}: \`arrowgate policy log\` lists them`);
}

async function existingObjects(
  root: string | null,
): Promise<{ readonly namespaces: readonly ObjectPath[]; readonly tables: readonly ObjectPath[] }> {
  const outline = root === null ? undefined : await readOutline(disk, root).catch(() => undefined);
  return {
    namespaces: outline?.namespaces ?? [],
    tables: outline?.tables.map(({ path }) => path) ?? [],
  };
}

function fileChanges(before: LoadedPolicy, after: LoadedPolicy): readonly FileChange[] {
  const [old, next] = [before, after].map(
    ({ texts }) => new Map(filesOfPolicy(texts).map(({ name, text }) => [name, text.split('\n')])),
  ) as [Map<string, string[]>, Map<string, string[]>];
  return [...new Set([...old.keys(), ...next.keys()])].flatMap((file) => {
    const removed = linesOnlyIn(old.get(file) ?? [], next.get(file) ?? []);
    const added = linesOnlyIn(next.get(file) ?? [], old.get(file) ?? []);
    return removed.length + added.length === 0 ? [] : [{ file, removed, added }];
  });
}

/** Lines of one text that another does not have, as often as they are missing there. */
function linesOnlyIn(lines: readonly string[], others: readonly string[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const line of others) counts.set(line, (counts.get(line) ?? 0) + 1);
  return lines.filter((line) => {
    const count = counts.get(line) ?? 0;
    counts.set(line, count - 1);
    return count <= 0 && line.trim() !== '';
  });
}

const columns = [
  { heading: '' },
  { heading: 'CALLER', least: 12 },
  { heading: 'OBJECT', least: 12 },
  { heading: 'ACTIONS', least: 12 },
  { heading: 'BEFORE', least: 8 },
  { heading: 'AFTER', least: 8 },
];

function textOf(found: PolicyDiff, flags: TableFlags, run: Run): string {
  const { before, after, files, access, sight } = found;
  if (before === after) return `both are the policy ${before}`;
  const lines = files.flatMap(({ file, removed, added }) => [
    `${file}: ${removed.length} lines removed, ${added.length} added`,
    ...removed.map((line) => `  - ${line}`),
    ...added.map((line) => `  + ${line}`),
  ]);
  const rows = access.map((change) => [
    change.kind,
    change.caller,
    change.object,
    change.actions.join(' '),
    change.before ?? 'no line',
    change.after ?? 'no line',
  ]);
  return [
    ...lines,
    access.length === 0 ? "nobody's access changes" : tableText(columns, rows, flags, run.output),
    ...(sight.length === 0
      ? []
      : [tableText(sightColumns, sight.map(sightRow), flags, run.output)]),
  ].join('\n');
}

const sightColumns = [
  { heading: 'SEES' },
  { heading: 'CALLER', least: 12 },
  { heading: 'OBJECT', least: 12 },
  { heading: 'BEFORE', least: 12 },
  { heading: 'AFTER', least: 12 },
];

function sightRow({ direction, column, caller, object, was, now }: SightDifference) {
  return [`${direction} ${column === null ? 'rows' : `of ${column}`}`, caller, object, was, now];
}
