import { wireLocation } from '../../../storage/object-key.ts';
import { randomUUID } from 'node:crypto';
import type { Answer } from '../../../protocol/backend.ts';
import { requireMode, jsonAnswer } from '../call/answers.ts';
import type { Stored, TableRecord } from '../../format/records.ts';
import { tableAlreadyExists } from '../../catalog/records/refusals.ts';
import type { Call, Handler } from '../call/handler.ts';
import { choiceField, propertiesField } from '../call/parameters.ts';
import { textField } from '../../base/fields.ts';
import { requireFree, reserveLocation, resolveDataset } from '../../versions/lines/locations.ts';
import { judgeLeaving } from '../../rules/place-judge.ts';
import { judgeRegistering, judgeRegisteringAgain } from '../../rules/register-judge.ts';
import { placeSummary } from '../../once/commit-summary.ts';
import { withExternalWrites } from '../../versions/managed/external-versions.ts';
import { backFill, type BackFillParts } from '../../versions/managed/back-fill.ts';
import { requireLanceTable } from '../../versions/managed/version-creation.ts';
import type { PlaceParts } from './declare-table.ts';
import type { ManagedParts } from '../call/managed-parts.ts';

/** Parts of RegisterTable. */
type RegisterParts = PlaceParts & BackFillParts & Pick<ManagedParts, 'tables'>;

/**
 * RegisterTable: a name for a table that Lance clients wrote and that lies where
 * tables may lie. All versions that it has get records in the same commit. `overwrite` takes the name from another table, which counts as
 * dropped, unless it lies at this very location: then it is that table still.
 */
export function registerTable(parts: RegisterParts): Handler {
  return async (call) => {
    const { object } = call.request;
    const mode = choiceField(call, 'mode');
    requireMode(call, mode);
    const properties = await withExternalWrites(parts.catalog, object, propertiesField(call));
    const existing = await parts.catalog.tablePlace(object);
    if (existing !== undefined && mode === 'create') throw tableAlreadyExists(object);
    const folder = await resolveDataset(textField(call.body, 'location') ?? '', parts.locations);
    return existing !== undefined && existing.content.location === folder
      ? registerAgain(parts, call, existing)
      : registerNew(parts, call, { folder, properties, existing });
  };
}

interface Registration {
  readonly folder: string;
  readonly properties: TableRecord['properties'];
  readonly existing: Stored<TableRecord> | undefined;
}

async function registerNew(
  parts: RegisterParts,
  call: Call,
  { folder, properties, existing }: Registration,
): Promise<Answer> {
  await requireFree(parts.store, folder);
  if (existing !== undefined) {
    const placed = { path: call.request.object, record: existing.content };
    await judgeLeaving(call.rules, parts.tables, placed, 'overwrite');
  }
  const id = randomUUID();
  const found = await backFill(parts, id, folder);
  await judgeRegistering(call.rules, { id, path: call.request.object, location: folder }, found);
  const createdMillis = Date.now();
  const record = { id, kind: 'lance', location: folder, properties, createdMillis } as const;
  const table = parts.catalog.local.claimed(record);
  const { checks, writes } = reserveLocation(folder, id);
  const answer = registered(call, table);
  await parts.catalog.createTableCommit(
    call.request.object,
    table,
    [...checks, ...found.checks],
    [...writes, ...found.writes],
    existing,
    call.once.seal(() => answer),
  );
  return answer;
}

/**
 * The location already belongs to this table, which may only be declared or written without the
 * catalog.
 */
async function registerAgain(
  parts: RegisterParts,
  call: Call,
  existing: Stored<TableRecord>,
): Promise<Answer> {
  const { object } = call.request;
  requireLanceTable(object, existing.content);
  const location = existing.content.location ?? '';
  const found = await backFill(parts, existing.content.id, location);
  const placed = { path: object, record: existing.content };
  await judgeRegisteringAgain(call.rules, parts.versions, placed, found);
  const given = call.body['properties'] === undefined ? {} : { properties: propertiesField(call) };
  const table = { ...existing.content, kind: 'lance', ...given } as const;
  const answer = registered(call, table);
  const seal = call.once.seal(() => answer);
  await parts.catalog.createTableCommit(object, table, found.checks, found.writes, existing, seal);
  return answer;
}

function registered(call: Call, { id, location, properties }: TableRecord): Answer {
  const notes = { mode: choiceField(call, 'mode'), commit: placeSummary('register', id) };
  return jsonAnswer(call, { location: wireLocation(location ?? ''), properties }, notes);
}
