import { expect, it } from 'vitest';
import type { Notes } from '../../src/store/notes.ts';

/** What every kind of notes does. `open` gives the same notes each time. */
export function notesConformance(open: () => Promise<Notes>): void {
  it('keeps the latest text of each name, for whoever opens them next', async () => {
    const notes = await open();
    expect(await notes.all()).toEqual([]);
    await notes.keep('b-2', 'first');
    await notes.keep('a-1', 'é {"x":1}');
    await notes.keep('b-2', 'second');
    await notes.close();
    const again = await open();
    expect(await again.all()).toEqual([
      { name: 'a-1', text: 'é {"x":1}' },
      { name: 'b-2', text: 'second' },
    ]);
    await again.close();
  });

  it('keeps the texts of a name that one process writes beside the others', async () => {
    const [notes, other] = [await open(), await open()];
    expect(await other.get('own-1')).toBeUndefined();
    for (const text of ['one', 'two, é', '3', 'four'.repeat(900)]) {
      await notes.keepOwn('own-1', text);
      expect(await other.get('own-1')).toBe(text);
    }
    await notes.keep('own-0', 'x');
    await notes.close();
    const again = await open();
    await again.keepOwn('own-1', 'after a start');
    expect((await other.all()).filter(({ name }) => name.startsWith('own'))).toEqual([
      { name: 'own-0', text: 'x' },
      { name: 'own-1', text: 'after a start' },
    ]);
    await again.remove('own-1');
    expect(await other.get('own-1')).toBeUndefined();
    await again.keepOwn('own-1', 'anew');
    expect(await other.get('own-1')).toBe('anew');
    for (const name of ['own-0', 'own-1']) await again.remove(name);
    await Promise.all([again.close(), other.close()]);
  });

  it('lets one of several claim a name, until it is removed', async () => {
    const [one, other] = [await open(), await open()];
    expect(await one.get('seat')).toBeUndefined();
    const tries = ['a', 'b', 'c', 'd'].map((text, at) =>
      (at % 2 ? one : other).claim('seat', text),
    );
    const won = (await Promise.all(tries)).indexOf(true);
    expect((await Promise.all(tries)).filter(Boolean)).toHaveLength(1);
    expect(await one.get('seat')).toBe('abcd'[won]);
    await other.keep('seat', 'kept');
    expect(await one.claim('seat', 'x')).toBe(false);
    expect(await one.get('seat')).toBe('kept');
    await one.remove('seat');
    expect(await other.claim('seat', 'y')).toBe(true);
    await other.remove('seat');
    await one.close();
    await other.close();
  });

  it('removes a name, and nothing where there is none', async () => {
    const notes = await open();
    await notes.keep('gone', 'x');
    await notes.remove('gone');
    await notes.remove('gone');
    expect((await notes.all()).map(({ name }) => name)).not.toContain('gone');
    await notes.close();
  });

  it('never shows a part of a text while it is replaced', async () => {
    const notes = await open();
    const texts = ['x', 'y'].map((letter) => letter.repeat(50_000));
    await notes.keep('busy', texts[0]!);
    const writing = (async () => {
      for (let turn = 0; turn < 40; turn++) await notes.keep('busy', texts[turn % 2]!);
    })();
    for (let turn = 0; turn < 40; turn++) {
      const busy = (await notes.all()).find(({ name }) => name === 'busy');
      expect(texts).toContain(busy?.text);
    }
    await writing;
    await notes.close();
  });
}
