import { describe, expect, it } from 'vitest';
import { contextOf } from '../../src/protocol/context.ts';
import { errorRow } from '../../src/protocol/errors.ts';

describe('the context of a request', () => {
  it('comes from both headers, keys in lower case', () => {
    const context = contextOf({
      'x-service-ctx-Team': 'search',
      'x-lance-ctx-trace.id': '00-ab',
      'x-request-id': 'r1',
    });
    expect([...context].toSorted(([left], [right]) => (left < right ? -1 : 1))).toEqual([
      ['team', 'search'],
      ['trace.id', '00-ab'],
    ]);
  });

  it('is refused if the two headers of a key differ, whichever comes first', () => {
    const headers = { 'x-lance-ctx-a': 'old', 'x-service-ctx-a': 'new' };
    const turned = { 'x-service-ctx-A': 'new', 'x-lance-ctx-a': 'old' };
    const sentence =
      'the headers x-service-ctx-a and x-lance-ctx-a have different values; send one of them';
    for (const each of [headers, turned]) {
      expect(() => contextOf(each)).toThrow(
        expect.objectContaining({ message: sentence, row: errorRow('InvalidInput') }),
      );
    }
    expect(contextOf({ 'x-lance-ctx-a': 'one', 'x-service-ctx-a': 'one' }).get('a')).toBe('one');
  });

  it('is read as UTF-8', () => {
    const sent = Buffer.from('Zo\u00eb').toString('latin1');
    expect(contextOf({ 'x-service-ctx-user': sent }).get('user')).toBe('Zo\u00eb');
  });

  it('joins a header that came twice, and has no entry without a key or a value', () => {
    const context = contextOf({
      'x-service-ctx-a': ['1', '2'],
      'x-service-ctx-': 'x',
      'x-service-ctx-b': undefined,
      'x-service-ctx-c': '',
    });
    expect([...context]).toEqual([
      ['a', '1, 2'],
      ['c', ''],
    ]);
  });
});
