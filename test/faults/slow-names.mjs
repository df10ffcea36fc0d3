// Loaded before the program: the name `redis.test` is this machine's, found after longer than a connection takes to end.
import dns from 'node:dns';

const { lookup } = dns;
dns.lookup = (...asked) => {
  if (asked[0] !== 'redis.test') return lookup(...asked);
  return setTimeout(() => asked.at(-1)(null, '127.0.0.1', 4), 150);
};
