// Loads the movies and flights of vega-datasets; the key needs the right to write.
import { connectToCatalog, NAMESPACE, show } from './catalog.ts';
import { flights } from './flights.ts';
import { movies } from './movies.ts';

const catalog = await connectToCatalog();
await catalog.createNamespace(NAMESPACE, { mode: 'exist_ok' });

for (const [name, rows] of Object.entries({ movies: movies(), flights: flights() })) {
  const table = await catalog.createTable(name, rows, NAMESPACE, { mode: 'overwrite' });
  show(name, `${await table.countRows()} rows, version ${await table.version()}`);
}
