import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { readKeys, updateKeys } from '../../gateway/identity/key-file.ts';
import { readKeyUses, type LastUses } from '../../gateway/identity/key-use.ts';
import {
  changedKeys,
  createdKeyDetails,
  keyContextTexts,
  keyState,
  makeKey,
  revoked,
  rotated,
  thawed,
  type KeyChange,
  type MadeKey,
  type StoredKey,
} from '../../gateway/identity/keys.ts';
import { configOf, withConfig } from '../config/command-config.ts';
import type { Config, ConfigPath } from '../config/config-table.ts';
import {
  dataFolderOf,
  makeDataFolder,
  openedForReading,
  type DataFolder,
} from '../service/data-folder.ts';
import { durationOf, keyContextOf, principalName, scopeOf } from '../config/key-details.ts';
import type { Run } from '../output/output.ts';
import { tableText, withTable, type PrintedColumn, type TableFlags } from '../output/table.ts';
import { TZ_ABOUT, zoneOf, type Zone } from '../output/zone.ts';
import { keyInventory } from '../service/known-keys.ts';
import { recorded, type RecordedCommand } from '../service/recorded-command.ts';
import { UsageError } from '../output/service-error.ts';

interface JsonFlag {
  readonly json?: boolean;
}

interface ListFlags extends JsonFlag, TableFlags {
  readonly tz?: string;
}

interface CreateFlags extends JsonFlag {
  readonly subject: string;
  readonly role: readonly string[];
  readonly scope: readonly string[];
  readonly context: readonly string[];
  readonly expires?: string;
}

interface RotateFlags extends JsonFlag {
  readonly overlap: string;
}

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

/** `arrowgate keys create|list|revoke|rotate|thaw`. */
export function addKeys(program: Command, run: Run): void {
  const keys = program.command('keys').description('manage API keys, also while a gateway runs');
  addCreate(keys, run);
  addList(keys, run);
  addRevoke(keys, run);
  addRotate(keys, run);
  addThaw(keys, run);
}

function subcommand(
  keys: Command,
  name: string,
  about: string,
  paths: readonly ConfigPath[] = ['data'],
): Command {
  return withConfig(keys.command(name), paths).description(about).option('--json', 'print JSON');
}

function addCreate(keys: Command, run: Run): void {
  subcommand(keys, 'create', 'make a key and print it once', ['data', 'policies'])
    .requiredOption('--subject <name>', 'whom the key stands for')
    .option('--role <role>', 'a role of this key alone; may be repeated', collect, [])
    .option('--scope <action:pattern>', 'restricts the key; may be repeated', collect, [])
    .option(
      '--context <key=value>',
      'the value of ctx.KEY in policies; may be repeated',
      collect,
      [],
    )
    .option('--expires <duration>', 'validity, such as 90d; default: unlimited')
    .action(async (flags: CreateFlags, command: Command) => {
      const made = madeFrom(flags, new Date());
      const folder = await folderOf(command);
      const details = createdKeyDetails(made.stored);
      await recorded(configOf(command), { operation: 'KeysCreate', details }, async () => {
        await updateKeys(folder.keys, (stored) => [...stored, made.stored]);
        return { result: undefined };
      });
      printMade(made, flags, run);
      await warnOfRoles(made, configOf(command), run);
    });
}

/** Warns about roles of a key that no line of the policy names. A key may be created before its policy. */
async function warnOfRoles({ stored }: MadeKey, config: Config, { output }: Run): Promise<void> {
  const folder = resolve(config.policies);
  if (stored.roles.length === 0 || !existsSync(folder)) return;
  const { unknownRoles } = await import('../service/key-roles.ts');
  for (const warning of await unknownRoles(stored, folder)) output.note(`warning: ${warning}`);
}

function madeFrom(flags: CreateFlags, now: Date): MadeKey {
  const scopes = flags.scope.map(scopeOf);
  const context = keyContextOf(flags.context);
  const life = flags.expires === undefined ? null : durationOf('--expires', flags.expires);
  const details = {
    subject: principalName('user', flags.subject),
    roles: flags.role.map((role) => principalName('role', role)),
    ...(scopes.length === 0 ? {} : { scopes }),
    ...(flags.context.length === 0 ? {} : { context }),
    expires: life === null ? null : new Date(now.getTime() + life),
  };
  return makeKey(details, now);
}

function addList(keys: Command, run: Run): void {
  withTable(subcommand(keys, 'list', 'all keys, without their secrets'))
    .option('--tz <zone>', TZ_ABOUT)
    .action(async (flags: ListFlags, command: Command) => {
      const now = new Date();
      const folder = await openedForReading(configOf(command));
      const stored = await readKeys(folder.keys);
      const uses = await readKeyUses(folder.keyUses);
      if (flags.json === true)
        run.output.line(JSON.stringify(stored.map((key) => keyInventory(key, uses, now))));
      else {
        const zone = zoneOf(flags.tz);
        const rows = stored.map((key) => cells(key, uses, { now, zone }));
        run.output.line(tableText(listColumns, rows, flags, run.output));
      }
    });
}

