import type { Field, RecordBatch } from 'apache-arrow';
import { typeName } from '../../arrow/types.ts';
import type { VersionChange } from '../../rules/commit-facts.ts';
import { touchedFragments } from '../../rules/table-change.ts';
import { KeyBounds, KeyRanges } from '../change/key-ranges.ts';
import { KeyIndex, NONE } from '../change/key-index.ts';
import { isKeyType, KeyWriter } from '../change/key-writer.ts';
import { topLevel } from '../request/column-path.ts';
import type { JudgedRows } from './judged-rows.ts';
import { shownRow } from './shown-row.ts';
import { childData } from '../../arrow/data.ts';
import { fieldIndex } from '../../arrow/select.ts';

/** The most memory that the keys of new rows may take, in bytes. */
const MOST_BYTES = 512 * 2 ** 20;
/** Memory of a key beside its bytes. */
const BYTES_OF_KEY = 24;

/**
 * The first of the rows that a version brings or changes that agrees with another row of
 * the table on some columns; undefined if none does. A null agrees with nothing.
 * Memory is needed for the keys of those rows alone, not for those of the table.
 */
export async function uniqueFault(
  names: readonly string[],
  change: VersionChange,
  rows: JudgedRows,
): Promise<string | undefined> {
  const { fields } = rows;
  const fault = names.map((name) => columnFault(name, fields)).find((found) => found !== undefined);
  if (fault !== undefined) return fault;
  const touched = touchedFragments(change, names);
  const keys = new NewKeys(names, fields);
  for await (const batch of rows.batches(touched, names)) {
    const found = keys.add(batch);
    if (found !== undefined) return found;
  }
  if (keys.size === 0) return undefined;
  for await (const batch of rows.others(touched, names, keys.ranges)) {
    const found = keys.meets(batch);
    if (found !== undefined) return found;
  }
  return undefined;
}

function columnFault(name: string, fields: readonly Field[]): string | undefined {
  const field = fields.find((one) => one.name === name);
  if (field === undefined) {
    return `the table would have no column ${JSON.stringify(name)}, which must be unique`;
  }
  return isKeyType(field.type)
    ? undefined
    : `the column ${JSON.stringify(name)} is of type ${typeName(field.type)}, whose values cannot be compared`;
}

class NewKeys {
  readonly #names: readonly string[];
  readonly #index = new KeyIndex();
  readonly #bounds: KeyBounds;
  readonly #ranges: KeyRanges;
  #bytes = 0;

  constructor(names: readonly string[], fields: readonly Field[]) {
    const columns = names.flatMap((name) => fields.find((field) => field.name === name) ?? []);
    this.#names = names;
    this.#bounds = new KeyBounds(columns.map(({ type }) => type));
    this.#ranges = new KeyRanges(columns.map(topLevel));
  }

  get size(): number {
    return this.#index.size;
  }

  /** Takes the keys of a batch in; what is wrong when one is there already. */
  add(batch: RecordBatch): string | undefined {
    const columns = this.#columnsOf(batch);
    const writer = new KeyWriter(columns);
    for (let row = 0; row < batch.numRows; row++) {
      if (!writer.write(row)) continue;
      const before = this.#index.size;
      if (this.#index.add(writer) < before) return twice(batch, row);
      this.#bytes += 4 * writer.count + BYTES_OF_KEY;
      if (this.#bytes > MOST_BYTES) return this.#tooMany();
    }
    this.#bounds.add(columns);
    this.#ranges.add(batch);
    return undefined;
  }

  /** The range of the keys. */
  get ranges(): KeyRanges {
    return this.#ranges;
  }

  /** The fault if a row of a batch has one of the keys. */
  meets(batch: RecordBatch): string | undefined {
    const columns = this.#columnsOf(batch);
    const writer = new KeyWriter(columns);
    const mayHave = this.#bounds.within(columns);
    for (let row = 0; row < batch.numRows; row++) {
      if (!mayHave(row) || !writer.write(row)) continue;
      if (this.#index.find(writer) !== NONE) return twice(batch, row);
    }
    return undefined;
  }

  #columnsOf(batch: RecordBatch) {
    return this.#names.map((name) => childData(batch.data, fieldIndex(batch.schema, name)));
  }

  #tooMany(): string {
    return `more than ${this.#index.size} new rows cannot be compared at once: commit fewer`;
  }
}

function twice(batch: RecordBatch, row: number): string {
  return `several rows would have ${shownRow(batch, row)}, and no two may`;
}
