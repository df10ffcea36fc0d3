import { describe, expect, it } from 'vitest';
import { programOf } from './program.ts';
import type { Run } from './run.ts';
import { shrink } from './shrink.ts';
import type { Program } from './statement.ts';

const mix = { insert: 3, delete: 2, count: 2, restore: 1 };

/** A program fails when it deletes from a table that was created with more than one row. */
async function run({ create, statements }: Program): Promise<Run> {
  const statement = statements.find(({ kind }) => kind === 'delete');
  const rows = create[0]?.values.length ?? 0;
  if (statement === undefined || rows < 2) return { asked: 0, refused: 0 };
  return { asked: 1, refused: 0, failure: { statement, difference: `${rows} rows` } };
}

describe('a program that fails', () => {
  it('is the same for the same seed', () => {
    expect(programOf(3, mix, 20)).toEqual(programOf(3, mix, 20));
    expect(programOf(3, mix, 20)).not.toEqual(programOf(4, mix, 20));
  });

  it('is made as small as it can be', async () => {
    const program = programOf(5, mix, 20);
    const { failure } = await run(program);
    const small = await shrink({ program, failure: failure! }, run);
    expect(small.program.statements.map(({ kind }) => kind)).toEqual(['delete']);
    expect(small.program.create[0]?.values).toHaveLength(2);
    expect(small.failure.difference).toBe('2 rows');
  });
});
