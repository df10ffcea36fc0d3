import type { CatalogAccess } from '../../console/catalog-access.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Upkeep } from '../../engine/upkeep.ts';
import { CatalogError } from '../../protocol/errors.ts';

/** The latest moment that a date can stand for. */
const LAST_MILLIS = 8_640_000_000_000_000;

/** The catalog as the console uses it. @param retentionMillis How long a dropped table is kept for certain. */
export function catalogAccess(engine: Engine, retentionMillis: number): CatalogAccess {
  const upkeepOf = async (): Promise<Upkeep> => {
    if (engine.upkeep !== null) return engine.upkeep;
    const why = (await engine.backend.health()) ?? 'it is only read now';
    throw new CatalogError('ServiceUnavailable', `the catalog is unavailable: ${why}`);
  };
  return {
    dropped: async () => {
      const found = await (await upkeepOf()).dropped.list();
      return found.map(({ id, path, droppedMillis }) => {
        const untilMillis = Math.min(droppedMillis + retentionMillis, LAST_MILLIS);
        return { id, path, droppedMillis, untilMillis };
      });
    },
    undrop: async (path, id, as) => {
      await (await upkeepOf()).dropped.undrop(path, id, as);
    },
    judgePast: async (table, rules, signal) =>
      (await upkeepOf()).judgePast({ table, rules, signal }),
  };
}
