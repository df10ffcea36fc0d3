import { describe, expect, it } from 'vitest';
import { catalogBackend } from '../../../support/catalog-backend.ts';
import { plant, plantNamespace, refusalOf } from '../../../support/catalog.ts';
import { seeingOnly, TestPermit } from '../../../support/permit.ts';
import { ask, lancedb } from '../../../support/request.ts';

describe('CreateNamespace', () => {
  it('answers the properties that were kept', async () => {
    const { backend } = catalogBackend();
    const body = { id: ['a'], mode: 'create', properties: { owner: 'me', none: null } };
    const answer = await ask(backend, 'POST /v1/namespace/a/create', { body });
    expect(answer).toMatchObject({
      status: 200,
      contentType: 'application/json',
      json: { properties: { owner: 'me' } },
      mode: 'create',
    });
  });

  it.each([undefined, 'null', '{}', ' '])(
    'takes the body %j for one without wishes',
    async (body) => {
      const { backend } = catalogBackend();
      const sent = body === undefined ? {} : { body };
      const answer = await ask(backend, 'POST /v1/namespace/a/create/', sent);
      expect(answer.json).toStrictEqual({ properties: {} });
    },
  );

  it.each(['exist_ok', 'ExistOk', 'EXISTOK', '"exist_ok"'])('knows the mode %s', async (mode) => {
    const { backend, catalog } = catalogBackend();
    await catalog.createNamespace(['a'], 'create', { first: 'yes' });
    const permit = new TestPermit();
    const answer = await ask(backend, 'POST /v1/namespace/a/create', { body: { mode }, permit });
    expect(answer.json).toStrictEqual({ properties: { first: 'yes' } });
    expect(answer.mode).toBe('exist_ok');
    expect(permit.required).toStrictEqual(['DescribeNamespace /a']);
  });

  it('keeps no more properties than a listing can read at once', async () => {
    const { backend, store } = catalogBackend(100_000);
    const create = (length: number) =>
      ask(backend, 'POST /v1/namespace/a/create', {
        body: { properties: { a: 'x'.repeat(length) } },
      });
    expect(await refusalOf(create(65_536))).toBe(
      '13 InvalidInput: properties may have at most 65536 bytes, not 65537',
    );
    expect(store.contents().size).toBe(0);
    expect((await create(65_535)).status).toBe(200);
  });

  it('asks for the right to drop before it overwrites', async () => {
    const { backend, store, catalog } = catalogBackend();
    await plantNamespace(catalog, ['a']);
    const before = store.contents();
    const permit = new TestPermit({ holds: () => false });
    const body = { mode: 'Overwrite' };
    const refused = ask(backend, 'POST /v1/namespace/a/create', { body, permit });
    expect(await refusalOf(refused)).toBe(
      '15 PermissionDenied: user:tester may not DropNamespace on /a',
    );
    expect(store.contents()).toStrictEqual(before);
  });

  it('does not say whether the namespace is there to someone who may not describe it', async () => {
    const { backend, catalog } = catalogBackend();
    await plantNamespace(catalog, ['there']);
    const permit = new TestPermit({ holds: () => false });
    const refusals = await Promise.all(
      ['there', 'gone'].map((name) =>
        refusalOf(
          ask(backend, `POST /v1/namespace/${name}/create`, { body: { mode: 'exist_ok' }, permit }),
        ),
      ),
    );
    expect(refusals[1]).toBe(refusals[0]!.replace('there', 'gone'));
  });
});

describe('ListNamespaces', () => {
  it('answers pages by name', async () => {
    const { backend, catalog } = catalogBackend();
    for (const name of ['b', 'a', 'c']) await plantNamespace(catalog, [name]);
    const first = await ask(backend, 'GET /v1/namespace/$/list?limit=2');
    expect(first.json).toStrictEqual({ namespaces: ['a', 'b'], page_token: 'b' });
    const second = await ask(backend, 'GET /v1/namespace/%24/list?limit=2&page_token=b');
    expect(second.json).toStrictEqual({ namespaces: ['c'] });
  });

  it('answers no more than the largest page, whatever is asked', async () => {
    const { backend, catalog } = catalogBackend();
    for (let index = 0; index < 7; index++) await plantNamespace(catalog, [`n${index}`]);
    for (const query of ['', '?limit=1000000', '?limit=9223372036854775807']) {
      const answer = await ask(backend, `GET /v1/namespace/$/list${query}`);
      expect(answer.json).toMatchObject({ page_token: 'n4' });
    }
  });

  it('answers nothing to someone who sees nothing of the namespace, there or not', async () => {
    const { backend, catalog } = catalogBackend();
    await plant(catalog, ['a', 'b', 't']);
    const permit = seeingOnly([['elsewhere', 't']]);
    for (const id of ['a', 'gone', 'a$b']) {
      const answer = await ask(backend, `GET /v1/namespace/${id}/list`, { permit });
      expect(answer).toMatchObject({ status: 200, json: { namespaces: [] } });
    }
  });

  it('says that a namespace is missing to someone who would see it', async () => {
    const { backend } = catalogBackend();
    expect(await refusalOf(ask(backend, 'GET /v1/namespace/gone/list'))).toBe(
      '1 NamespaceNotFound: namespace /gone does not exist',
    );
  });
});