function addRevoke(keys: Command, run: Run): void {
  subcommand(keys, 'revoke', 'end a key at once')
    .argument('<id>', 'id of the key')
    .action(async (id: string, flags: JsonFlag, command: Command) => {
      const now = new Date();
      const folder = await presentFolderOf(command);
      const act: RecordedCommand = { operation: 'KeysRevoke', details: { id } };
      await recorded(configOf(command), act, async () => {
        await changeKey(folder, {
          id,
          states: ['active', 'frozen'],
          change: (key) => [revoked(key, now)],
        });
        return { result: undefined };
      });
      run.output.line(flags.json === true ? JSON.stringify({ revoked: id }) : `revoked ${id}`);
    });
}

function addRotate(keys: Command, run: Run): void {
  subcommand(keys, 'rotate', 'make a successor and give the old key an end')
    .argument('<id>', 'id of the old key')
    .option('--overlap <duration>', 'how long both are valid', '24h')
    .action(async (id: string, flags: RotateFlags, command: Command) => {
      const now = new Date();
      const overlap = durationOf('--overlap', flags.overlap);
      const folder = await presentFolderOf(command);
      const details = { id, overlap: flags.overlap };
      const made: MadeKey[] = [];
      await recorded(configOf(command), { operation: 'KeysRotate', details }, async () => {
        const change = (key: StoredKey) => {
          const pair = rotated(key, overlap, now);
          made.splice(0, made.length, pair.made);
          return [pair.old, pair.made.stored];
        };
        await changeKey(folder, { id, states: ['active'], change });
        return { result: undefined, details: { successor: made[0]?.stored.id ?? '' } };
      });
      for (const key of made) printMade(key, flags, run);
    });
}

function addThaw(keys: Command, run: Run): void {
  subcommand(keys, 'thaw', 'let a key be used again that asked for a canary')
    .argument('<id>', 'id of the frozen key')
    .action(async (id: string, flags: JsonFlag, command: Command) => {
      const folder = await presentFolderOf(command);
      const act: RecordedCommand = { operation: 'KeysThaw', details: { id } };
      await recorded(configOf(command), act, async () => {
        await changeKey(folder, { id, states: ['frozen'], change: (key) => [thawed(key)] });
        return { result: undefined };
      });
      run.output.line(flags.json === true ? JSON.stringify({ thawed: id }) : `thawed ${id}`);
    });
}

/** Replaces one key. @throws UsageError when it cannot be changed so */
async function changeKey(folder: DataFolder, change: KeyChange): Promise<void> {
  await updateKeys(folder.keys, (stored) => {
    const found = changedKeys(stored, change);
    if ('fault' in found) throw new UsageError(found.fault);
    return found.keys;
  });
}

/** The data folder of a change of keys that are there. @throws UsageError when there is no such folder */
async function presentFolderOf(command: Command): Promise<DataFolder> {
  await openedForReading(configOf(command));
  return folderOf(command);
}

/** The data folder, which is made where it is missing: a key may be made before the first start. */
async function folderOf(command: Command): Promise<DataFolder> {
  const folder = dataFolderOf(configOf(command));
  await makeDataFolder(folder);
  return folder;
}

function printMade(made: MadeKey, flags: JsonFlag, run: Run): void {
  const { id, subject, expires } = made.stored;
  run.output.line(
    flags.json === true ? JSON.stringify({ id, subject, expires, key: made.text }) : made.text,
  );
}

const listColumns: readonly PrintedColumn[] = [
  { heading: 'ID' },
  { heading: 'SUBJECT', least: 10 },
  { heading: 'STATE' },
  { heading: 'ROLES', least: 10 },
  { heading: 'SCOPES', least: 8 },
  { heading: 'CONTEXT', least: 8 },
  { heading: 'EXPIRES', least: 11 },
  { heading: 'LAST USED', least: 11 },
  { heading: 'CREATED', least: 11 },
];

function cells(
  key: StoredKey,
  uses: LastUses,
  { now, zone }: { readonly now: Date; readonly zone: Zone },
): readonly string[] {
  const lastUse = uses.get(key.id);
  const scopes = (key.scopes ?? []).map((scope) => `${scope.action}:${scope.pattern}`);
  return [
    key.id,
    key.subject,
    keyState(key, now),
    key.roles.join(' ') || '-',
    scopes.join(' ') || '-',
    keyContextTexts(key.context).join(' ') || '-',
    key.expires === null ? 'never' : zone.shown(key.expires),
    lastUse === undefined ? 'never' : zone.shown(lastUse),
    zone.shown(key.created),
  ];
}
