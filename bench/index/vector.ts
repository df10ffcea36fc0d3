import type { Table, VectorQuery } from '@lancedb/lancedb';
import { clusteredVectors, evenVectors, queryVector, rowsFrom } from '../data/rows.ts';
import { checkRows } from '../data/question.ts';
import type { RawSide } from '../data/raw-side.ts';
import { peer } from '../harness/lancedb-peer.ts';
import { measureRounds, SHORT_WARMUPS, timed, timedEach } from '../harness/rounds.ts';
import type { Row } from '../harness/table.ts';
import { builtIndex } from './built-index.ts';
import type { IndexQuestions, IndexSides } from './question.ts';

const NEAREST = 10;
/** So many vectors are searched for in a round; of these answers the recall is measured, too. */
const SEARCHES = 50;
/** An index of so many rows takes a minute to build, and does not get faster. */
const BUILDS = 1;
/** So many where each takes half a second. */
const FEW_SEARCHES = 5;

/** How the vectors of a table lie, and the table. */
const KINDS = [
  { kind: 'clustered', table: 'clustered', vectorsOf: clusteredVectors },
  { kind: 'even', table: 'even', vectorsOf: evenVectors },
] as const;

/** An index of vectors in clusters, as embeddings lie, and of even ones, of which none is much nearer than the others. */
export const vectorIndexQuestions: IndexQuestions = {
  notes: [
    'Vectors: 400,000 rows of (int64, utf8, float64, 128 × float32), in 1,000 clusters or evenly random.',
    'Both sides build IVF_PQ as it is asked for without any setting, and are searched for the nearest',
    'ten. Recall is the share of the true nearest ten that is answered. "As many found" asks LanceDB',
    'for more rows, whose distances it computes from the vectors themselves: of clustered vectors 60',
    'times the rows in 20 probes, of even ones 4,000 times the rows in all probes.',
  ],
  measure: async (sides) => {
    const rows: Row[] = [];
    for (const kind of KINDS) rows.push(...(await measureVectors(sides, kind)));
    return rows;
  },
};

async function measureVectors(
  { raw, embedded, options }: IndexSides,
  { kind, table: name, vectorsOf }: (typeof KINDS)[number],
): Promise<readonly Row[]> {
  const rows = rowsFrom(0, options.quick ? 40_000 : 400_000, vectorsOf);
  await raw.create(name, rows);
  const table = await embedded.createTable(name, rows);
  const vectors = Array.from({ length: SEARCHES }, (_, at) => queryVector(1000 + at, vectorsOf));
  const ours = (bypass: boolean) => (vector: Float32Array) => askRaw(raw, name, vector, bypass);
  const truth = await answersOf(vectors, ours(true));
  const built = await measureRounds(
    [
      {
        name: 'arrowgate',
        warmups: 0,
        measure: () =>
          timed(() =>
            builtIndex(raw, name, { column: 'vector', index_type: 'IVF_PQ', metric_type: 'l2' }),
          ),
      },
      { name: 'LanceDB embedded', warmups: 0, measure: () => timed(() => buildLance(table)) },
    ],
    BUILDS,
  );
  const asked: readonly Asked[] = [
    { name: 'arrowgate', ask: ours(false) },
    { name: 'LanceDB embedded', ask: askLance(table, (query) => query) },
    {
      name: 'LanceDB embedded, as many found',
      ask: askLance(table, (query) =>
        kind === 'even'
          ? query.nprobes(2000).refineFactor(4000)
          : query.nprobes(20).refineFactor(60),
      ),
      ...(kind === 'even' && { searches: FEW_SEARCHES }),
    },
  ];
  const searched = await measureRounds(
    asked.map(({ name, ask, searches = SEARCHES }) => ({
      name,
      warmups: searches === SEARCHES ? SHORT_WARMUPS : 1,
      measure: () => timedEach(searches, (time) => ask(vectors[time]!)),
    })),
    options.rounds,
  );
  const recalls = [];
  for (const { name, ask, searches } of asked) {
    const found = await answersOf(vectors.slice(0, searches), ask);
    recalls.push({ name, values: [100 * recallOf(truth, found)] });
  }
  return [
    { work: `build an index, ${kind} vectors`, unit: 'ms', samples: built, target: '≤ 0.6' },
    { work: `nearest ten by index, ${kind}`, unit: 'ms', samples: searched, target: '≤ 0.3' },
    { work: `recall of the nearest ten, ${kind}`, unit: '%', samples: recalls },
  ];
}

async function buildLance(table: Table): Promise<void> {
  await table.createIndex('vector', { config: peer.lancedb.Index.ivfPq(), replace: true });
}

interface Asked {
  readonly name: string;
  readonly ask: Ask;
  /** All when absent. */
  readonly searches?: number;
}

type Ask = (vector: Float32Array) => Promise<readonly number[]>;

async function askRaw(
  raw: RawSide,
  table: string,
  vector: Float32Array,
  bypass: boolean,
): Promise<readonly number[]> {
  const found = await raw.nearest(table, { vector, bypass });
  checkRows(found, NEAREST);
  return Array.from(found.getChild('id') ?? [], Number);
}

function askLance(table: Table, set: (query: VectorQuery) => VectorQuery): Ask {
  return async (vector) => {
    const found = await set(table.query().nearestTo(vector).limit(NEAREST)).toArrow();
    checkRows(found, NEAREST);
    return Array.from(found.getChild('id') ?? [], Number);
  };
}

async function answersOf(vectors: readonly Float32Array[], ask: Ask) {
  const answers: (readonly number[])[] = [];
  for (const vector of vectors) answers.push(await ask(vector));
  return answers;
}

function recallOf(
  truth: readonly (readonly number[])[],
  answers: readonly (readonly number[])[],
): number {
  const hits = answers.flatMap((ids, at) => ids.filter((id) => truth[at]?.includes(id)));
  return hits.length / (NEAREST * answers.length);
}
