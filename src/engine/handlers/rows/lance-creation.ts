import { randomUUID } from 'node:crypto';
import type { Answer } from '../../../protocol/backend.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { canonicalPath } from '../../../protocol/identifier.ts';
import type { Fields } from '../../base/fields.ts';
import { statementOf } from '../../base/statement.ts';
import { tookNoEffect } from '../../catalog/records/commit-loop.ts';
import { tableKey } from '../../catalog/records/keys.ts';
import { encodeTable } from '../../catalog/records/records-codec.ts';
import { MAIN } from '../../format/chain.ts';
import type { Stored, TableRecord } from '../../format/records.ts';
import { managedFolder, reserveLocation } from '../../versions/lines/locations.ts';
import { CreationMark } from '../../versions/managed/creation-mark.ts';
import { durableGates } from '../../versions/managed/durable-files.ts';
import type {
  LanceLibrary,
  LanceRowsFile,
  LanceVersions,
} from '../../versions/managed/lance-library.ts';
import { changeInParts } from '../../versions/managed/parted-change.ts';
import type { Gates } from '../../versions/managed/staged-manifest.ts';
import {
  letGo,
  VersionPlan,
  type PlannedVersion,
} from '../../versions/managed/version-creation.ts';
import { settleVersions } from '../../versions/managed/version-names.ts';
import { versionNotFound } from '../../format/version-refusals.ts';
import { OverBudget } from '../../../protocol/budget.ts';
import { jsonAnswer } from '../call/answers.ts';
import { writtenByLance } from '../call/table-parts.ts';
import type { Call } from '../call/handler.ts';
import type { LanceTables, NewLanceTable } from '../tables/create-table.ts';
import { gatesOf, versionRequest } from '../versions/create-version.ts';
import type { ManagedParts } from '../call/managed-parts.ts';
import type { LanceAccess } from './library-reads.ts';
import { rowsFileOf, type RowsParts } from './rows-file.ts';
import { changeLanceTable, versionText } from './library-changes.ts';

/** Parts of making Lance tables. */
export type CreationParts = ManagedParts & RowsParts & { readonly lance?: LanceAccess | undefined };

/** Lance tables as CreateTable makes and overwrites them, through the library. */
export function lanceTables(parts: CreationParts): LanceTables {
  return {
    create: async (call, table) => new Creation(parts, call, table).run(libraryOf(parts, call)),
    overwrite: async (call, table, properties) => {
      const library = parts.lance?.library;
      if (library === undefined) throw writtenByLance(call.request.object, parts.lance?.instead);
      const rows = await rowsFileOf(parts, call);
      try {
        return await changeLanceTable({ ...parts, library }, call, table, {
          change: { kind: 'overwrite' },
          rows,
          classes: new Set(['drop', 'CreateTable']),
          properties,
          body: () => ({ properties: properties ?? table.content.properties }),
        });
      } finally {
        await rows.close();
      }
    },
  };
}

/** @throws CatalogError Unsupported where there is no library. */
export function libraryOf(
  { lance }: Pick<CreationParts, 'lance'>,
  { request }: Call,
): LanceLibrary {
  if (lance?.library !== undefined) return lance.library;
  const name = canonicalPath(request.object);
  const advice = lance?.missing === undefined ? '' : `: ${lance.missing}`;
  throw new CatalogError(
    'Unsupported',
    `table ${name} would be a Lance table, which the Lance library writes${advice}`,
  );
}

type Placed = TableRecord & { readonly location: string };

/**
 * One new table. The library writes the files and stages the first manifest; the commit of that
 * version gives the table its name. Before it nothing refers to the folder, which goes if the commit
 * is refused.
 */
class Creation {
  readonly #parts: CreationParts;
  readonly #call: Call;
  readonly #new: NewLanceTable;
  #made: PlannedVersion | undefined;
  /** Whether the commit may have taken effect. */
  #isDoubtful = false;

  constructor(parts: CreationParts, call: Call, table: NewLanceTable) {
    this.#parts = parts;
    this.#call = call;
    this.#new = table;
  }

