import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ANSWERS } from '../../../src/engine/catalog/records/keys.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { isOperationName } from '../../../src/protocol/operations/operations.ts';
import type { Check, CommitResult, Store, Write } from '../../../src/store/store.ts';
import { refusalOf } from '../../support/catalog.ts';
import { freshEngine, openOther, type TestEngine } from '../../support/engine.ts';
import { ask, requestOf } from '../../support/request.ts';
import { TableClient } from '../../support/table-client.ts';
import { changes, numbers, plantAll } from './repeated-operations.ts';

type Mishap = (commit: () => Promise<CommitResult>) => Promise<CommitResult>;

/** A store that does something else with commits that keep an answer. */
function faulty(store: Store, mishap: Mishap): Store {
  return {
    get: (key) => store.get(key),
    getMany: (keys) => store.getMany(keys),
    range: (range) => store.range(range),
    changes: (limit) => store.changes(limit),
    forget: (sequences) => store.forget(sequences),
    sequence: () => store.sequence(),
    restore: (entries, sequence) => store.restore(entries, sequence),
    replay: (changes) => store.replay(changes),
    guard: (look) => store.guard(look),
    weakness: () => store.weakness(),
    close: () => store.close(),
    commit(checks: readonly Check[], writes: readonly Write[]) {
      const commit = () => store.commit(checks, writes);
      return writes.some(({ key }) => key.startsWith(ANSWERS)) ? mishap(commit) : commit();
    },
  };
}

let engine: TestEngine;
let other: Engine | undefined;
let job = '';

beforeEach(async () => {
  engine = await freshEngine();
  job = await plantAll(engine);
});

afterEach(async () => {
  await other?.close();
  other = undefined;
  await engine.close();
});

/** Another process, whose store is another. */
function through(store: Store): Promise<Engine> {
  return openOther({ data: engine.data, store });
}

const names = Object.keys(changes('', '')).filter(isOperationName);
const unknown = { kind: 'unknown', reason: 'the line went dead' } as const;

describe('a process that dies after its commit and before its answer', () => {
  it.each(names)('has made the change when it is repeated: %s', async (name) => {
    let dead: () => void = () => undefined;
    const died = new Promise<void>((resolve) => {
      dead = resolve;
    });
    other = await through(
      faulty(engine.store, async (commit) => {
        await commit();
        dead();
        return new Promise(() => undefined);
      }),
    );
    const { line, body } = changes(engine.data, job)[name]!;
    void ask(other.backend, line, { body, id: 'x' });
    await died;
    const answer = await ask(engine.backend, line, { body, id: 'x' });
    expect(answer.status).toBe(requestOf(line).operation.success);
    expect(answer.headers).toStrictEqual({ 'x-arrowgate-replayed': 'true' });
    const gone = ['DropTable', 'DeregisterTable', 'RenameTable'].includes(name);
    if (!gone) await new TableClient(engine, 'a$t').rows();
  });
});

describe('a commit of which nobody says what became of it', () => {
  it.each(names)('is found, and the change is made once: %s', async (name) => {
    let left = 1;
    other = await through(
      faulty(engine.store, async (commit) => {
        const result = await commit();
        return left-- > 0 ? unknown : result;
      }),
    );
    const { line, body } = changes(engine.data, job)[name]!;
    const first = await ask(other.backend, line, { body, id: 'x' });
    const second = await ask(engine.backend, line, { body, id: 'x' });
    expect(second).toMatchObject({ status: first.status, body: first.body });
    expect(second.headers).toBeDefined();
    expect(left).toBeLessThanOrEqual(0);
  });

  it('is answered from what was kept when its traces are gone', async () => {
    let left = 1;
    const { store } = engine;
    other = await through(
      faulty(store, async (commit) => {
        const result = await commit();
        if (left-- <= 0) return result;
        // Somebody takes the tag away at once, so that it looks as if it had never been made.
        await ask(engine.backend, 'POST /v1/table/a$t/tags/delete', { body: { tag: 'brief' } });
        return unknown;
      }),
    );
    const sent = { body: { tag: 'brief', version: 1 }, id: 'x' };
    expect((await ask(other.backend, 'POST /v1/table/a$t/tags/create', sent)).status).toBe(200);
    const version = ask(engine.backend, 'POST /v1/table/a$t/tags/version', {
      body: { tag: 'brief' },
    });
    expect(await refusalOf(version)).toBe('8 TableTagNotFound: the table has no tag "brief"');
  });

  it('keeps the files of rows that were committed after all', async () => {
    let left = 2;
    other = await through(
      faulty(engine.store, async (commit) => {
        if (left-- === 2) return commit().then(() => unknown);
        return commit();
      }),
    );
    const sent = { body: numbers(1n), id: 'x' };
    await ask(other.backend, 'POST /v1/table/a$new/create', sent);
    expect(await new TableClient(engine, 'a$new').rows()).toHaveLength(1);
  });

  it('is made when the client comes again, if it had no effect', async () => {
    other = await through(faulty(engine.store, async () => unknown));
    const sent = { body: { properties: {} }, id: 'x' };
    expect(await refusalOf(ask(other.backend, 'POST /v1/namespace/b/create', sent))).toBe(
      '17 ServiceUnavailable: it is not known whether the change was made: the line went dead',
    );
    const again = await ask(engine.backend, 'POST /v1/namespace/b/create', sent);
    expect(again.headers).toBeUndefined();
  });
});
