import { describe, expect, it } from 'vitest';
import { catalogBackend } from '../../../support/catalog-backend.ts';
import { plant, plantNamespace, refusalOf } from '../../../support/catalog.ts';
import { seeingOnly } from '../../../support/permit.ts';
import { ask, lancedb } from '../../../support/request.ts';

async function planted() {
  const parts = catalogBackend();
  await plant(parts.catalog, ['zoo']);
  await plant(parts.catalog, ['ant']);
  await plant(parts.catalog, ['farm', 'cow']);
  await plant(parts.catalog, ['farm', 'barn', 'owl']);
  await plant(parts.catalog, ['hen'], 'declared');
  return parts;
}

describe('ListTables', () => {
  it('answers the tables of one namespace by name', async () => {
    const { backend } = await planted();
    const root = await ask(backend, 'GET /v1/namespace/$/table/list?limit=2');
    expect(root.json).toStrictEqual({ tables: ['ant', 'hen'], page_token: 'hen' });
    const rest = await ask(backend, 'GET /v1/namespace/$/table/list?limit=2&page_token=hen');
    expect(rest.json).toStrictEqual({ tables: ['zoo'] });
    const inner = await ask(backend, 'GET /v1/namespace/farm.barn/table/list?delimiter=.');
    expect(inner.json).toStrictEqual({ tables: ['owl'] });
  });

  it('answers nothing for a limit of zero, and as many as without one for a limit below it', async () => {
    const { backend } = await planted();
    const none = await ask(backend, 'GET /v1/namespace/$/table/list?limit=0');
    expect(none.json).toStrictEqual({ tables: [] });
    const all = await ask(backend, 'GET /v1/namespace/$/table/list?limit=-1');
    expect(all.json).toStrictEqual({ tables: ['ant', 'hen', 'zoo'] });
  });

  it('leaves out declared tables when asked to', async () => {
    const { backend } = await planted();
    const answer = await ask(backend, 'GET /v1/namespace/$/table/list?include_declared=false');
    expect(answer.json).toStrictEqual({ tables: ['ant', 'zoo'] });
  });

  it('shows what may be seen, and nothing of a namespace that may not', async () => {
    const { backend } = await planted();
    const permit = seeingOnly([['farm', 'cow']]);
    const cow = await ask(backend, 'GET /v1/namespace/farm/table/list', { permit });
    expect(cow.json).toStrictEqual({ tables: ['cow'] });
    for (const id of ['farm$barn', 'gone', '$']) {
      const nothing = await ask(backend, `GET /v1/namespace/${id}/table/list`, { permit });
      expect(nothing).toMatchObject({ status: 200, json: { tables: [] } });
    }
  });

  it('says that a namespace is missing to someone who would see it', async () => {
    const { backend } = await planted();
    expect(await refusalOf(ask(backend, 'GET /v1/namespace/zoo/table/list'))).toBe(
      '1 NamespaceNotFound: namespace /zoo does not exist',
    );
  });
});

describe('ListAllTables', () => {
  it.each(['/v1/table', '/v1/table/'])(
    'answers the tables of all namespaces at %s',
    async (path) => {
      const { backend } = await planted();
      const answer = await ask(backend, `GET ${path}`);
      expect(answer.json).toStrictEqual({
        tables: ['ant', 'farm$barn$owl', 'farm$cow', 'hen', 'zoo'],
      });
    },
  );

  it('joins names by the delimiter that is asked for, in tokens too', async () => {
    const { backend } = await planted();
    const first = await ask(backend, 'GET /v1/table?delimiter=.&limit=2');
    expect(first.json).toStrictEqual({
      tables: ['ant', 'farm.barn.owl'],
      page_token: 'farm.barn.owl',
    });
    const second = await ask(backend, 'GET /v1/table?delimiter=.&limit=2&page_token=farm.barn.owl');
    expect(second.json).toStrictEqual({ tables: ['farm.cow', 'hen'], page_token: 'hen' });
  });

  it.each(['/v1/table', '/v1/table/'])(
    'answers the LanceDB client the root’s tables at %s',
    async (path) => {
      const { backend } = await planted();
      const first = await ask(backend, `GET ${path}?limit=2`, { headers: lancedb });
      expect(first.json).toStrictEqual({ tables: ['ant', 'hen'], page_token: 'hen' });
      const after = await ask(backend, `GET ${path}?page_token=b`, { headers: lancedb });
      expect(after.json).toStrictEqual({ tables: ['hen', 'zoo'] });
    },
  );

  it('shows nothing but what may be seen', async () => {
    const { backend, catalog } = await planted();
    await plantNamespace(catalog, ['empty']);
    const permit = seeingOnly([['farm', 'barn', 'owl'], ['zoo']]);
    const answer = await ask(backend, 'GET /v1/table?limit=2', { permit });
    expect(answer.json).toStrictEqual({ tables: ['farm$barn$owl', 'zoo'] });
    const nobody = await ask(backend, 'GET /v1/table', { permit: seeingOnly([]) });
    expect(nobody).toMatchObject({ status: 200, json: { tables: [] } });
  });
});
