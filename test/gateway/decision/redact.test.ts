import { describe, expect, it } from 'vitest';
import { redactor } from '../../../src/gateway/decision/redact.ts';

describe('values that must not be recorded', () => {
  const redact = redactor(['*token*', 'api.key', 'x(*)']);

  it.each([
    ['token', true],
    ['id-token-2', true],
    ['ID-TOKEN', true],
    ['api.key', true],
    ['apixkey', false],
    ['my-api.key', false],
    ['x(1)', true],
    ['x1', false],
    ['team', false],
  ])('are those of the matching keys: %s', (key, hidden) => {
    expect(redact(new Map([[key, 'v']]))).toEqual({ [key]: hidden ? '[redacted]' : 'v' });
  });

  it('are none without patterns', () => {
    expect(redactor([])(new Map([['token', 'v']]))).toEqual({ token: 'v' });
  });
});
