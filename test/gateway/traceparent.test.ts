import { describe, expect, it } from 'vitest';
import { parseTraceparent } from '../../src/gateway/otlp-traces.ts';

describe('a traceparent', () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const spanId = 'b7ad6b7169203331';

  it.each([
    [`00-${traceId}-${spanId}-01`, { traceId, spanId, sampled: true }],
    [`00-${traceId}-${spanId}-00`, { traceId, spanId, sampled: false }],
    [`cc-${traceId}-${spanId}-03-later`, { traceId, spanId, sampled: true }],
    [`ff-${traceId}-${spanId}-01`, undefined],
    [`00-${traceId}-${spanId}-01-more`, undefined],
    [`00-${'0'.repeat(32)}-${spanId}-01`, undefined],
    [`00-${traceId}-${'0'.repeat(16)}-01`, undefined],
    [`00-${traceId.toUpperCase()}-${spanId}-01`, undefined],
    ['', undefined],
    [undefined, undefined],
    [[`00-${traceId}-${spanId}-01`], undefined],
  ])('%j', (text, parsed) => {
    expect(parseTraceparent(text)).toEqual(parsed);
  });
});
