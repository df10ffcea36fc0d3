import { setTimeout as sleep } from 'node:timers/promises';
import type { Backend } from '../../src/protocol/backend.ts';
import type { JsonValue } from '../../src/protocol/json.ts';
import { ask } from './request.ts';
import { waitUntil } from './eventually.ts';

type Post = (table: string, action: string, body?: object) => Promise<JsonValue>;

/** `POST /v1/table/<table>/<action>`, to a backend whose jobs run. */
export function posting(backend: Backend): Post {
  return async (table, action, body = {}) =>
    (await ask(backend, `POST /v1/table/${table}/${action}`, { body })).json;
}

/** Builds an index, and waits until it is there or has failed. */
export async function buildIndex(
  backend: Backend,
  table: string,
  body: object,
): Promise<{ readonly status: string; readonly properties: Record<string, string> }> {
  const made = await posting(backend)(table, 'create_scalar_index', body);
  const { transaction_id: id } = made as { transaction_id: string };
  for (;;) {
    const { json } = await ask(backend, `POST /v1/transaction/${id}/describe`, { body: {} });
    const { status, properties } = json as Awaited<ReturnType<typeof buildIndex>>;
    if (status === 'SUCCEEDED' || status === 'FAILED') return { status, properties };
    await sleep(5);
  }
}

/** How many rows the indices of a table do not cover, all indices together. */
export async function unindexedRows(
  backend: Backend,
  table: string,
  body: object = {},
): Promise<number> {
  const { indexes } = (await posting(backend)(table, 'index/list', body)) as unknown as {
    indexes: { num_unindexed_rows: number }[];
  };
  return indexes.reduce((sum, one) => sum + one.num_unindexed_rows, 0);
}

/** Waits until the indices of a table cover all its rows. */
export async function untilIndexed(
  backend: Backend,
  table: string,
  body: object = {},
): Promise<void> {
  await waitUntil(async () => (await unindexedRows(backend, table, body)) === 0);
}
