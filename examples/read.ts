// Asks the movies and the flights some questions, as a reader who may not write.
import { connectToCatalog, NAMESPACE, show } from './catalog.ts';

const catalog = await connectToCatalog();
show('tables', await catalog.tableNames(NAMESPACE));

const movies = await catalog.openTable('movies', NAMESPACE);
show(
  'well rated and widely seen',
  await movies
    .query()
    .where('imdb_rating >= 8.8 AND imdb_votes > 200000')
    .select(['title', 'imdb_rating'])
    .limit(3)
    .toArray(),
);
show(
  'profit in millions',
  await movies
    .query()
    .where("director = 'Christopher Nolan' AND gross > budget")
    .select({ title: 'title', profit: '(gross - budget) / 1000000' })
    .toArray(),
);
const [first] = await movies.query().where("title = 'The Matrix'").select(['traits']).toArray();
show(
  'films like The Matrix',
  await movies
    .query()
    .nearestTo(Array.from(first.traits as Iterable<number>))
    .column('traits')
    .where("title <> 'The Matrix'")
    .select(['title', '_distance'])
    .limit(3)
    .toArray(),
);

const flights = await catalog.openTable('flights', NAMESPACE);
show('flights more than an hour late', await flights.countRows('delay > 60'));

const refusal = await movies.add([{ title: 'Mine' }]).catch((error: unknown) => String(error));
show('adding a film', /"error":"([^"]*)"/.exec(String(refusal))?.[1] ?? refusal);
