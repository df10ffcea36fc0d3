import { Schema } from 'apache-arrow';
import { Message } from './message.ts';
import { arrowFields, type LanceField } from './schema.ts';

/** Some rows of a Lance table. */
export interface LanceFragment {
  /** Rows that are not deleted. */
  readonly rows: number;
  readonly deletedRows: number;
  /** How large its data files are together, as far as the manifest says. */
  readonly bytes: number;
}

/** What the manifest of a Lance table says that this catalog answers. */
export interface LanceManifest {
  readonly schema: Schema;
  readonly fragments: readonly LanceFragment[];
  /** Where in the file the list of indices is; null when there is none. */
  readonly indices: number | null;
}

/**
 * Reads a manifest: message `Manifest` of the Lance table format.
 * @throws DamagedMessage.
 */
export function lanceManifest(bytes: Uint8Array): LanceManifest {
  const manifest = new Message(bytes);
  return {
    schema: new Schema(
      [...arrowFields(manifest.messages(1).map(fieldOf))],
      new Map(manifest.texts(5)),
    ),
    fragments: manifest.messages(2).map(fragmentOf),
    indices: manifest.hasNumber(6) ? manifest.count(6) : null,
  };
}

/**
 * How many indices a table has. One index may have several entries, of one name.
 * @throws DamagedMessage.
 */
export function countIndices(section: Uint8Array): number {
  const names = new Message(section).messages(1).map((index) => index.text(3));
  return new Set(names).size;
}

function fieldOf(field: Message): LanceField {
  return {
    name: field.text(2),
    id: Number(BigInt.asIntN(32, field.number(3))),
    parent: Number(BigInt.asIntN(32, field.number(4))),
    type: field.text(5),
    nullable: field.number(6) !== 0n,
    metadata: field.texts(10),
  };
}

function fragmentOf(fragment: Message): LanceFragment {
  const deletedRows = sum(fragment.messages(3).map((deletions) => deletions.count(4)));
  const physicalRows = fragment.count(4);
  return {
    // Early versions of the format did not count the rows.
    rows: Math.max(0, physicalRows - deletedRows),
    deletedRows,
    bytes: sum(fragment.messages(2).map((file) => file.count(6))),
  };
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
