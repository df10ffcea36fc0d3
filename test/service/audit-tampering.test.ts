import { cp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readOrMakeSigningKey } from '../../src/audit/signing/keys.ts';
import { run } from '../cli/captured.ts';
import { testFolders } from '../support/folder.ts';
import { Service } from '../support/service.ts';
import { sendGranted } from './http.ts';
import { goodRows } from './table-bodies.ts';

/* What is done to the log of a real gateway by somebody who owns its disk, and what is found. */

const newFolder = testFolders();
let service: Service;

/** Yesterday: the data folder as it was before the last start. */
let before: string;

beforeAll(async () => {
  service = await Service.start({ config: 'audit: { anchor_file: anchor.jsonl }\n' });
  await work();
  await service.end();
  await service.restart();
  await work();
  await service.end();
  before = join(service.folder, 'before');
  await cp(service.data, before, { recursive: true });
  await service.restart();
  await work();
  await service.end('SIGKILL');
  await service.restart();
  await work();
  await service.end();
});

afterAll(() => service.stop());

async function work(): Promise<void> {
  await sendGranted(service.url, 'POST /v1/table/t/create?mode=overwrite', { body: goodRows });
  await sendGranted(service.url, 'POST /v1/table/t/describe', { body: {} });
}

/** A copy of the data folder, whose places of interest are named. */
class Copy {
  readonly data: string;

  constructor(data: string) {
    this.data = data;
  }

  path(...names: readonly string[]): string {
    return join(this.data, 'private', ...names);
  }

  /** Its instances, in the order of their starts. */
  async instances(): Promise<readonly string[]> {
    const names = await readdir(this.path('audit'));
    const found = names.filter((name) => name !== 'policies');
    const begun = new Map(
      await Promise.all(
        found.map(async (name) => {
          const { time } = JSON.parse(
            await readFile(this.path('audit-starts', `${name}.json`), 'utf8'),
          ) as { readonly time: string };
          return [name, time] as const;
        }),
      ),
    );
    return found.toSorted((one, other) => (begun.get(one)! < begun.get(other)! ? -1 : 1));
  }

  async instance(at: number): Promise<string> {
    return (await this.instances()).at(at)!;
  }

  /** Rewrites the lines of an instance. */
  async lines(at: number, change: (lines: string[]) => readonly string[]): Promise<void> {
    const path = this.path('audit', await this.instance(at), '00000001.jsonl');
    const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
    await writeFile(path, `${change(lines).join('\n')}\n`);
  }

  /** Makes away with an instance, its checkpoint and all that is known of its process. */
  async forget(instance: string): Promise<void> {
    await rm(this.path('audit', instance), { recursive: true });
    await rm(this.path('store', 'notes', `${instance}.note`), { force: true });
    for (const folder of ['audit-starts', 'audit-processes']) {
      for (const name of await readdir(this.path(folder))) {
        if (name.startsWith(instance)) await rm(this.path(folder, name));
      }
    }
  }

  async swapKey(): Promise<void> {
    await rm(this.path('audit-signing-key.pem'));
    await rm(this.path('audit-keys.jsonl'));
    await readOrMakeSigningKey(this.path('audit-signing-key.pem'));
  }
}

interface Tampering {
  readonly done: (copy: Copy) => Promise<unknown>;
  /** Kind and text of a finding; null where nothing can be found. */
  readonly found: readonly [string, RegExp] | null;
  /** Whether the anchor file is asked as well. */
  readonly anchor?: false;
}

