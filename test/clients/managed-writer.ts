import type { Connection, Table } from '@lancedb/lancedb';
import { lancedb } from './lancedb.ts';

/**
 * A process that writes a table of Lance clients itself, as its users' programs do,
 * and prints a line for each commit: `done`, its kind, its number and the version
 * that it knows, or `failed` and why.
 */
const [url = '', key = '', name = '', kind = '', first = '', count = ''] = process.argv.slice(2);

const client = await lancedb.connectNamespace('rest', { uri: url, headers: { 'x-api-key': key } });

type Write = (id: number) => Promise<Table>;

const ATTEMPTS = 50;

/** Others changed the same rows at the same time: then the client leaves it to the program to try again. */
async function retried<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === ATTEMPTS || !String(error).includes('onflict')) throw error;
    }
  }
}

const kinds: Readonly<Record<string, (client: Connection) => Promise<Write>>> = {
  append: async () => {
    const table = await client.openTable(name);
    return async (id) => {
      await table.add([{ id }]);
      return table;
    };
  },
  remove: async () => {
    const table = await client.openTable(name);
    return async (id) => {
      await retried(async () => {
        await table.checkoutLatest();
        await table.delete(`id = ${id}`);
      });
      return table;
    };
  },
  overwrite: async () => async (id) =>
    retried(() => client.createTable(name, [{ id }, { id }], { mode: 'overwrite' })),
  create: async () => async (id) => client.createTable(`${name}${id % 1000}`, [{ id }]),
  branch: async () => {
    const main = await client.openTable(name);
    const table = await (await main.branches()).checkout('dev');
    return async (id) => {
      await table.add([{ id }]);
      return table;
    };
  },
};

const write = await kinds[kind]!(client);
for (let id = Number(first); id < Number(first) + Number(count); id++) {
  try {
    const table = await write(id);
    console.log(`done ${id} ${await table.version().catch(() => 0)}`);
  } catch (error) {
    console.log(`failed ${id} ${String(error).replaceAll('\n', ' ')}`);
    if (kind !== 'create') break;
  }
}
