import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEngine, type Engine, type EngineOptions } from '../../src/engine/engine.ts';
import { openFormat } from '../../src/engine/catalog/journal/data-format.ts';
import { LocalStorage } from '../../src/storage/local-storage.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { openEmbeddedStore } from '../../src/store/embedded/store.ts';
import type { Store } from '../../src/store/store.ts';

/** The engine on a folder of its own, with the embedded store. */
export interface TestEngine extends Engine {
  readonly data: string;
  readonly store: Store;
  /** Where its files and objects lie. */
  readonly storage: Storage;
  /** A place in which tables may be registered. */
  readonly allowed: string;
}

/** Where the files of an engine lie, other than in its data folder. */
export interface TestPlaces {
  readonly storage: Storage;
  readonly managed: string;
  readonly allowed: string;
}

/** Options of an engine that tests choose. */
type Repeating = Pick<
  EngineOptions,
  'repeatMillis' | 'clock' | 'rules' | 'recordAdoption' | 'compaction' | 'onDamage'
> &
  Partial<Pick<EngineOptions, 'arrowBody' | 'cacheBytes' | 'workers' | 'lance' | 'formatOf'>>;

/** Opens the engine on a fresh folder, with the embedded store unless another is given; closing it removes the folder. */
export async function freshEngine(
  more: Repeating = {},
  openStore: (data: string) => Promise<Store> = (data) => openEmbeddedStore(join(data, 'store')),
  placed?: TestPlaces,
): Promise<TestEngine> {
  const data = await mkdtemp(join(tmpdir(), 'engine-'));
  const store = await openStore(data);
  const engine = await openEngine({ ...optionsOf(data, store, placed), ...more });
  const close = async (): Promise<void> => {
    await engine.close();
    await store.close();
    await rm(data, { recursive: true, force: true });
  };
  const { storage = new LocalStorage(), allowed = join(data, 'allowed') } = placed ?? {};
  return { ...engine, data, store, storage, allowed, close };
}

/** Opens the engine for some work on a data folder that the program's commands know too. */
export async function onData<Result>(
  data: string,
  work: (engine: Engine) => Promise<Result>,
): Promise<Result> {
  await openFormat(new LocalStorage(), data);
  const store = await openEmbeddedStore(join(data, 'private', 'store'));
  const engine = await openEngine(optionsOf(data, store));
  try {
    return await work(engine);
  } finally {
    await engine.close();
    await store.close();
  }
}

/** Opens a further engine on the same folder and store, as another process would. */
export async function openOther(
  {
    data,
    store,
    storage,
  }: Pick<TestEngine, 'data' | 'store'> & Partial<Pick<TestEngine, 'storage'>>,
  more: Repeating = {},
): Promise<Engine> {
  return openEngine({ ...optionsOf(data, store), ...(storage && { storage }), ...more });
}

function optionsOf(data: string, store: Store, placed?: TestPlaces): EngineOptions {
  const { managed = join(data, 'lance'), allowed = join(data, 'allowed') } = placed ?? {};
  return {
    data,
    store,
    ...(placed && { storage: placed.storage }),
    locations: { managed, allowed: [allowed] },
    cacheBytes: 2 ** 20,
    jsonBody: 2 ** 20,
    arrowBody: 2 ** 20,
    page: 1000,
  };
}
