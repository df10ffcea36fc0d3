// Queries the movies and flights with the key of a reader, whose write is denied.
import { connectToCatalog, NAMESPACE, reasonOf, show } from './catalog.ts';

const catalog = await connectToCatalog();
show('tables', await catalog.tableNames(NAMESPACE));

const movies = await catalog.openTable('movies', NAMESPACE);
const best = movies.query().where('rating >= 8.9 AND votes > 200000').select(['title', 'rating']);
best.orderBy({ columnName: 'rating', ascending: false });
show('best of those that many have seen', await best.toArray());

const failed = "released >= date '2000-01-01' AND gross > 0 AND gross < budget / 4";
const losses = movies.query().where(failed);
losses.orderBy({ columnName: 'budget', ascending: false }).limit(3);
losses.select({ title: 'title', lost_millions: '(budget - gross) / 1000000' });
show('dear and unloved', await losses.toArray());

const matrix = movies.query().where("title = 'The Matrix'").select(['traits']);
const [{ traits }] = await matrix.toArray();
const alike = movies.query().nearestTo(traits).column('traits').where("title <> 'The Matrix'");
show('films like The Matrix', await alike.select(['title', '_distance']).limit(3).toArray());

const flights = await catalog.openTable('flights', NAMESPACE);
const late = await flights.countRows('delay > 60');
show('flights that were an hour late', `${late} of ${await flights.countRows()}`);

const worst = flights.query().where("origin = 'SFO'").select(['destination', 'delay']);
worst.orderBy({ columnName: 'delay', ascending: false }).limit(3);
show('longest waits in San Francisco', await worst.toArray());

const refused = await movies.add([{ title: 'Mine' }]).then(() => 'done', reasonOf);
show('adding a film', refused);
