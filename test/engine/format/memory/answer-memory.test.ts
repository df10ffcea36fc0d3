import { describe, expect, it } from 'vitest';
import { AnswerMemory } from '../../../../src/engine/format/memory/answer-memory.ts';
import { eventually } from '../../../support/eventually.ts';

const FOREVER_MILLIS = 10 ** 9;

/** An answer that holds some bytes until it is released. */
function holder(memory: AnswerMemory, bytes: number): { release(): void; released: number } {
  const answer = {
    released: 0,
    release: () => {
      answer.released += 1;
      memory.adjust(-bytes);
    },
  };
  return answer;
}

describe('the memory of answers', () => {
  it('is given to waiters in their order, once it is returned', async () => {
    const memory = new AnswerMemory(10);
    expect(memory.take(8)).toBeUndefined();
    const order: string[] = [];
    const large = Promise.resolve(memory.take(9)).then(() => order.push('large'));
    const small = Promise.resolve(memory.take(1)).then(() => order.push('small'));
    await Promise.resolve();
    expect(order).toEqual([]);
    memory.adjust(-8);
    await Promise.all([large, small]);
    expect(order).toEqual(['large', 'small']);
    expect(memory.held).toBe(10);
  });

  it('is given whole to an answer that needs more than there is, if it is alone', () => {
    const memory = new AnswerMemory(10);
    expect(memory.take(1000)).toBeUndefined();
    expect(memory.held).toBe(1000);
  });

  it('is released by a stalled answer once another one needs it', async () => {
    const memory = new AnswerMemory(10, { patience: { idle: FOREVER_MILLIS, needed: 100 } });
    const stalled = holder(memory, 8);
    await memory.take(8);
    memory.stall(stalled);
    await memory.take(8);
    expect(stalled.released).toBe(1);
    expect(memory.held).toBe(8);
  });

  it('is released by an answer that stalls while another one waits', async () => {
    const memory = new AnswerMemory(10, { patience: { idle: FOREVER_MILLIS, needed: 100 } });
    const stalled = holder(memory, 8);
    await memory.take(8);
    const taken = memory.take(8);
    memory.stall(stalled);
    await taken;
    expect(stalled.released).toBe(1);
  });

  it('stays with a reader that reads again', async () => {
    const memory = new AnswerMemory(10, { patience: { idle: FOREVER_MILLIS, needed: 100 } });
    const [slow, stalled] = [holder(memory, 8), holder(memory, 1)];
    await memory.take(8);
    await memory.take(1);
    memory.stall(slow);
    const taken = memory.take(2);
    memory.resume(slow);
    memory.stall(stalled);
    await taken;
    expect([slow.released, stalled.released]).toEqual([0, 1]);
  });

  it('is released by a stalled answer after a while, though nobody needs it', async () => {
    const memory = new AnswerMemory(10, { patience: { idle: 1, needed: 1 } });
    const stalled = holder(memory, 8);
    await memory.take(8);
    memory.stall(stalled);
    await eventually(() => expect(stalled.released).toBe(1));
    expect(memory.held).toBe(0);
  });

  it('is not given to an answer whose client left while it waited', async () => {
    const memory = new AnswerMemory(10);
    await memory.take(8);
    const client = new AbortController();
    const left = memory.take(9, { signal: () => client.signal });
    const stayed = memory.take(2);
    client.abort(new Error('the client left'));
    await expect(left).rejects.toThrow('the client left');
    await stayed;
    expect(memory.held).toBe(10);
  });

  it('is not waited for by a client that has left already', async () => {
    const memory = new AnswerMemory(10);
    await memory.take(8);
    const signal = () => AbortSignal.abort(new Error('the client left'));
    await expect(memory.take(9, { signal })).rejects.toThrow('the client left');
    memory.adjust(-8);
    expect(memory.held).toBe(0);
  });

  it('is for threads never all of one owner', async () => {
    const memory = AnswerMemory.forThreads(10);
    const [ann, bob] = [{ owner: 'ann' }, { owner: 'bob' }];
    await memory.take(4, ann);
    const order: string[] = [];
    const more = Promise.resolve(memory.take(4, ann)).then(() => order.push('ann'));
    await Promise.resolve(memory.take(4, bob)).then(() => order.push('bob'));
    expect(order).toEqual(['bob']);
    memory.adjust(-4, ann);
    await more;
    expect(order).toEqual(['bob', 'ann']);
  });

  it('is for threads enough for two owners, whatever they need', () => {
    const memory = AnswerMemory.forThreads(10);
    expect(memory.take(100, { owner: 'ann' })).toBeUndefined();
    expect(memory.take(100, { owner: 'bob' })).toBeUndefined();
    expect(memory.take(1, { owner: 'cid' })).toBeInstanceOf(Promise);
  });
});
