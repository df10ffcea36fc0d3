import { join } from 'node:path';
import { openEngine } from '../../../src/engine/engine.ts';
import { openEmbeddedStore } from '../../../src/store/embedded/store.ts';
import { ask } from '../../support/request.ts';
import { randomStatement, type Statement } from './statements.ts';

/* A process that writes to a table: arguments are the data folder, its number and how many statements. */

const [data = '', number = '0', count = '0'] = process.argv.slice(2);

const store = await openEmbeddedStore(join(data, 'store'));
const engine = await openEngine({
  data,
  store,
  locations: { managed: join(data, 'lance'), allowed: [] },
  cacheBytes: 2 ** 20,
  jsonBody: 2 ** 20,
  arrowBody: null,
  page: 1000,
});

async function run(statement: Statement): Promise<void> {
  const { line, body } = statement;
  const { json } = await ask(engine.backend, line, { body });
  console.log(JSON.stringify({ seed: statement.seed, answer: json }));
}

// Two at a time, so that statements of one process meet as well.
const half = Math.ceil(Number(count) / 2);
const writers = [0, 1].map(async (writer) => {
  for (let at = 0; at < half; at++) {
    const refused = await run(
      randomStatement(Number(number) * 100_000 + writer * 10_000 + at),
    ).catch((error: unknown) => String(error));
    if (refused !== undefined) console.log(JSON.stringify({ refused }));
  }
});
await Promise.all(writers);
await engine.close();
await store.close();
