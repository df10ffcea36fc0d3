import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engine/engine.ts';
import { Child } from '../../support/child.ts';
import { freshEngine, openOther, type TestEngine } from '../../support/engine.ts';
import { ask } from '../../support/request.ts';
import { TableClient } from '../../support/table-client.ts';
import { randomStatement, streamOfPairs, type Pairs, type Statement } from './statements.ts';
import { casesOf } from '../../support/cases.ts';

let engine: TestEngine;
let table: TableClient;
const first: Pairs = Array.from({ length: 20 }, (_, k) => [k, k % 5]);

beforeEach(async () => {
  engine = await freshEngine();
  table = new TableClient(engine);
  await table.send('create', { body: streamOfPairs(first) });
});

afterEach(async () => engine.close());

interface Done {
  readonly statement: Statement;
  readonly answer: Readonly<Record<string, number>>;
}

/** Does the statements one after the other in the order of their versions: each must have answered what it answers there. */
async function expectSerial(done: readonly Done[]): Promise<void> {
  let rows = first;
  const ordered = done.toSorted(
    (left, right) => left.answer['version']! - right.answer['version']!,
  );
  for (const { statement, answer } of ordered) {
    const { rows: next, counts } = statement.apply(rows);
    expect([statement.line, answer]).toMatchObject([statement.line, counts]);
    rows = next;
  }
  expect(ordered.map(({ answer }) => answer['version'])).toStrictEqual(
    ordered.map((_, at) => at + 2),
  );
  const found = (await table.rows()).map(({ k, n }) => `${String(k)} ${String(n)}`);
  expect(found.toSorted()).toStrictEqual(rows.map(([k, n]) => `${k} ${n}`).toSorted());
}

describe('statements of two processes on one folder', () => {
  it('act as if they had been made one after the other, in the order of their versions', async () => {
    const script = new URL('writer-child.ts', import.meta.url);
    const children = ['1', '2'].map(
      (number) => new Child(script, [engine.data, number, String(casesOf(25, 60))]),
    );
    await Promise.all(children.map((child) => child.end()));
    const lines = children.flatMap(({ lines: each }) => each).map((line) => JSON.parse(line));
    const refused = lines.filter((line) => 'refused' in line);
    expect(refused).toStrictEqual([]);
    await expectSerial(
      lines.map(({ seed, answer }) => ({ statement: randomStatement(seed), answer })),
    );
  });

  it('do so whichever of them meet', async () => {
    const other = await openOther(engine);
    const engines: readonly Engine[] = [engine, other];
    const done: Done[] = [];
    for (let round = 0; round < casesOf(20, 40); round++) {
      await Promise.all(
        [0, 1, 2, 3].map(async (at) => {
          const statement = randomStatement(round * 7 + at * 1_000_003);
          const { line, body } = statement;
          const { json } = await ask(engines[at % 2]!.backend, line, { body });
          done.push({ statement, answer: json as Done['answer'] });
        }),
      );
    }
    await expectSerial(done);
    await other.close();
  });
});
