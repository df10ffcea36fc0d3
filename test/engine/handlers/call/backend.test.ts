import { describe, expect, it } from 'vitest';
import { EmbeddedBackend } from '../../../../src/engine/handlers/call/backend.ts';
import type { Call, HandlerTable } from '../../../../src/engine/handlers/call/handler.ts';
import { refusalOf } from '../../../support/catalog.ts';
import { anything } from '../../../support/permit.ts';
import { ask, requestOf } from '../../../support/request.ts';

function backendOf(handlers: HandlerTable): EmbeddedBackend {
  return new EmbeddedBackend({
    handlers,
    jsonBody: 100,
    health: async () => 'the store is away',
    weakness: async () => undefined,
  });
}

/** A backend of one operation that shows what its handler was called with. */
function showing(operation: 'DescribeTable' | 'ListTables' | 'UpdateTableSchemaMetadata') {
  const calls: Call[] = [];
  const backend = backendOf({
    [operation]: async (call: Call) => {
      calls.push(call);
      return { status: 200, body: null };
    },
  });
  return { backend, calls };
}

describe('the embedded backend', () => {
  it('says that an operation is not built, unless its body is at odds with the route', async () => {
    const backend = backendOf({});
    const restore = (body: object) => refusalOf(ask(backend, 'POST /v1/table/t/restore', { body }));
    expect(await restore({})).toBe('0 Unsupported: RestoreTable is not built yet');
    expect(await restore({ id: ['other'] })).toBe(
      '13 InvalidInput: the field "id" of the body differs from what the request says elsewhere',
    );
  });

  it('leaves an Arrow body to the handler', async () => {
    const bytes = Buffer.from([1, 2, 3]);
    const seen: Uint8Array[] = [];
    const backend = backendOf({
      CreateTable: async ({ request, body }) => {
        for await (const chunk of request.body) seen.push(chunk);
        return { status: 200, body: JSON.stringify(body) };
      },
    });
    const answer = await ask(backend, 'POST /v1/table/t/create?mode=create', { body: bytes });
    expect(answer.json).toStrictEqual({});
    expect(Buffer.concat(seen)).toStrictEqual(bytes);
  });

  it('completes a body by what the query says', async () => {
    const { backend, calls } = showing('DescribeTable');
    await ask(backend, 'POST /v1/table/t/describe?with_table_uri=true', { body: { version: 3 } });
    expect(calls[0]!.body).toStrictEqual({ with_table_uri: true, version: 3 });
  });

  it('keeps the precision of a large version', async () => {
    const { backend, calls } = showing('DescribeTable');
    await ask(backend, 'POST /v1/table/t/describe', { body: '{"version":9007199254740993}' });
    expect(calls[0]!.body['version']).toBe(9007199254740993n);
  });

  it('puts the context of the body below that of the headers', async () => {
    const { backend, calls } = showing('DescribeTable');
    await ask(backend, 'POST /v1/table/t/describe', {
      headers: { 'x-service-ctx-job': 'header', 'x-lance-ctx-run': '7' },
      body: { context: { Job: 'body', note: 'body' }, identity: { api_key: 'ignored' } },
    });
    expect(Object.fromEntries(calls[0]!.request.context)).toStrictEqual({
      job: 'header',
      run: '7',
      note: 'body',
    });
  });

  it('does not take a key of a bare map for a context', async () => {
    const { backend, calls } = showing('UpdateTableSchemaMetadata');
    const body = { id: 'x', context: 'y' };
    await ask(backend, 'POST /v1/table/t/schema_metadata/update', { body });
    expect(calls[0]!.body).toStrictEqual(body);
    expect(calls[0]!.request.context.size).toBe(0);
  });

  it('takes nothing, null and an object where no body is due', async () => {
    const { backend, calls } = showing('ListTables');
    for (const body of [undefined, 'null', '{"id":["a"]}']) {
      await ask(backend, 'GET /v1/namespace/a/table/list', body === undefined ? {} : { body });
    }
    expect(calls).toHaveLength(3);
    const refused = ask(backend, 'GET /v1/namespace/a/table/list', { body: '"x"' });
    expect(await refusalOf(refused)).toBe(
      '13 InvalidInput: the body must be a JSON object, not a string',
    );
  });

  it('stops reading a body that is too large', async () => {
    const { backend } = showing('DescribeTable');
    let sent = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        sent += 1;
        yield Buffer.alloc(30, ' ');
      }
    }
    const request = { ...requestOf('POST /v1/table/t/describe'), body: endless() };
    expect(await refusalOf(backend.handle(request, anything()))).toBe(
      '13 InvalidInput: a JSON body may have at most 100 bytes',
    );
    expect(sent).toBe(4);
  });

  it.each(['ENOSPC', 'EDQUOT', 'EFBIG', 'EROFS'])(
    'says that the disk is full, whatever that was the cause of (%s)',
    async (code) => {
      const cause = Object.assign(new Error('write'), { code });
      const backend = backendOf({
        DescribeTable: async () => {
          throw new Error('it failed', { cause });
        },
      });
      expect(await refusalOf(ask(backend, 'POST /v1/table/t/describe', { body: {} }))).toBe(
        '17 ServiceUnavailable: the disk of the catalog takes no more writes',
      );
    },
  );

  it('passes on why it cannot serve', async () => {
    expect(await backendOf({}).health()).toBe('the store is away');
  });
});
