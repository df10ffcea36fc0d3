import type { RawSide } from '../data/raw-side.ts';

const POLL_MILLIS = 20;

/** Has the only index of a table built again, and waits until it is. */
export async function builtIndex(raw: RawSide, table: string, body: object): Promise<void> {
  for (const name of await namesOf(raw, table)) await raw.ask(table, `index/${name}/drop`, {});
  await raw.ask(table, 'create_index', body);
  while ((await namesOf(raw, table)).length === 0) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MILLIS));
  }
}

async function namesOf(raw: RawSide, table: string): Promise<readonly string[]> {
  const { indexes } = JSON.parse((await raw.ask(table, 'index/list', {})).toString()) as {
    readonly indexes: readonly { readonly index_name: string; readonly status: string }[];
  };
  return indexes.filter(({ status }) => status === 'done').map((index) => index.index_name);
}
