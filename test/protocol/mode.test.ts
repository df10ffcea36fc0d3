import { describe, expect, it } from 'vitest';
import { choiceOf, normalMode, queryMode } from '../../src/protocol/mode.ts';
import { operations } from '../../src/protocol/operations/operations.ts';
import { refusalOf } from './refusal.ts';

describe('a mode', () => {
  it.each([
    ['create', 'create'],
    ['Create', 'create'],
    ['CREATE', 'create'],
    ['"create"', 'create'],
    ['exist_ok', 'exist_ok'],
    ['ExistOk', 'exist_ok'],
    ['EXISTOK', 'exist_ok'],
    ['"Exist_Ok"', 'exist_ok'],
    ['"Cascade"', 'cascade'],
    ['', ''],
    ['"', '"'],
    ['some_thing', 'some_thing'],
  ])('%j is %s', (text, mode) => {
    expect(normalMode(text)).toBe(mode);
  });

  it('is the first of its operation when none is named', () => {
    expect(choiceOf(operations.CreateTable, 'mode', undefined)).toBe('create');
    expect(choiceOf(operations.InsertIntoTable, 'mode', undefined)).toBe('append');
    expect(choiceOf(operations.DropNamespace, 'behavior', undefined)).toBe('restrict');
    expect(choiceOf(operations.DropNamespace, 'behavior', '"Cascade"')).toBe('cascade');
  });

  it('that the operation does not know is refused', () => {
    expect(refusalOf(() => choiceOf(operations.DropNamespace, 'mode', 'Restrict'))).toBe(
      'InvalidInput: "Restrict" is no mode of DropNamespace; it knows fail, skip',
    );
  });

  it('of a query is known even where the request is refused', () => {
    const { InsertIntoTable, DropNamespace } = operations;
    expect(queryMode(InsertIntoTable, new Map())).toBe('append');
    expect(queryMode(InsertIntoTable, new Map([['mode', ['Overwrite']]]))).toBe('overwrite');
    expect(queryMode(InsertIntoTable, new Map([['mode', ['upsert']]]))).toBe(undefined);
    expect(queryMode(DropNamespace, new Map([['mode', ['skip']]]))).toBe(undefined);
  });
});
