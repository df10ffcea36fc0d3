import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { openEngine, type Engine, type EngineOptions } from '../../engine/engine.ts';
import type { RecordAdoption } from '../../engine/versions/managed/adoption.ts';
import type { RulesOptions } from '../../engine/rules/commit-judge.ts';
import { logTable } from '../../audit/search/log-table.ts';
import { openNotes, openStore } from '../../store/open/open-store.ts';
import type { Config } from '../config/config-table.ts';
import { managedMode } from '../config/file-modes.ts';
import type { OnAvailability } from '../../store/redis/client.ts';
import type { DataFolder } from './data-folder.ts';
import type { Opened } from './opened.ts';

/** Additions of a gateway to the catalog that commands open. */
export interface CatalogWatch {
  readonly rules?: RulesOptions;
  readonly recordAdoption?: RecordAdoption;
  /** Called when Redis becomes unavailable, and when it is available again. */
  readonly onAvailability?: OnAvailability;
  /** Called when the clocks of this machine and of the store begin to differ, and when they agree again. */
  readonly onSkew?: EngineOptions['onSkew'];
}

/** Opens the store and the engine of a data folder; the caller closes them. */
export async function openCatalog(
  config: Config,
  folder: DataFolder,
  opened: Opened,
  { rules, recordAdoption, onAvailability, onSkew }: CatalogWatch = {},
): Promise<Engine> {
  const place = {
    redis: config['coordination.redis'],
    catalog: config['coordination.catalog'],
    folder: folder.store,
  };
  const store = await openStore({ ...place, ...(onAvailability && { onAvailability }) });
  opened.add(() => store.close());
  const bound = rules && { ...rules, verdicts: await openNotes(place, 'verdicts') };
  opened.add(async () => bound?.verdicts.close());
  const engine = await openEngine({
    data: folder.root,
    store,
    locations: {
      managed: folder.lance,
      mode: managedMode(config),
      allowed: config['locations.allowed'].map((path) => resolve(path)),
    },
    cacheBytes: config['cache.bytes'],
    workers: config.workers === 'auto' ? Math.max(1, availableParallelism() - 1) : config.workers,
    jsonBody: config['limits.json_body'],
    arrowBody: config['limits.arrow_body'],
    requestMemory: config['budget.memory'],
    page: config['limits.page'],
    repeatMillis: config['idempotence.window'],
    ...(bound !== undefined && { rules: bound }),
    ...(recordAdoption !== undefined && { recordAdoption }),
    onSkew,
    virtual: [logTable(folder.audit)],
  });
  opened.add(() => engine.close());
  return engine;
}