const tamperings: Readonly<Record<string, Tampering>> = {
  'a record is edited': {
    done: (copy) => copy.lines(0, (lines) => lines.with(0, lines[0]!.replace('"allow"', '"deny"'))),
    found: ['edited', /^record 1 was edited$/],
    anchor: false,
  },
  'the newest records of an instance are cut off': {
    done: (copy) => copy.lines(0, (lines) => lines.slice(0, -2)),
    found: ['cut short', /^the log ends after record \d+, but \d+ were signed at /],
    anchor: false,
  },
  'the signing key is swapped, and records are cut off': {
    done: async (copy) => {
      await copy.swapKey();
      await copy.lines(0, (lines) => lines.slice(0, -2));
    },
    found: ['unknown key', /^the checkpoint at \d+ in the store was signed by the unknown key /],
    anchor: false,
  },
  'the signing key is swapped, and all checkpoints are deleted': {
    done: async (copy) => {
      await copy.swapKey();
      await rm(copy.path('store', 'notes'), { recursive: true });
      await copy.lines(0, (lines) => lines.slice(0, -2));
    },
    found: ['unknown key', /^the statement of its start was not signed by any of the keys$/],
    anchor: false,
  },
  'the checkpoints of an instance are deleted, and records are cut off': {
    done: async (copy) => {
      await rm(copy.path('store', 'notes', `${await copy.instance(0)}.note`));
      await copy.lines(0, (lines) => lines.slice(0, -2));
    },
    found: [
      'unsigned',
      /^its process ended without a signed head, and its last \d+ records have no/,
    ],
    anchor: false,
  },
  'a whole instance is deleted with its checkpoint': {
    done: async (copy) => copy.forget(await copy.instance(1)),
    found: ['removed', /^the whole instance is missing: \S+ knew it when it began$/],
    anchor: false,
  },
  'the folder of the newest instance is deleted': {
    done: async (copy) => rm(copy.path('audit', await copy.instance(-1)), { recursive: true }),
    found: ['removed', /^the whole instance is missing: \d+ of its records were signed at /],
    anchor: false,
  },
  'the newest instance is deleted with its checkpoint': {
    done: async (copy) => copy.forget(await copy.instance(-1)),
    found: ['removed', /^the whole instance is missing: \d+ of its records were signed at /],
  },
  'the newest instance is deleted with its checkpoint, and there is no anchor': {
    done: async (copy) => copy.forget(await copy.instance(-1)),
    found: null,
    anchor: false,
  },
  'the statement of a start is deleted': {
    done: async (copy) => rm(copy.path('audit-starts', `${await copy.instance(1)}.json`)),
    found: ['removed', /^the statement of its start is not the one that its checkpoints name$/],
    anchor: false,
  },
  'the folder is put back to the day before': {
    done: async (copy) => {
      await rm(copy.data, { recursive: true });
      await cp(before, copy.data, { recursive: true });
    },
    found: ['removed', /^the whole instance is missing: \d+ of its records were signed at /],
  },
  'the anchor is deleted': {
    done: () => rename(join(service.folder, 'anchor.jsonl'), join(service.folder, 'away')),
    found: [
      'not asked',
      /^its checkpoints cannot be read, so nothing is compared with them: ENOENT/,
    ],
  },
  'all that is known of processes is deleted, and a checkpoint too': {
    done: async (copy) => {
      await rm(copy.path('audit-processes'), { recursive: true });
      await rm(copy.path('store', 'notes', `${await copy.instance(0)}.note`));
    },
    found: ['unsigned', /^its process ended without a signed head, /],
    anchor: false,
  },
};

async function verified(data: string, ...words: readonly string[]) {
  const { code, lines } = await run('audit', 'verify', '--data', data, '--json', ...words);
  return { code, said: JSON.parse(lines.join('')) as Said };
}

interface Said {
  readonly findings: readonly { readonly kind: string; readonly text: string }[];
  readonly notes: readonly string[];
  readonly unknown: readonly string[];
  readonly keys: readonly { readonly id: string; readonly why: string }[];
  readonly heads: readonly { readonly count: number; readonly signed: number }[];
  readonly from: string;
  readonly to: string;
}

