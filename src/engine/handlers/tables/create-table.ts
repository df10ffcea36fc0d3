import { isObjectKey, wireLocation } from '../../../storage/object-key.ts';
import { randomUUID } from 'node:crypto';
import type { Answer } from '../../../protocol/backend.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { Flushes } from '../../../storage/flushes.ts';
import { encodeTable } from '../../catalog/records/records-codec.ts';
import type { Stored, TableRecord } from '../../format/records.ts';
import { tableAlreadyExists } from '../../catalog/records/refusals.ts';
import { jsonAnswer } from '../call/answers.ts';
import type { Call, Handler } from '../call/handler.ts';
import { byQueryMode, propertiesWarning } from '../call/parameters.ts';
import { overwritten } from '../../format/change.ts';
import { checkColumns, openIncoming } from '../../format/incoming.ts';
import { withExternalWrites } from '../../versions/managed/external-versions.ts';
import { formatOfNew, type FormatOf } from '../../versions/table-format.ts';
import { requireFree, reserveLocation, resolveLocation } from '../../versions/lines/locations.ts';
import type { Committed } from '../../versions/lines/version-commits.ts';
import { versionJudge } from '../../rules/version-judge.ts';
import { commitSummary } from '../../once/commit-summary.ts';
import { creationOptions, type CreationOptions } from './creation-options.ts';
import { commitFiles, type TableParts } from '../call/table-parts.ts';

/** A Lance table to be made. */
export interface NewLanceTable {
  readonly properties: TableRecord['properties'];
  /** The chosen folder, which is empty; null for one of its own. */
  readonly location: string | null;
  /** A table without data, which counts as dropped when the new one takes its name. */
  readonly replace: Stored<TableRecord> | undefined;
}

/** Makes Lance tables of the rows of requests, and their next versions. */
export interface LanceTables {
  create(call: Call, table: NewLanceTable): Promise<Answer>;
  /** @param properties Those of the table from then on; its own if undefined. */
  overwrite(
    call: Call,
    table: Stored<TableRecord>,
    properties: TableRecord['properties'] | undefined,
  ): Promise<Answer>;
}

/** Parts of CreateTable. */
export interface CreateTableParts extends TableParts {
  readonly lanceTables: LanceTables;
  /** The configured format of a new table. */
  readonly formatOf: FormatOf;
}

interface Creation {
  readonly call: Call;
  readonly options: CreationOptions;
  readonly parts: CreateTableParts;
}

/**
 * CreateTable: the schema is the stream's, an empty stream makes an empty
 * table. `exist_ok` answers a table that is there without reading the body;
 * `overwrite` makes its next version, so that its history stays. One that was
 * only declared has none, and a new table takes its name.
 */
export function createTable(parts: CreateTableParts): Handler {
  return async (call) => {
    const mode = byQueryMode(call, modes);
    const creation = { call, parts, options: creationOptions(call.request) };
    const existing = await parts.catalog.tablePlace(call.request.object);
    return existing === undefined ? mode.absent(creation) : mode.present(creation, existing);
  };
}

/** Effect of a mode on a free name and on an existing table. */
interface Mode {
  readonly absent: (creation: Creation) => Promise<Answer>;
  readonly present: (creation: Creation, table: Stored<TableRecord>) => Promise<Answer>;
}

const modes: Readonly<Record<string, Mode>> = {
  create: {
    absent: createNew,
    present: ({ call }) => Promise.reject(tableAlreadyExists(call.request.object)),
  },
  exist_ok: { absent: createUnlessThere, present: describeExisting },
  overwrite: { absent: createNew, present: overwrite },
};

async function describeExisting(
  { call, parts, options }: Creation,
  { content }: Stored<TableRecord>,
): Promise<Answer> {
  const { location, properties } = content;
  const said = { properties, ...propertiesWarning(options.properties, properties) };
  if (content.kind !== 'engine') {
    const place = location === null ? {} : { location: wireLocation(location) };
    return call.once.note(jsonAnswer(call, { ...place, ...said }));
  }
  const { version } = await parts.tables.snapshot(content);
  return call.once.note(jsonAnswer(call, { version, ...said }));
}

/**
 * If another writer creates the table while the body is read, the result is the same as if it
 * existed before.
 */
async function createUnlessThere(creation: Creation): Promise<Answer> {
  try {
    return await createNew(creation);
  } catch (error) {
    if (!(error instanceof CatalogError) || error.row.name !== 'TableAlreadyExists') throw error;
    const { call, parts } = creation;
    return describeExisting(creation, await parts.catalog.requireTable(call.request.object));
  }
}

