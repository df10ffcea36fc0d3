import { generateKeyPairSync } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { parseCheckpoint } from '../../../src/audit/checkpoints/checkpoint.ts';
import { CheckpointPublisher } from '../../../src/audit/checkpoints/publisher.ts';
import { SigningKey } from '../../../src/audit/signing/keys.ts';

function publisherTo(texts: string[]): CheckpointPublisher {
  const { privateKey } = generateKeyPairSync('ed25519');
  const write = async (_instance: string, text: string) => void texts.push(text);
  const place = { name: 'a place', write, all: async () => texts };
  const key = new SigningKey(privateKey);
  return new CheckpointPublisher({
    instance: 'i',
    key,
    places: [place],
    failed: () => expect.fail(),
  });
}

it('signs a head in the next turn, so that whoever waited for the head goes on first', async () => {
  const texts: string[] = [];
  const publisher = publisherTo(texts);
  publisher.advance({ count: 1n, hash: 'a'.repeat(64) });
  await Promise.resolve();
  expect(texts).toEqual([]);
  publisher.advance({ count: 2n, hash: 'b'.repeat(64) });
  await nextTurn();
  await nextTurn();
  expect(texts.map((text) => parseCheckpoint(text).count)).toEqual([2n]);
  await publisher.close();
});

it('publishes a head that came just before the end', async () => {
  const texts: string[] = [];
  const publisher = publisherTo(texts);
  publisher.advance({ count: 1n, hash: 'a'.repeat(64) });
  await publisher.close();
  expect(texts.map((text) => parseCheckpoint(text).count)).toEqual([1n]);
});