describe('arrowgate audit verify', () => {
  it('finds nothing in a log that was killed once, and says what it rests on', async () => {
    const { code, said } = await verified(
      service.data,
      '--anchor',
      join(service.folder, 'anchor.jsonl'),
    );
    expect([code, said.findings]).toEqual([0, []]);
    expect(
      said.notes.filter((note) => note.includes('ended without a signed head')).length,
    ).toBeLessThan(2);
    expect(said.heads.every(({ count, signed }) => count === signed)).toBe(true);
    expect(said.keys).toEqual([
      { id: expect.stringMatching(/^[\w-]{16}$/), why: 'the key in use' },
    ]);
    expect(said.from <= said.to).toBe(true);
    expect(said.unknown.join('\n')).toContain('the owner of its disk could have rewritten the log');
  });

  it('says that the anchor file, of which instances speak, was not asked', async () => {
    const { code, said } = await verified(service.data);
    expect(code).toBe(1);
    expect(said.findings).toMatchObject([
      { kind: 'not asked', text: expect.stringContaining(join(service.folder, 'anchor.jsonl')) },
    ]);
  });

  it.each(Object.entries(tamperings))('when %s', async (_, { done, found, anchor }) => {
    const copy = new Copy(join(await newFolder(), 'data'));
    await cp(service.data, copy.data, { recursive: true, preserveTimestamps: true });
    const file = join(service.folder, 'anchor.jsonl');
    try {
      await done(copy);
      const empty = join(await newFolder(), 'none.jsonl');
      await writeFile(empty, '');
      const { code, said } = await verified(copy.data, '--anchor', anchor === false ? empty : file);
      if (found === null) {
        expect([code, said.findings]).toEqual([0, []]);
        expect(said.unknown.join('\n')).toMatch(/older copy|kept elsewhere/);
        return;
      }
      const [kind, text] = found;
      expect(code).toBe(1);
      expect(said.findings).toContainEqual(
        expect.objectContaining({ kind, text: expect.stringMatching(text) }),
      );
    } finally {
      await stat(file).catch(() => rename(join(service.folder, 'away'), file));
    }
  });
});

describe('arrowgate audit rotate-key', () => {
  it('links the old key and the new one, so that either vouches for all', async () => {
    const copy = new Copy(join(await newFolder(), 'data'));
    await cp(service.data, copy.data, { recursive: true });
    const anchor = ['--anchor', join(service.folder, 'anchor.jsonl')];
    const old = join(await newFolder(), 'old.pem');
    await cp(copy.path('audit-signing-key.pem'), old);
    const { code, lines } = await run('audit', 'rotate-key', '--data', copy.data, '--json');
    expect(code).toBe(0);
    const rotated = JSON.parse(lines.join('')) as { readonly old: string; readonly next: string };
    expect((await run('keys', 'create', '--subject', 'ann', '--data', copy.data)).code).toBe(0);
    const byNew = await verified(copy.data, ...anchor);
    expect([byNew.code, byNew.said.findings]).toEqual([0, []]);
    expect(byNew.said.keys.map(({ id }) => id)).toEqual([rotated.next, rotated.old]);
    const byOld = await verified(copy.data, ...anchor, '--public-key', old);
    expect([byOld.code, byOld.said.findings]).toEqual([0, []]);
    await rm(copy.path('audit-keys.jsonl'));
    const unlinked = await verified(copy.data, ...anchor);
    expect(unlinked.said.findings.some(({ kind }) => kind === 'unknown key')).toBe(true);
    const again = await run('audit', 'rotate-key', '--data', copy.data, '--from', old);
    expect(again.code).toBe(0);
    expect((await verified(copy.data, ...anchor)).said.findings).toEqual([]);
  });

  it('names what to do where the configuration names the key', async () => {
    const key = join(await newFolder(), 'key.pem');
    await readOrMakeSigningKey(key);
    const copy = join(await newFolder(), 'data');
    await cp(service.data, copy, { recursive: true });
    const config = join(await newFolder(), 'arrowgate.yaml');
    await writeFile(config, `audit: { signing_key: ${key} }\n`);
    const { code, notes } = await run('audit', 'rotate-key', '--data', copy, '--config', config);
    expect([code, notes]).toEqual([
      2,
      [
        `arrowgate: audit.signing_key is ${key}, which this command does not replace: make a new key, name it with --to, and set audit.signing_key to it`,
      ],
    ]);
  });
});

it('says that Redis was not asked, where the gateway kept its checkpoints there', async () => {
  const data = join(await newFolder(), 'data');
  await cp(service.data, data, { recursive: true });
  const config = join(await newFolder(), 'arrowgate.yaml');
  await writeFile(config, 'coordination: { redis: "redis://127.0.0.1:1", catalog: lake }\n');
  await run('keys', 'create', '--subject', 'ann', '--data', data, '--config', config);
  const { code, said } = await verified(data, '--anchor', join(service.folder, 'anchor.jsonl'));
  expect(code).toBe(1);
  expect(said.findings).toContainEqual(
    expect.objectContaining({
      kind: 'not asked',
      text: expect.stringContaining('it kept its checkpoints in Redis, catalog lake'),
    }),
  );
});
