import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import {
  changedKeys,
  createdKeyDetails,
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
import {
  durationOf,
  keyContextOf,
  principalName,
  scopeOf,
  typedKeyId,
} from '../config/key-details.ts';
import type { Run } from '../output/output.ts';
import { withKeyBook } from '../service/open-keys.ts';
import { recorded, type RecordedCommand } from '../service/recorded-command.ts';
import { UsageError } from '../output/service-error.ts';
import { addList } from './keys-list.ts';
import { addMove } from './keys-move.ts';

interface JsonFlag {
  readonly json?: boolean;
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

/** `arrowgate keys create|list|revoke|rotate|thaw|move`. */
export function addKeys(program: Command, run: Run): void {
  const keys = program.command('keys').description('manage API keys, also while a gateway runs');
  addCreate(keys, run);
  addList(subcommand(keys, 'list', 'all keys, without their secrets'), run);
  addRevoke(keys, run);
  addRotate(keys, run);
  addThaw(keys, run);
  addMove(subcommand(keys, 'move', 'share the keys of a data folder through Redis'), run);
}

function subcommand(
  keys: Command,
  name: string,
  about: string,
  paths: readonly ConfigPath[] = ['data', 'coordination.redis'],
): Command {
  return withConfig(keys.command(name), paths).description(about).option('--json', 'print JSON');
}

function addCreate(keys: Command, run: Run): void {
  subcommand(keys, 'create', 'make a key and print it once', [
    'data',
    'coordination.redis',
    'policies',
  ])
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
      const config = configOf(command);
      await recorded(config, { operation: 'KeysCreate', details }, async () => {
        await withKeyBook(config, folder, (book) =>
          book.update((stored) => [...stored, made.stored]),
        );
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

function addRevoke(keys: Command, run: Run): void {
  subcommand(keys, 'revoke', 'end a key at once')
    .argument('<id>', 'id of the key', typedKeyId)
    .action(async (id: string, flags: JsonFlag, command: Command) => {
      const now = new Date();
      const folder = await presentFolderOf(command);
      const act: RecordedCommand = { operation: 'KeysRevoke', details: { id } };
      await recorded(configOf(command), act, async () => {
        await changeKey(configOf(command), folder, {
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
    .argument('<id>', 'id of the old key', typedKeyId)
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
        await changeKey(configOf(command), folder, { id, states: ['active'], change });
        return { result: undefined, details: { successor: made[0]?.stored.id ?? '' } };
      });
      for (const key of made) printMade(key, flags, run);
    });
}

function addThaw(keys: Command, run: Run): void {
  subcommand(keys, 'thaw', 'let a key be used again that asked for a canary')
    .argument('<id>', 'id of the frozen key', typedKeyId)
    .action(async (id: string, flags: JsonFlag, command: Command) => {
      const folder = await presentFolderOf(command);
      const act: RecordedCommand = { operation: 'KeysThaw', details: { id } };
      await recorded(configOf(command), act, async () => {
        await changeKey(configOf(command), folder, {
          id,
          states: ['frozen'],
          change: (key) => [thawed(key)],
        });
        return { result: undefined };
      });
      run.output.line(flags.json === true ? JSON.stringify({ thawed: id }) : `thawed ${id}`);
    });
}

/** Replaces one key. @throws UsageError when it cannot be changed so */
async function changeKey(config: Config, folder: DataFolder, change: KeyChange): Promise<void> {
  await withKeyBook(config, folder, (book) =>
    book.update((stored) => {
      const found = changedKeys(stored, change);
      if ('fault' in found) throw new UsageError(found.fault);
      return found.keys;
    }),
  );
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
