import { describe, expect, it } from 'vitest';
import { Networks } from '../../src/gateway/http/networks.ts';
import { sourceAddress } from '../../src/gateway/admit.ts';

const trusted = ['127.0.0.0/8', '10.0.0.0/8', 'fd00::/8'];

function source(peer: string, forwarded: string | undefined, networks = trusted): string {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  const socket = { remoteAddress: peer };
  return sourceAddress({ headers, socket } as never, new Networks(networks));
}

describe('where a request comes from', () => {
  it.each<readonly [string, string, string | undefined, string]>([
    ['is its connection', '192.0.2.1', undefined, '192.0.2.1'],
    ['is its connection, as IPv4 where it is', '::ffff:192.0.2.1', undefined, '192.0.2.1'],
    ['is not what a stranger says', '192.0.2.1', '198.51.100.7', '192.0.2.1'],
    ['is what a trusted proxy says', '10.0.0.1', '198.51.100.7', '198.51.100.7'],
    ['is what it says over IPv6', '::ffff:10.0.0.1', '2001:db8::1', '2001:db8::1'],
    ['is not what the client had said to it', '10.0.0.1', '1.2.3.4, 198.51.100.7', '198.51.100.7'],
    [
      'is found through several proxies',
      '127.0.0.1',
      '1.2.3.4, 198.51.100.7, 10.9.9.9',
      '198.51.100.7',
    ],
    ['is the first proxy when all are trusted', '127.0.0.1', '10.1.1.1, fd00::1', '10.1.1.1'],
    ['has no port', '10.0.0.1', '198.51.100.7:4711', '198.51.100.7'],
    ['has no port over IPv6 either', '10.0.0.1', '[2001:db8::1]:4711', '2001:db8::1'],
    ['is the last proxy before something else', '127.0.0.1', '1.2.3.4, unknown', '127.0.0.1'],
    ['is the proxy when it says nothing', '127.0.0.1', ' ', '127.0.0.1'],
    ['is no text with line breaks', '127.0.0.1', '1.2.3.4\r\n5', '127.0.0.1'],
  ])('%s', (_, peer, forwarded, expected) => {
    expect(source(peer, forwarded)).toBe(expected);
  });

  it('is its connection when no proxy is trusted', () => {
    expect(source('127.0.0.1', '198.51.100.7', [])).toBe('127.0.0.1');
  });
});
