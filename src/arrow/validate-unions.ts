import type { Data, Union } from 'apache-arrow';
import { corrupt } from './errors.ts';

/**
 * Checks that each row of a union names one of its children and, in a dense
 * union, a row that the child has, none before the one named last (Arrow
 * format, "Dense Union"). Throws `corrupt`.
 */
export function checkUnion(data: Data, name: string): void {
  const typeIds: Int8Array = data.typeIds;
  const offsets: Int32Array | undefined = data.valueOffsets;
  const lengths = new Int32Array(128).fill(-1);
  const reached = new Int32Array(128);
  const { typeIds: ids } = data.type as Union;
  ids.forEach((id, index) => (lengths[id] = data.children[index]!.length));
  for (let row = 0; row < data.length; row++) {
    const id = typeIds[row]!;
    const length = id < 0 ? -1 : lengths[id]!;
    if (length < 0) throw corrupt(`Row ${row} of column "${name}" has the unknown type id ${id}.`);
    const at = offsets === undefined ? row : offsets[row]!;
    if (at < reached[id]! || at >= length) {
      throw corrupt(
        `Row ${row} of column "${name}" leads outside the union's child or back in it.`,
      );
    }
    reached[id] = at;
  }
}
