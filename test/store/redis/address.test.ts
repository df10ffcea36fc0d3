import { describe, expect, it } from 'vitest';
import { parseRedisAddress, type RedisAddress } from '../../../src/store/redis/address.ts';

const plain: RedisAddress = {
  kind: 'single',
  tls: false,
  hosts: [{ host: 'h', port: 6379 }],
  username: undefined,
  password: undefined,
  database: 0,
  master: '',
  authorities: undefined,
};

const good: readonly [string, Partial<RedisAddress>][] = [
  ['redis://h', {}],
  ['redis://h:7000/3', { hosts: [{ host: 'h', port: 7000 }], database: 3 }],
  ['redis://:p%40ss@h/', { password: 'p@ss' }],
  ['redis://user:word@h', { username: 'user', password: 'word' }],
  ['redis://[::1]:1', { hosts: [{ host: '::1', port: 1 }] }],
  ['rediss://h?ca=/etc/ca.pem', { tls: true, authorities: '/etc/ca.pem' }],
  [
    'redis+sentinel://a,b:2/main/1',
    {
      kind: 'sentinel',
      hosts: [
        { host: 'a', port: 26379 },
        { host: 'b', port: 2 },
      ],
      master: 'main',
      database: 1,
    },
  ],
  [
    'rediss+cluster://:p@a:1,b:2',
    {
      kind: 'cluster',
      tls: true,
      password: 'p',
      hosts: [
        { host: 'a', port: 1 },
        { host: 'b', port: 2 },
      ],
    },
  ],
];

const SHAPE = 'is not redis[s][+sentinel|+cluster]://[user:password@]host[:port][,…][/…]';

const bad: readonly [string, string][] = [
  ['', SHAPE],
  ['localhost:6379', SHAPE],
  ['http://secret@h', SHAPE],
  ['redis://', SHAPE],
  ['redis+other://h', SHAPE],
  ['redis://h?db=1', SHAPE],
  ['redis://h:secret', 'has a host that is not NAME or NAME:PORT'],
  ['redis://h:0', 'has a host that is not NAME or NAME:PORT'],
  ['redis://h:65536', 'has a host that is not NAME or NAME:PORT'],
  ['redis://a,b', 'names several hosts, but neither +sentinel nor +cluster'],
  ['redis://h/main', 'ends in something else than the number of a database'],
  ['redis://h/1/2', 'ends in something else than the number of a database'],
  ['redis+sentinel://h', 'lacks the name of the master that the sentinels watch'],
  ['redis+cluster://h/1', 'names a database, but a cluster has only the first'],
  ['redis://:%ff@h', 'has a part that is not percent-encoded UTF-8'],
];

describe('the address of Redis', () => {
  it.each(good)('%s', (text, expected) => {
    expect(parseRedisAddress(text)).toEqual({ ...plain, ...expected });
  });

  it.each(bad)('refuses %s without repeating it', (text, why) => {
    expect(() => parseRedisAddress(text)).toThrow(
      expect.objectContaining({ kind: 'address', message: `the address of Redis ${why}` }),
    );
  });
});
