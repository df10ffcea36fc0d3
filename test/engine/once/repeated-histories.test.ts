import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engine/engine.ts';
import { CatalogError } from '../../../src/protocol/errors.ts';
import { freshEngine, openOther, type TestEngine } from '../../support/engine.ts';
import { ask } from '../../support/request.ts';
import { TableClient } from '../../support/table-client.ts';
import { numbers, type SentChange } from './repeated-operations.ts';
import { casesOf } from '../../support/cases.ts';

/** A change, and when it is sent again: beside its first time, or a number of changes later. */
interface Step {
  readonly change: SentChange;
  readonly again: readonly number[];
}

const small = fc.integer({ min: 0, max: 3 });

const change: fc.Arbitrary<SentChange> = fc.oneof(
  fc
    .array(fc.bigInt(0n, 9n), { maxLength: 4 })
    .map((values) => ({ line: 'POST /v1/table/t/insert', body: numbers(...values) })),
  fc.bigInt(0n, 9n).map((n) => ({
    line: 'POST /v1/table/t/merge_insert?on=n&when_not_matched_insert_all=true',
    body: numbers(n, n + 1n),
  })),
  small.map((n) => ({ line: 'POST /v1/table/t/delete', body: { predicate: `n % 4 = ${n}` } })),
  small.map((n) => ({
    line: 'POST /v1/table/t/update',
    body: { updates: [['n', 'n + 1']], predicate: `n > ${n}` },
  })),
  small.map((n) => ({ line: 'POST /v1/table/t/restore', body: { version: n + 1 } })),
  small.map((n) => ({
    line: 'POST /v1/table/t/tags/create',
    body: { tag: `tag${n}`, version: 1 },
  })),
  small.map((n) => ({ line: 'POST /v1/table/t/tags/delete', body: { tag: `tag${n}` } })),
  small.map((n) => ({ line: `POST /v1/namespace/a${n}/create`, body: { mode: 'exist_ok' } })),
  small.map((n) => ({ line: `POST /v1/namespace/a${n}/drop`, body: { mode: 'skip' } })),
  small.map((n) => ({
    line: 'POST /v1/table/t/schema_metadata/update',
    body: { key: String(n), [`k${n}`]: null },
  })),
);

const history = fc.array(fc.record({ change, again: fc.array(small, { maxLength: 2 }) }), {
  minLength: 4,
  maxLength: 14,
});

/** Sends a change; what is refused changed nothing and is not sent again. */
async function sent({ backend }: Engine, { line, body }: SentChange, id: string): Promise<string> {
  try {
    return JSON.stringify((await ask(backend, line, { body, id })).json);
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error;
    return 'refused';
  }
}

async function stateOf(engine: TestEngine): Promise<unknown> {
  const table = new TableClient(engine);
  const listed = await ask(engine.backend, 'GET /v1/namespace/$/list');
  const tags = await table.send('tags/list');
  const described = await table.json('describe', { load_detailed_metadata: true });
  const { json: versions } = await table.send('version/list');
  return {
    rows: await table.rows(),
    namespaces: listed.json,
    tags: Object.keys(Object((tags.json as { tags?: object }).tags ?? tags.json)).toSorted(),
    schema: (described as { schema?: unknown }).schema,
    versions: JSON.stringify(versions).split('manifest_path').length,
  };
}

async function withTable(work: (engine: TestEngine) => Promise<unknown>): Promise<unknown> {
  const engine = await freshEngine();
  try {
    await ask(engine.backend, 'POST /v1/table/t/create', { body: numbers(1n, 2n, 3n) });
    await work(engine);
    return await stateOf(engine);
  } finally {
    await engine.close();
  }
}

async function once(engine: TestEngine, steps: readonly Step[]): Promise<void> {
  for (const [at, step] of steps.entries()) await sent(engine, step.change, `c${at}`);
}

/** Sends each change at its turn, and again when it is due: through this process and through another. */
async function often(engine: TestEngine, steps: readonly Step[]): Promise<void> {
  const other = await openOther(engine);
  const answers: string[] = [];
  const due = new Map<number, number[]>();
  for (const [at, step] of steps.entries()) {
    const send = (which: number, through: Engine) =>
      sent(through, steps[which]!.change, `c${which}`);
    const beside = step.again.filter((later) => later === 0).map(() => send(at, other));
    const [answer, ...same] = await Promise.all([send(at, engine), ...beside]);
    answers.push(answer);
    expect(same).toStrictEqual(same.map(() => answer));
    for (const later of step.again) {
      if (later > 0) due.set(at + later, [...(due.get(at + later) ?? []), at]);
    }
    for (const which of due.get(at) ?? []) {
      if (answers[which] === 'refused') continue;
      expect(await send(which, which % 2 === 0 ? engine : other)).toBe(answers[which]);
    }
  }
  await other.close();
}

describe('a history of changes of which each is sent up to three times', () => {
  it('ends where that of single sends ends', async () => {
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        const expected = await withTable((engine) => once(engine, steps));
        const found = await withTable((engine) => often(engine, steps));
        expect(found).toStrictEqual(expected);
      }),
      { numRuns: casesOf(6, 15) },
    );
  });
});
