// Creates text indices of the movies and searches them; the key needs the right to write.
import { Index, MatchQuery, MultiMatchQuery, PhraseQuery, rerankers } from '@lancedb/lancedb';
import { connectToCatalog, NAMESPACE, show } from './catalog.ts';

const catalog = await connectToCatalog();
const movies = await catalog.openTable('movies', NAMESPACE);
await movies.createIndex('title', {
  config: Index.fts({ withPosition: true }),
  waitTimeoutSeconds: 60,
});
await movies.createIndex('director', {
  config: Index.fts({ stem: false }),
  waitTimeoutSeconds: 60,
});
show(
  'indices',
  (await movies.listIndices()).map(({ name }) => name),
);

type Search = string | MatchQuery | MultiMatchQuery | PhraseQuery;

/** The titles of the three best, with their scores. */
async function search(query: Search): Promise<readonly string[]> {
  const found = movies.query().fullTextSearch(query).select(['title', '_score']).limit(3);
  return (await found.toArray()).map(({ title, _score }) => `${title}: ${_score.toFixed(2)}`);
}

show('any of two words, in titles and directors', await search('empire strikes'));
show('other forms of a word', await search(new MatchQuery('hunts', 'title')));
show('a misspelt name', await search(new MatchQuery('scorcese', 'director', { fuzziness: 1 })));
show('a phrase', await search(new PhraseQuery('lord of the rings', 'title')));
const columns = new MultiMatchQuery('lee', ['title', 'director'], { boosts: [1, 2] });
show('names of people twice as much', await search(columns));

const good = movies
  .query()
  .fullTextSearch('night', { columns: ['title'] })
  .where('rating > 8');
const rated = await good.select(['title', 'rating']).limit(3).toArray();
show(
  'good nights',
  rated.map(({ title, rating }) => `${title}: ${rating}`),
);

const [{ traits }] = await movies.query().where("title = 'Alien'").select(['traits']).toArray();
const both = movies.query().nearestTo(traits).column('traits').fullTextSearch('alien');
both.rerank(await rerankers.RRFReranker.create());
const merged = await both.select(['title']).limit(3).toArray();
show(
  'words and likeness together',
  merged.map(({ title }) => title),
);