  async run(library: LanceLibrary): Promise<Answer> {
    const rows = await rowsFileOf(this.#parts, this.#call);
    try {
      return await this.#run(library, rows);
    } finally {
      await rows.close();
    }
  }

  async #run(library: LanceLibrary, rows: LanceRowsFile): Promise<Answer> {
    const table = await this.#table();
    const mark = await this.#mark(table);
    try {
      const creation = {
        place: { ...table, path: this.#call.request.object, branch: MAIN },
        change: { kind: 'create' },
        versions: this.#versions(table),
        statement: statementOf(this.#call),
      } as const;
      await changeInParts({ ...this.#parts, library }, creation, rows);
    } catch (error) {
      if (this.#isDoubtful) throw error;
      await mark.removeFiles();
      if (hasEnded(error)) await mark.remove();
      throw error;
    }
    await mark.remove();
    if (this.#made !== undefined) return this.#answer(this.#made);
    throw new CatalogError('Internal', 'the Lance library ended the creation without a commit');
  }

  async #table(): Promise<Placed> {
    const id = randomUUID();
    const location = this.#new.location ?? (await managedFolder(this.#parts.locations, id));
    const { properties } = this.#new;
    const record = { id, kind: 'declared', properties, createdMillis: Date.now() } as const;
    const claimed = this.#parts.catalog.local.claimed({ ...record, location });
    return { ...claimed, location };
  }

  #mark({ id, location }: Placed): Promise<CreationMark> {
    const isChosen = this.#new.location !== null;
    const own = this.#parts.tables.folder({ id, location: null });
    return CreationMark.make(this.#parts, own, { id, location, isChosen });
  }

  #versions(table: Placed): LanceVersions {
    const made = (): object | undefined => this.#made && versionText(this.#made);
    return {
      newest: async () => made(),
      at: async (_, version) => made() ?? Promise.reject(versionNotFound(BigInt(Number(version)))),
      create: async (branch, fields) => {
        if (branch !== MAIN) throw new CatalogError('InvalidInput', 'a new table has no branches');
        await this.#commit(table, fields as Fields);
        return made();
      },
    };
  }

  /** Commits the first version together with the name of the table. */
  async #commit(table: Placed, fields: Fields): Promise<void> {
    const { object } = this.#call.request;
    const held = new Set<string>();
    const stored = { key: tableKey(object), value: encodeTable(table), content: table };
    const catalog = { requireTable: async (): Promise<Stored<TableRecord>> => stored };
    const { judge } = durableGates(gatesOf(this.#call, this.#classes()));
    const gates: Gates = judge === undefined ? {} : { judge };
    const plan = new VersionPlan({ ...this.#parts, catalog }, Date.now(), held, gates);
    try {
      const planned = await plan.add(versionRequest(object, fields, MAIN));
      await this.#name(table, planned);
      this.#made = planned;
      await settleVersions(this.#parts.storage, [planned]);
    } catch (error) {
      if (this.#made === undefined && tookNoEffect(error)) await letGo(this.#parts.storage, held);
      else this.#isDoubtful = true;
      throw error;
    }
  }

  /** The one commit that makes the table. Its own record is checked and written by the catalog. */
  async #name(table: Placed, planned: PlannedVersion): Promise<void> {
    const { object } = this.#call.request;
    const own = tableKey(object);
    const place = reserveLocation(table.location, table.id);
    const checks = planned.checks.filter((check) => check.kind !== 'value' || check.key !== own);
    const writes = planned.writes.filter(({ key }) => key !== own);
    await this.#parts.catalog.createTableCommit(
      object,
      { ...table, kind: 'lance' },
      [...checks, ...place.checks],
      [...writes, ...place.writes],
      this.#new.replace,
      this.#call.once.seal(() => this.#answer(planned)),
    );
  }

  #classes(): ReadonlySet<'drop'> | undefined {
    return this.#new.replace === undefined ? undefined : new Set(['drop']);
  }

  #answer({ record, summary }: PlannedVersion): Answer {
    const kind = this.#new.replace === undefined ? 'create' : 'overwrite';
    const { properties } = this.#new;
    const { version } = record;
    return jsonAnswer(this.#call, { version, properties }, { commit: { ...summary, kind } });
  }
}

/** Whether the library does nothing more after an error: work whose time is spent may go on for a while. */
function hasEnded(error: unknown): boolean {
  return error instanceof CatalogError && !(error instanceof OverBudget);
}
