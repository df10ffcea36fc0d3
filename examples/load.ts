// Loads the movies and the flights of vega-datasets, as someone who may write.
import { connectToCatalog, NAMESPACE, show } from './catalog.ts';
import { flights } from './flights.ts';
import { movies } from './movies.ts';

const catalog = await connectToCatalog();
await catalog.createNamespace(NAMESPACE, { mode: 'exist_ok' });

const films = await catalog.createTable('movies', movies(), NAMESPACE, { mode: 'overwrite' });
show('movies', `${await films.countRows()} rows, version ${await films.version()}`);

const journeys = await catalog.createTable('flights', flights(), NAMESPACE, { mode: 'overwrite' });
show('flights', `${await journeys.countRows()} rows, version ${await journeys.version()}`);
