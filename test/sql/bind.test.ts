import { Field, Int32, Int64, Schema, Struct, Utf8, Bool, Uint64 } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { bindExpression } from '../../src/sql/bind.ts';
import { columnsUsed } from '../../src/sql/evaluate/columns.ts';
import { SqlError } from '../../src/sql/values/sql-error.ts';
import { selectRows } from '../../src/sql/evaluate.ts';
import { parseExpression } from '../../src/sql/parse.ts';
import { parsePath } from '../../src/sql/parse/path.ts';
import { printExpression } from './print.ts';
import { batchOf, column, refusal } from './support.ts';

const scope = new Schema([
  new Field('id', new Int64()),
  new Field('Name', new Utf8()),
  new Field('flag', new Bool()),
  new Field('FLAG', new Int32()),
  new Field('a.b', new Int32()),
  new Field('meta', new Struct([new Field('Id', new Int32())])),
  new Field('_rowid', new Uint64()),
]);

function used(text: string): readonly string[] {
  return columnsUsed(bindExpression(parseExpression(text), scope));
}

function refused(text: string): string {
  try {
    bindExpression(parseExpression(text), scope);
  } catch (error) {
    if (error instanceof SqlError) {
      return `${error.kind}: ${error.message}`;
    }
    throw error;
  }
  return 'accepted';
}

describe('names', () => {
  it.each([
    ['id = 1', ['id']],
    ['ID = 1', ['id']],
    ["name = 'x' and NAME <> 'y'", ['Name']],
    ['flag', ['flag']],
    ['FLAG = 1', ['FLAG']],
    ['`a.b` = 1', ['a.b']],
    ['"Name" = \'x\'', ['Name']],
    ['meta.id = id', ['meta', 'id']],
    ['meta.`Id` = 1', ['meta']],
    ["meta['ID'] = 1", ['meta']],
    ['_rowid in (1, 2)', ['_rowid']],
    [
      'case when flag then id else cast(Name as bigint) end > meta.id',
      ['flag', 'id', 'Name', 'meta'],
    ],
    ['id between 1 and FLAG or id in (FLAG, 3)', ['id', 'FLAG']],
    ['1 = 1', []],
  ])('%s uses %j', (text, names) => {
    expect(used(text)).toEqual(names);
  });

  it.each([
    [
      'foo = 1',
      'unknown-column: expected the name of a column, found foo; the nearest are id, flag, FLAG, at position 1',
    ],
    [
      '1 = nam',
      'unknown-column: expected the name of a column, found nam; the nearest are Name, id, flag, at position 5',
    ],
    [
      'Flag',
      'unknown-column: expected the name of one column, found Flag for each of flag, FLAG, at position 1',
    ],
    [
      '`name` = 1',
      'unknown-column: expected the name of a column, found name; the nearest are Name, a.b, id, and a string stands in single quotes, at position 1',
    ],
    [
      'a.b = 1',
      'unknown-column: expected the name of a column, found a; the nearest are id, a.b, Name, at position 1',
    ],
    [
      'meta.x = 1',
      'unknown-column: expected the name of a field, found x; the nearest are Id, at position 1',
    ],
    [
      `${'x'.repeat(500)} = 1`,
      `unknown-column: expected the name of a column, found ${'x'.repeat(60)}...; the nearest are id, Name, flag, at position 1`,
    ],
  ])('%s is refused', (text, message) => {
    expect(refused(text)).toBe(message);
  });

  it('says so when there are no columns', () => {
    expect(refusal('a')).toBe(
      'unknown-column: expected the name of a column, found a; there is none, at position 1',
    );
  });
});

describe('predicates', () => {
  it.each([
    ['not id', 'type: expected a predicate after NOT, found int64, at position 5'],
    ['flag and id', 'type: expected a predicate next to AND, found int64, at position 10'],
    ["flag or 'x'", 'type: expected a predicate next to OR, found string, at position 9'],
    ['id is true', 'type: expected a predicate before IS TRUE, found int64, at position 1'],
    [
      "interval '1 day'",
      'type: expected a result that can be computed, found interval, at position 1',
    ],
    ["id || X'00'", 'type: expected values that have a text, found binary, at position 4'],
  ])('%s is refused', (text, message) => {
    expect(refused(text)).toBe(message);
  });

  it('select rows, and nothing else does', () => {
    const batch = batchOf({ id: column(new Int64(), [1n, 2n]) });
    const bound = bindExpression(parseExpression('id + 1'), batch.schema);
    expect(() => selectRows(bound, batch)).toThrow(
      new SqlError('type', 'expected a predicate, found int64', 4),
    );
  });
});

describe('the bound tree', () => {
  it('is frozen, has literals computed and prints as it was written', () => {
    const bound = bindExpression(parseExpression('(ID) > 2 * 3 + 1 and FALSE = true'), scope);
    expect(bound.root).toMatchObject({
      kind: 'and',
      operands: [
        {
          kind: 'comparison',
          operator: '>',
          left: { name: 'id' },
          right: { kind: 'literal', value: 7n },
        },
        { kind: 'literal', value: false },
      ],
    });
    expect(Object.isFrozen(bound) && Object.isFrozen(bound.root)).toBe(true);
    expect(printExpression(bound)).toBe('ID > 2 * 3 + 1 AND FALSE = TRUE');
  });

  it('has the literal of a comparison on the right', () => {
    expect(bindExpression(parseExpression('5 < id'), scope).root).toMatchObject({
      operator: '>',
      left: { kind: 'column' },
      right: { kind: 'literal', value: 5n },
    });
  });

  it('leaves what throws to the rows that need it', () => {
    const batch = batchOf({ id: column(new Int64(), [1n, 2n]) });
    expect(refusal('case when id > 5 then 1 / 0 else id end', batch)).toBe('accepted');
    expect(refusal('case when id > 1 then 1 / 0 else id end', batch)).toBe(
      'value: expected a divisor other than zero, found 1 / 0, at position 25',
    );
  });
});

describe('field paths', () => {
  it.each([
    ['a', ['a']],
    ['a.b.c', ['a', 'b', 'c']],
    ['`a.b`.c', ['a.b', 'c']],
    ['a.`b``c`', ['a', 'b`c']],
    ['"a b"."c"', ['a b', 'c']],
    ['größe.from', ['größe', 'from']],
  ])('%s is %j', (text, names) => {
    expect(parsePath(text)).toEqual(names);
  });

  it.each([
    ['', 'expected the name of a column, found the end of the text, at position 1'],
    ['a.', 'expected the name of a field, found the end of the text, at position 3'],
    ['a..b', 'expected the name of a field, found ".", at position 3'],
    ['a b', 'expected "." or the end of the path, found "b", at position 3'],
    ['a[1]', 'expected "." or the end of the path, found "[", at position 2'],
    ['1', 'expected the name of a column, found "1", at position 1'],
    ['`a', 'expected ` to end the quoted name, found the end of the text, at position 1'],
  ])('%s is refused', (text, message) => {
    expect(() => parsePath(text)).toThrow(message);
  });
});
