import { describe, expect, it } from 'vitest';
import { parseDuration, parseSize } from '../../src/protocol/units.ts';

describe('a size', () => {
  it.each([
    ['0', 0],
    ['1000', 1000],
    ['7B', 7],
    ['16KiB', 16_384],
    ['64 MiB', 67_108_864],
    ['2GiB', 2_147_483_648],
    ['1TiB', 1_099_511_627_776],
    ['64MB', undefined],
    ['1.5MiB', undefined],
    ['-1', undefined],
    ['', undefined],
    ['MiB', undefined],
    ['99999999999999999TiB', undefined],
  ])('%j is %s', (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
  });
});

describe('a duration', () => {
  it.each([
    ['500ms', 500],
    ['300s', 300_000],
    ['15m', 900_000],
    ['24h', 86_400_000],
    ['400d', 34_560_000_000],
    ['300', undefined],
    ['1w', undefined],
    ['-1s', undefined],
    ['1.5h', undefined],
    ['', undefined],
  ])('%j is %s', (text, millis) => {
    expect(parseDuration(text)).toBe(millis);
  });
});
