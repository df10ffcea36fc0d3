import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SharedVerdicts } from '../../../src/engine/rules/shared-verdicts.ts';
import type { WebhookVerdict } from '../../../src/rules/webhook.ts';
import type { Notes } from '../../../src/store/notes.ts';
import { openNotesFolder } from '../../../src/store/embedded/notes.ts';
import { eventually } from '../../support/eventually.ts';
import { testFolders } from '../../support/folder.ts';

/** Processes that are sent the same commit, each with a memory of its own. */

const newFolder = testFolders();
const MINUTE = 60_000;
const allowed: WebhookVerdict = { kind: 'allowed' };
const refused: WebhookVerdict = { kind: 'refused', reason: 'no' };

const open = async () => openNotesFolder(join(await newFolder(), 'verdicts'));
const process = (notes: Notes, clock: () => number = Date.now) =>
  new SharedVerdicts(notes, MINUTE, clock);

/** Notes that answer when a schedule says so. */
function slowNotes(scheduler: fc.Scheduler): Notes {
  const texts = new Map<string, string>();
  const when = async <Result>(act: () => Result): Promise<Result> => {
    await scheduler.schedule(Promise.resolve());
    return act();
  };
  const keep = (name: string, text: string) => when(() => void texts.set(name, text));
  return {
    keep,
    keepOwn: keep,
    claim: (name, text) =>
      when(() => {
        if (texts.has(name)) return false;
        texts.set(name, text);
        return true;
      }),
    get: (name) => when(() => texts.get(name)),
    remove: (name) => when(() => void texts.delete(name)),
    all: () => when(() => [...texts].map(([name, text]) => ({ name, text }))),
    close: async () => undefined,
  };
}

describe('verdicts that processes share', () => {
  it('are asked for by one, and told to the others, at once or later', async () => {
    const notes = await open();
    let asked = 0;
    const judge = async (): Promise<WebhookVerdict> => {
      asked += 1;
      await new Promise((resolve) => setTimeout(resolve, 60));
      return refused;
    };
    const all = Array.from({ length: 5 }, () => process(notes).ask('commit', 1000, judge));
    expect(await Promise.all(all)).toEqual(Array.from({ length: 5 }, () => refused));
    expect(await process(notes).ask('commit', 1000, judge)).toEqual(refused);
    expect(asked).toBe(1);
    expect(await process(notes).ask('another', 1000, async () => allowed)).toEqual(allowed);
  });

  it('are forgotten after a minute', async () => {
    const notes = await open();
    let now = 1_000_000;
    const clock = () => now;
    expect(await process(notes, clock).ask('commit', 1000, async () => refused)).toEqual(refused);
    now += MINUTE - 1;
    expect(await process(notes, clock).ask('commit', 1000, async () => allowed)).toEqual(refused);
    now += 1;
    expect(await process(notes, clock).ask('commit', 1000, async () => allowed)).toEqual(allowed);
  });

  it('are none where a process ended while it asked: nobody asks again', async () => {
    const notes = await open();
    let now = 1_000_000;
    const clock = () => now;
    const ended = new Promise<void>((resolve) => {
      void process(notes, clock).ask('commit', 1000, () => {
        resolve();
        return new Promise(() => undefined);
      });
    });
    await ended;
    now += 9000;
    expect(await process(notes, clock).ask('commit', 1000, async () => allowed)).toEqual({
      kind: 'failed',
      why: 'another process called it and did not report its answer',
    });
  });

  it('are asked for by one, in whatever order processes meet what is over, and by whatever clock', async () => {
    const offset = fc.integer({ min: -9, max: 9 });
    const asking = fc.record({ at: fc.integer({ min: 0, max: 40 }), offset });
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.integer({ min: 0, max: 60 }),
        fc.array(asking, { minLength: 2, maxLength: 5 }),
        async (scheduler, start, askings) => {
          const notes = slowNotes(scheduler);
          const asked: number[] = [];
          const ask = (millis: number) =>
            process(notes, () => millis).ask('commit', MINUTE, async () => {
              asked.push(millis);
              return refused;
            });
          const beginning = 1_000_000 * MINUTE + start * 1000;
          // The verdict of long ago is over by all clocks.
          await scheduler.waitFor(ask(beginning - 70_000));
          expect(asked).toHaveLength(1);
          const told = askings.map(({ at, offset: by }) => ask(beginning + (at + by) * 1000));
          expect(await scheduler.waitFor(Promise.all(told))).toEqual(told.map(() => refused));
          expect(asked).toHaveLength(2);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('are none where nothing can be written down: nobody asks', async () => {
    const notes = await open();
    const full = new Error('the disk is full');
    const away = { ...notes, all: async () => [], claim: () => Promise.reject(full) } as Notes;
    expect(await process(away).ask('commit', 1000, async () => allowed)).toEqual({
      kind: 'failed',
      why: 'it is unknown whether it was called already',
    });
  });

  it('that a process left behind are removed at the next start', async () => {
    const notes = await open();
    const [old, fresh] = [Date.now() - 3 * MINUTE, Date.now()];
    await notes.keep('old', JSON.stringify({ at: old, verdict: allowed }));
    await notes.keep('fresh', JSON.stringify({ at: fresh, verdict: allowed }));
    process(notes);
    await eventually(async () => {
      expect((await notes.all()).map(({ name }) => name)).toEqual(['fresh']);
    });
  });
});
