import { pathToFileURL } from 'node:url';
import type { Answer } from '../../protocol/backend.ts';
import { jsonAnswer } from '../answers.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { TableRecord } from '../catalog/records.ts';
import type { Call } from '../handler.ts';
import { judgeLeaving } from '../rules/place-judge.ts';
import { releaseLocation } from '../table/locations.ts';
import type { Tables } from '../table/tables.ts';
import { placeSummary } from './commit-summary.ts';

/**
 * DeregisterTable: the catalog forgets the table, its files stay for good. Where
 * they lie is said even of a table that this engine wrote: nobody else knows.
 */
export async function deregisterTable(
  catalog: Catalog,
  tables: Tables,
  call: Call,
): Promise<Answer> {
  const { object } = call.request;
  const answer = (table: TableRecord): Answer =>
    jsonAnswer(
      call,
      { id: object, location: whereabouts(tables, table), properties: table.properties },
      { commit: placeSummary('deregister') },
    );
  const farewell = ({ location }: TableRecord) =>
    location === null ? [] : [releaseLocation(location)];
  return answer(
    await catalog.deregisterTable(object, farewell, call.once.seal(answer), (record) =>
      judgeLeaving(call.rules, tables, { path: object, record }, 'deregister'),
    ),
  );
}

/** Where the files of a table that leaves the catalog lie. */
export function whereabouts(
  tables: Pick<Tables, 'folder'>,
  table: TableRecord,
): string | undefined {
  if (table.kind !== 'engine') return table.location ?? undefined;
  return pathToFileURL(tables.folder(table)).href;
}
