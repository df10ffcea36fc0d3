import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openEngine, type EngineOptions } from '../../src/engine/engine.ts';
import { openEmbeddedStore } from '../../src/store/embedded/store.ts';
import { freshEngine } from '../support/engine.ts';
import { ask } from '../support/request.ts';

describe('openEngine', () => {
  it('refuses everything on a store that was wiped, and leaves the data as it is', async () => {
    const engine = await freshEngine();
    await ask(engine.backend, 'POST /v1/namespace/a/create', { body: {} });
    const before = await readdir(join(engine.data, 'catalog'));
    const store = await openEmbeddedStore(join(engine.data, 'another'));
    const opened = await openEngine({ ...optionsOf(engine.data), store });
    await expect(ask(opened.backend, 'POST /v1/namespace/a/describe')).rejects.toMatchObject({
      row: { code: 17 },
      message: 'the catalog cannot be served now',
    });
    expect(await opened.backend.health()).toMatch(/^the store does not carry this catalog's id/);
    expect(await readdir(join(engine.data, 'catalog'))).toEqual(before);
    await opened.close();
    await store.close();
    await engine.close();
    await rm(engine.data, { recursive: true, force: true });
  });
});

function optionsOf(data: string): Omit<EngineOptions, 'store'> {
  return {
    data,
    locations: { managed: join(data, 'lance'), allowed: [] },
    cacheBytes: 2 ** 20,
    jsonBody: 2 ** 20,
    arrowBody: null,
    page: 1000,
  };
}
