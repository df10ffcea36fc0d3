import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Catalog } from './catalog.ts';

/** A property of the nearest namespace above an object that has it; undefined if none has. */
export async function inheritedProperty(
  catalog: Pick<Catalog, 'namespace'>,
  path: ObjectPath,
  name: string,
): Promise<string | undefined> {
  for (let depth = path.length - 1; depth > 0; depth--) {
    const text = (await catalog.namespace(path.slice(0, depth)))?.properties[name];
    if (text !== undefined) return text;
  }
  return undefined;
}
