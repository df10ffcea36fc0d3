import { ADMIN_KEY } from '../../test/support/service.ts';
import { RawSide } from '../data/raw-side.ts';
import { queryVector, rowsFrom } from '../data/rows.ts';
import { checkRows } from '../data/question.ts';
import { SHORT_WARMUPS, timed, timedEach } from '../harness/rounds.ts';
import { builtIndex } from '../index/built-index.ts';
import { lookUpKeys, keyRows, shuffledKeys, type LookedUp } from '../index/scalar.ts';
import { pairsOfWords, searchTexts, textRows } from '../index/text.ts';
import type { Build, Measurement, OpenArea } from './area.ts';

const SEARCHES = 50;
/** Builds take longest, and vary least. */
const BUILDS = 2;

/** One index of each kind: built, then searched. */
export async function openIndex(build: Build, quick: boolean): Promise<OpenArea> {
  const service = await build.start();
  const side = new RawSide(service.url, ADMIN_KEY);
  return {
    measurements: [
      ...(await keyMeasurements(side, quick)),
      ...(await textMeasurements(side, quick)),
      ...(await vectorMeasurements(side, quick)),
    ],
    close: async () => {
      side.close();
      await service.stop();
    },
  };
}

async function keyMeasurements(side: RawSide, quick: boolean): Promise<readonly Measurement[]> {
  const keys = shuffledKeys(quick ? 20_000 : 200_000);
  await side.create('keys', keyRows(keys));
  const ask: LookedUp = (where) => side.filter('keys', where, ['key', 'name', 'value']);
  const body = { column: 'key', index_type: 'BTREE' };
  return [
    buildMeasurement(side, 'keys', body),
    {
      work: 'look one key up',
      unit: 'ms',
      warmups: SHORT_WARMUPS / 4,
      measure: () => lookUpKeys(ask, 1, keys),
    },
    {
      work: 'look 100 keys up',
      unit: 'ms',
      warmups: SHORT_WARMUPS / 4,
      measure: () => lookUpKeys(ask, 100, keys),
    },
  ];
}

async function textMeasurements(side: RawSide, quick: boolean): Promise<readonly Measurement[]> {
  await side.create('texts', textRows(quick ? 20_000 : 200_000));
  const queries = pairsOfWords();
  return [
    buildMeasurement(side, 'texts', { column: 'text', index_type: 'FTS' }),
    {
      work: 'best ten of two words',
      unit: 'ms',
      warmups: SHORT_WARMUPS / 4,
      measure: () =>
        timedEach(queries.length, (time) => searchTexts(side, 'texts', queries[time]!)),
    },
  ];
}

async function vectorMeasurements(side: RawSide, quick: boolean): Promise<readonly Measurement[]> {
  await side.create('vectors', rowsFrom(0, quick ? 10_000 : 60_000));
  const body = { column: 'vector', index_type: 'IVF_PQ', metric_type: 'l2' };
  return [
    buildMeasurement(side, 'vectors', body),
    {
      work: 'nearest ten by the index',
      unit: 'ms',
      warmups: SHORT_WARMUPS / 4,
      measure: () =>
        timedEach(SEARCHES, async (time) =>
          checkRows(await side.nearest('vectors', { vector: queryVector(1000 + time) }), 10),
        ),
    },
  ];
}

function buildMeasurement(
  side: RawSide,
  table: string,
  body: { readonly column: string; readonly index_type: string },
): Measurement {
  return {
    work: `build ${body.index_type}`,
    unit: 'ms',
    rounds: BUILDS,
    measure: () => timed(() => builtIndex(side, table, body)),
  };
}