describe('DescribeNamespace and NamespaceExists', () => {
  it('answer the properties, and nothing but the status', async () => {
    const { backend, catalog } = catalogBackend();
    await catalog.createNamespace(['a'], 'create', { owner: 'me' });
    const described = await ask(backend, 'POST /v1/namespace/a/describe', { body: { id: ['a'] } });
    expect(described.json).toStrictEqual({ properties: { owner: 'me' } });
    const exists = await ask(backend, 'POST /v1/namespace/a/exists', { body: { id: ['a'] } });
    expect(exists).toMatchObject({ status: 200, body: null });
  });

  it('know the root', async () => {
    const { backend } = catalogBackend();
    expect((await ask(backend, 'POST /v1/namespace/$/describe')).json).toStrictEqual({
      properties: {},
    });
    expect((await ask(backend, 'POST /v1/namespace/./exists?delimiter=.')).status).toBe(200);
  });

  it.each(['describe', 'exists'])('refuse %s of one that is missing', async (action) => {
    const { backend, catalog } = catalogBackend();
    await plant(catalog, ['table']);
    expect(await refusalOf(ask(backend, `POST /v1/namespace/table/${action}`))).toBe(
      '1 NamespaceNotFound: namespace /table does not exist',
    );
  });
});

describe('DropNamespace', () => {
  it('answers an object, with the properties that were', async () => {
    const { backend, catalog } = catalogBackend();
    await catalog.createNamespace(['a'], 'create', { owner: 'me' });
    const answer = await ask(backend, 'POST /v1/namespace/a/drop', { headers: lancedb });
    expect(answer).toMatchObject({ status: 200, json: { properties: { owner: 'me' } } });
    expect(await catalog.namespace(['a'])).toBeUndefined();
  });

  it('answers an object when there was nothing to drop', async () => {
    const { backend } = catalogBackend();
    const body = { mode: '"Skip"' };
    const answer = await ask(backend, 'POST /v1/namespace/a/drop', { body });
    expect(answer).toMatchObject({ status: 200, json: {} });
  });

  it('notes what a cascade took with it', async () => {
    const { backend, catalog } = catalogBackend();
    await plant(catalog, ['a', 't']);
    const body = { behavior: '"Cascade"' };
    const answer = await ask(backend, 'POST /v1/namespace/a/drop', { body });
    expect(answer).toMatchObject({ mode: 'cascade', objects: [['a', 't']] });
  });
});

describe('a request that cannot be understood', () => {
  it.each([
    [
      'create',
      { mode: 'replace' },
      '"replace" is no mode of CreateNamespace; it knows create, exist_ok, overwrite',
    ],
    [
      'create',
      { mode: 7 },
      'CreateNamespaceRequest: the field "mode" must be a string, not the number 7',
    ],
    [
      'create',
      { properties: { a: 1 } },
      'CreateNamespaceRequest: the field "properties.a" must be a string, not the number 1',
    ],
    [
      'create',
      { id: ['b'] },
      'the field "id" of the body differs from what the request says elsewhere',
    ],
    ['create', '[]', 'the body must be a JSON object, not a list'],
    ['create', '"x"', 'the body must be a JSON object, not a string'],
    ['create', '7', 'the body must be a JSON object, not a number'],
    ['create', 'true', 'the body must be a JSON object, not true or false'],
    ['create', Buffer.from([0x22, 0xff, 0x22]), 'the body is not valid UTF-8'],
    [
      'create',
      `{"properties":{"a":"${'x'.repeat(5000)}"}}`,
      'a JSON body may have at most 4096 bytes',
    ],
    [
      'drop',
      { behavior: 'force' },
      '"force" is no behavior of DropNamespace; it knows restrict, cascade',
    ],
    ['drop', { mode: 'ignore' }, '"ignore" is no mode of DropNamespace; it knows fail, skip'],
    ['list', '[1]', 'the body must be a JSON object, not a list'],
    [
      'list',
      { limit: '3' },
      'ListNamespacesRequest: the field "limit" must be a whole number, not a string',
    ],
    ['list', '{"page_token":"\\ud800"}', 'page_token is not valid Unicode'],
  ])('is refused: %s with %j', async (action, body, sentence) => {
    const { backend, store, catalog } = catalogBackend();
    await plantNamespace(catalog, ['b']);
    const before = store.contents();
    const refused = ask(backend, `POST /v1/namespace/a/${action}`, { body });
    expect(await refusalOf(refused)).toBe(`13 InvalidInput: ${sentence}`);
    expect(store.contents()).toStrictEqual(before);
  });

  it.each(['ten', '1.5', ''])('is refused: a limit of %j', async (limit) => {
    const { backend } = catalogBackend();
    const refused = async () => ask(backend, `GET /v1/namespace/$/list?limit=${limit}`);
    expect(await refusalOf(refused())).toBe(
      '13 InvalidInput: the query parameter limit must be a whole number',
    );
  });
});
