import { join } from 'node:path';
import type { StoreEntry } from '../../../store/store.ts';
import { decodeBranch, decodeDropped, decodeTable } from '../../catalog/records/records-codec.ts';
import type { JournalState } from '../../catalog/journal/journal-state.ts';
import { EXTERNAL, externalKey } from '../../catalog/records/keys.ts';
import type { TableKind, TableRecord } from '../../format/records.ts';
import { MAIN } from '../../format/chain.ts';
import { decodeVersion } from '../../format/version-codec.ts';

/** The head of a line of versions. */
interface Head {
  readonly tableId: string;
  /** `main`, or a branch's id. */
  readonly chain: string;
  readonly version: bigint;
}

/** The head of a line of versions of a table whose files lie in a folder. */
export interface PlacedHead extends Head {
  readonly kind: TableKind;
  readonly folder: string;
  /** The name of its branch. */
  readonly branch: string;
}

/** A table that is declared, and that Lance clients may have begun to write. */
export interface DeclaredTable {
  readonly key: string;
  readonly record: TableRecord;
  readonly folder: string;
}

/**
 * The newest version of each line of each table of a state. A line is left out that has a refused
 * external version: a rebuild must not take that up.
 * @param root The folder that holds a folder for each table.
 */
export async function headsOf(state: JournalState, root: string): Promise<readonly PlacedHead[]> {
  const tables = new Map<string, TableRecord>();
  const branches = new Map<string, string>();
  const refused = new Set<string>();
  const heads: Head[] = [];
  for await (const entry of state.entries()) {
    const { key, value } = entry;
    const table = tableOf(entry);
    if (table !== undefined) tables.set(table.id, table);
    if (key.startsWith(EXTERNAL)) refused.add(key);
    if (key.startsWith('H')) heads.push(headOf(entry));
    if (key.startsWith('B')) branches.set(decodeBranch(value).id, key.slice(key.indexOf('/') + 1));
  }
  return heads.flatMap((head) => {
    const table = tables.get(head.tableId);
    const branch = head.chain === MAIN ? MAIN : branches.get(head.chain);
    if (table === undefined || branch === undefined) return [];
    if (refused.has(externalKey(head.tableId, head.chain))) return [];
    const { kind, location } = table;
    return [{ ...head, kind, branch, folder: location ?? join(root, table.id) }];
  });
}

/** The tables of a state that have no version as far as it knows, and none that was refused, but a folder for some. */
export async function declaredTables(state: JournalState): Promise<readonly DeclaredTable[]> {
  const found: DeclaredTable[] = [];
  const refused = new Set<string>();
  for await (const { key, value } of state.entries()) {
    if (key.startsWith(EXTERNAL)) refused.add(key);
    if (!key.startsWith('T')) continue;
    const record = decodeTable(value);
    const { kind, location } = record;
    if (kind === 'declared' && location !== null) found.push({ key, record, folder: location });
  }
  return found.filter(({ record: { id } }) => !refused.has(externalKey(id, MAIN)));
}

/** The record of a table that an entry is, one too that was dropped and can be brought back. */
export function tableOf({ key, value }: StoreEntry): TableRecord | undefined {
  if (key.startsWith('T')) return decodeTable(value);
  return key.startsWith('D') ? decodeDropped(value).record : undefined;
}

function headOf({ key, value }: StoreEntry): Head {
  const slash = key.indexOf('/');
  const chain = decodeURIComponent(key.slice(slash + 1));
  return { tableId: key.slice(1, slash), chain, version: decodeVersion(value).version };
}
