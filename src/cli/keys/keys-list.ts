import type { Command } from 'commander';
import type { LastUses } from '../../gateway/identity/key-use.ts';
import { keyContextTexts, keyState, type StoredKey } from '../../gateway/identity/keys.ts';
import { configOf } from '../config/command-config.ts';
import type { Run } from '../output/output.ts';
import { tableText, withTable, type PrintedColumn, type TableFlags } from '../output/table.ts';
import { TZ_ABOUT, zoneOf, type Zone } from '../output/zone.ts';
import { openedForReading } from '../service/data-folder.ts';
import { keyInventory } from '../service/known-keys.ts';
import { withKeyBook } from '../service/open-keys.ts';

interface ListFlags extends TableFlags {
  readonly json?: boolean;
  readonly tz?: string;
}

/** The action of `arrowgate keys list`. */
export function addList(list: Command, run: Run): void {
  withTable(list)
    .option('--tz <zone>', TZ_ABOUT)
    .action(async (flags: ListFlags, command: Command) => {
      const now = new Date();
      const config = configOf(command);
      const [stored, uses] = await withKeyBook(config, await openedForReading(config), (book) =>
        Promise.all([book.read(), book.uses()]),
      );
      if (flags.json === true)
        run.output.line(JSON.stringify(stored.map((key) => keyInventory(key, uses, now))));
      else {
        const zone = zoneOf(flags.tz);
        const rows = stored.map((key) => cells(key, uses, { now, zone }));
        run.output.line(tableText(listColumns, rows, flags, run.output));
      }
    });
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