/** @param replace A table without data, which counts as dropped when the new one takes its name. */
async function createNew(creation: Creation, replace?: Stored<TableRecord>): Promise<Answer> {
  const { call, parts } = creation;
  const format = await formatOfNew(parts.catalog, call.request.object, parts.formatOf);
  return format === 'lance' ? createLance(creation, replace) : createOwn(creation, replace);
}

async function createLance(
  { call, parts, options }: Creation,
  replace: Stored<TableRecord> | undefined,
): Promise<Answer> {
  const given = options.properties ?? replace?.content.properties ?? {};
  const properties = await withExternalWrites(parts.catalog, call.request.object, given);
  const location = await placeOf(parts, options.location);
  return parts.lanceTables.create(call, { properties, location, replace });
}

async function createOwn(
  { call, parts, options }: Creation,
  replace: Stored<TableRecord> | undefined,
): Promise<Answer> {
  const { catalog, tables } = parts;
  const { request } = call;
  const table = await newTable(parts, options, replace?.content);
  const incoming = await openIncoming(request, parts);
  checkColumns(incoming.schema);
  const kind = replace === undefined ? 'create' : 'overwrite';
  const answer = (made: Committed) => created(call, made, table.properties, kind);
  const flushes = new Flushes();
  const judge = versionJudge(call.rules, tables, {
    path: request.object,
    table,
    action: 'create',
  });
  const files = await tables.begin(table, incoming.schema, incoming.batches, flushes);
  const committed = await tables.first(
    table,
    incoming.schema,
    files,
    async (checks, writes, made) => {
      await judge?.(made);
      const place = reservation(table);
      return catalog.createTableCommit(
        request.object,
        table,
        [...checks, ...place.checks],
        [...writes, ...place.writes],
        replace,
        call.once.seal(() => answer(made)),
      );
    },
    flushes,
  );
  return answer(committed);
}

async function newTable(
  parts: TableParts,
  options: CreationOptions,
  before: TableRecord | undefined,
): Promise<TableRecord> {
  return parts.catalog.local.claimed({
    id: randomUUID(),
    kind: 'engine',
    location: await folderOf(parts, options.location),
    properties: options.properties ?? before?.properties ?? {},
    createdMillis: Date.now(),
    expires: true,
  });
}

async function placeOf(parts: TableParts, location: string | undefined): Promise<string | null> {
  if (location === undefined) return null;
  const folder = await resolveLocation(location, parts.locations);
  await requireFree(parts.store, folder);
  return folder;
}

/** @throws CatalogError InvalidInput for a location in an object store */
async function folderOf(parts: TableParts, location: string | undefined): Promise<string | null> {
  const place = await placeOf(parts, location);
  if (place === null || !isObjectKey(place)) return place;
  throw new CatalogError(
    'InvalidInput',
    `the location ${wireLocation(place)} lies in an object store, and the new table has the format arrow, which needs a folder: leave the location out, or make a Lance table`,
  );
}

function reservation(table: TableRecord): ReturnType<typeof reserveLocation> {
  if (table.location === null) return { checks: [], writes: [] };
  return reserveLocation(table.location, table.id);
}

async function overwrite(creation: Creation, table: Stored<TableRecord>): Promise<Answer> {
  if (table.content.kind === 'declared') return createNew(creation, table);
  const { call, parts, options } = creation;
  const { request } = call;
  if (options.location !== undefined) {
    throw new CatalogError('InvalidInput', 'a table that is overwritten keeps its location');
  }
  if (table.content.kind === 'lance') {
    return parts.lanceTables.overwrite(call, table, options.properties);
  }
  const { schema, batches } = await openIncoming(request, parts);
  checkColumns(schema);
  const files = await parts.tables.write(table.content, schema, batches);
  const properties = options.properties ?? table.content.properties;
  const answer = (made: Committed) => created(call, made, properties, 'overwrite');
  const committed = await commitFiles(parts, request.object, files, {
    table,
    change: (base) => overwritten(base, schema, files),
    writes: ({ key, content }) => [{ key, value: encodeTable({ ...content, properties }) }],
    judge: versionJudge(call.rules, parts.tables, {
      path: request.object,
      table: table.content,
      action: 'overwrite',
      classes: new Set(['drop'] as const),
    }),
    seal: call.once.seal(answer),
  });
  return answer(committed);
}

function created(
  call: Call,
  committed: Committed,
  properties: Readonly<Record<string, string>>,
  kind: string,
): Answer {
  const { version } = committed.manifest;
  return jsonAnswer(call, { version, properties }, { commit: commitSummary(kind, committed) });
}
