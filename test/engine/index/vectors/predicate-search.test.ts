import { Field, Int64, Schema } from 'apache-arrow';
import { expect, it } from 'vitest';
import { searchOf } from '../../../../src/engine/index/vectors/predicate-search.ts';
import { predicateFormula } from '../../../../src/engine/request/formula.ts';

it('goes through operands that stand in several places once', () => {
  const schema = new Schema([new Field('n', new Int64(), true)]);
  const index = { name: 'n_idx', uuid: 'u', type: 'BTREE', field: 0, createdMillis: 0 } as const;
  const text = Array.from({ length: 60 }).reduce<string>(
    (inner) => `case ${inner} when 1 then 2 when 3 then n else 5 end`,
    'n',
  );
  const { bound } = predicateFormula('filter', `${text} = 1`, schema.fields);
  const search = searchOf(bound, { indices: [index], schema, fieldIds: [0] });
  expect(search).toMatchObject({ kind: 'leaf', index: { name: 'n_idx' } });
});
