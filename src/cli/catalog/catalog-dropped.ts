import type { Command } from 'commander';
import type { DroppedTable } from '../../engine/upkeep/retention/dropped-tables.ts';
import { canonicalPath } from '../../protocol/identifier.ts';
import { configOf, withConfig } from '../config/command-config.ts';
import type { Run } from '../output/output.ts';
import { tableText, withTable, type PrintedColumn, type TableFlags } from '../output/table.ts';
import { TZ_ABOUT, zoneOf } from '../output/zone.ts';
import { recorded, type RecordedCommand } from '../service/recorded-command.ts';
import { tablePathOf, withReading, withUpkeep } from '../service/with-upkeep.ts';

interface JsonFlag {
  readonly json?: boolean;
}

interface ListFlags extends JsonFlag, TableFlags {
  readonly tz?: string;
}

interface UndropFlags extends JsonFlag {
  readonly id?: string;
  readonly as?: string;
}

/** A dropped table as it is printed. */
interface Shown {
  readonly table: string;
  readonly id: string;
  readonly kind: string;
  readonly dropped: string;
  /** Until when it can be brought back for certain; later it goes with the next collection. */
  readonly until: string;
}

/** `arrowgate catalog dropped`. */
export function addDropped(catalog: Command, run: Run): void {
  withTable(withConfig(catalog.command('dropped'), ['data', 'coordination.redis']))
    .description('list the dropped tables that can be restored, and until when')
    .option('--tz <zone>', TZ_ABOUT)
    .option('--json', 'print JSON')
    .action(async (flags: ListFlags, command: Command) => {
      const retention = configOf(command)['drop.retention'];
      const found = await withReading(command, (reading) => reading.dropped());
      const rows = found.map((table) => shown(table, retention));
      run.output.line(flags.json === true ? JSON.stringify(rows) : listOf(rows, flags, run));
    });
}

/** `arrowgate catalog undrop`. */
export function addUndrop(catalog: Command, run: Run): void {
  withConfig(catalog.command('undrop'), ['data', 'coordination.redis'])
    .argument('<table>', 'the canonical path that the table had, such as /prod/sales')
    .option('--id <table-id>', 'id of the table; default: the one that was dropped last')
    .option('--as <path>', 'new canonical path; default: the old one')
    .description('restore a dropped table, with its versions, tags and properties')
    .option('--json', 'print JSON')
    .action(async (table: string, flags: UndropFlags, command: Command) => {
      const from = tablePathOf(table);
      const to = flags.as === undefined ? undefined : tablePathOf(flags.as);
      const act: RecordedCommand = {
        operation: 'CatalogUndrop',
        object: canonicalPath(from),
        details: to === undefined ? {} : { as: canonicalPath(to) },
      };
      const back = await withUpkeep(command, (upkeep) =>
        recorded(configOf(command), act, async () => {
          const result = await upkeep.dropped.undrop(from, flags.id, to);
          return { result, details: { id: result.id } };
        }),
      );
      const name = canonicalPath(back.path);
      run.output.line(
        flags.json === true
          ? JSON.stringify({ table: name, id: back.id })
          : `${name} is back (id ${back.id})`,
      );
    });
}

function shown(table: DroppedTable, retentionMillis: number): Shown {
  return {
    table: canonicalPath(table.path),
    id: table.id,
    kind: table.kind,
    dropped: timeOf(table.droppedMillis),
    until: timeOf(table.droppedMillis + retentionMillis),
  };
}

/** The latest moment that a date can stand for. */
const LAST_MILLIS = 8_640_000_000_000_000;

function timeOf(millis: number): string {
  return new Date(Math.min(millis, LAST_MILLIS)).toISOString();
}

const listColumns: readonly PrintedColumn[] = [
  { heading: 'TABLE', least: 12 },
  { heading: 'ID', least: 12 },
  { heading: 'DROPPED', least: 17 },
  { heading: 'UNTIL', least: 17 },
];

function listOf(rows: readonly Shown[], flags: ListFlags, { output }: Run): string {
  const zone = zoneOf(flags.tz);
  if (rows.length === 0) return 'no dropped table is kept';
  const cells = rows.map(({ table, id, dropped, until }) => [
    table,
    id,
    zone.shown(dropped),
    zone.shown(until),
  ]);
  return tableText(listColumns, cells, flags, output);
}
