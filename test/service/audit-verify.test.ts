import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { Service } from '../support/service.ts';
import { send } from './http.ts';
import { goodRows } from './table-bodies.ts';

let service: Service;

afterEach(() => service.stop());

function verify(...words: readonly string[]) {
  return service.command('audit', 'verify', ...words);
}

async function writeSome(): Promise<void> {
  await send(service.url, 'POST /v1/table/t/create?mode=overwrite', { body: goodRows });
  await send(service.url, 'POST /v1/table/t/describe', { body: {} });
}

/** The files of the log that have something in them, oldest first. */
async function logFiles(): Promise<readonly string[]> {
  const folder = join(service.data, 'private', 'audit');
  const names = await readdir(folder, { recursive: true });
  const files = names.filter((name) => name.endsWith('.jsonl')).map((name) => join(folder, name));
  // Two that began within a second are not in their order by their names.
  const begun = new Map(
    await Promise.all(files.map(async (file) => [file, (await stat(file)).birthtimeMs] as const)),
  );
  return files.toSorted((one, other) => begun.get(one)! - begun.get(other)!);
}

describe('arrowgate audit verify', () => {
  it('holds for a log that was killed and went on, and names what somebody changed in it', async () => {
    service = await Service.start();
    await writeSome();
    await service.end('SIGKILL');
    await service.restart();
    await writeSome();
    expect(await verify()).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /^looked at \d+ records of 2 instances, \d+ of them not signed yet: nothing is wrong$/m,
      ),
    });
    await service.end();

    const json = await verify('--json');
    expect(json.code).toBe(0);
    const { notes, ...verified } = JSON.parse(json.out);
    expect(verified).toMatchObject({ instances: 2, findings: [] });
    // The head of the first instance may have been signed before the kill.
    for (const note of notes) {
      expect(note).toMatch(
        / ended without a signed head: \S+ signed the \d+ records that survived, at /,
      );
    }
    expect(notes.length).toBeLessThan(2);

    const [first, second] = await logFiles();
    const text = await readFile(first!, 'utf8');
    await writeFile(first!, text.replace('"decision":"allow"', '"decision":"deny"'));
    const lines = (await readFile(second!, 'utf8')).split('\n');
    await writeFile(second!, lines.slice(0, -2).join('\n') + '\n');
    const found = await verify();
    expect(found.code).toBe(1);
    expect(found.out).toContain(`${first}:1: edited: record 1 was edited`);
    expect(found.out).toMatch(
      /: cut short: the log ends after record \d+, but \d+ were signed at /,
    );
    expect(found.out).toMatch(/: 2 findings$/m);
  });

  it('refuses a key that is none', async () => {
    service = await Service.start();
    const path = join(service.data, 'FORMAT');
    expect(await verify('--public-key', path)).toMatchObject({
      code: 2,
      err: `arrowgate: ${path} holds no key in PEM\n`,
    });
  });
});
