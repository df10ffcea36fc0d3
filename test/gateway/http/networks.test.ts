import { describe, expect, it } from 'vitest';
import { networkOf, Networks } from '../../../src/gateway/http/networks.ts';

describe('the network of an address', () => {
  it.each([
    ['10.1.2.3', '10.1.2.0/24'],
    ['::1', '0:0:0:0:0:0:0:0/60'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:0:0:0:0:0/60'],
    ['2001:db8:1:ffff::', '2001:db8:1:fff0:0:0:0:0/60'],
    ['fe80::1%eth0', 'fe80:0:0:0:0:0:0:0/60'],
    ['::ffff:1.2.3.4', '0:0:0:0:0:0:0:0/60'],
    ['', ''],
    ['unix', 'unix'],
  ])('of %s is %s', (address, network) => {
    expect(networkOf(address, { 4: 24, 6: 60 })).toBe(network);
  });

  it.each([
    [1, '128.0.0.0/1'],
    [9, '255.128.0.0/9'],
    [32, '255.255.255.255/32'],
  ])('of %i bits', (bits, network) => {
    expect(networkOf('255.255.255.255', { 4: bits, 6: 64 })).toBe(network);
  });

  it('of all bits of IPv6 is the address', () => {
    expect(networkOf('1:2:3::ffff:9', { 4: 1, 6: 128 })).toBe('1:2:3:0:0:0:ffff:9/128');
    expect(networkOf('::102:304', { 4: 1, 6: 128 })).toBe(networkOf('::1.2.3.4', { 4: 1, 6: 128 }));
  });
});

describe('networks', () => {
  it('have the addresses in them, of either version', () => {
    const networks = new Networks(['10.0.0.0/8', '192.168.1.7', 'fd00::/8']);
    const inside = ['10.255.0.1', '192.168.1.7', 'fd12::1'];
    const outside = ['11.0.0.1', '192.168.1.8', 'fe80::1', '', 'localhost'];
    expect(inside.map((address) => networks.has(address))).toEqual([true, true, true]);
    expect(outside.some((address) => networks.has(address))).toBe(false);
  });

  it.each([
    '',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    'fd00::/129',
    'host/8',
    '10.0/8',
    '10.0.0.0/-1',
  ])('are not %j', (text) => {
    expect(() => new Networks([text])).toThrow(RangeError);
  });
});
