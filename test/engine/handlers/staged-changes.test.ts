import { EventEmitter, once } from 'node:events';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CatalogError } from '../../../src/protocol/errors.ts';
import { operations } from '../../../src/protocol/operations/operations.ts';
import { streamOf } from '../../support/engine-table.ts';
import { ManagedTable } from '../../support/managed-table.ts';
import { anything } from '../../support/permit.ts';
import { ask, requestOf, type Sent } from '../../support/request.ts';

let table: ManagedTable;

beforeEach(async () => {
  table = await ManagedTable.open();
  await ask(table.engine.backend, 'POST /v1/table/e/create', { body: rows(1n, 2n, 3n) });
});

afterEach(() => table.close());

const rows = (...values: readonly bigint[]) =>
  streamOf({ n: vectorFromArray([...values], new Int64()) });

/** A change that may be prepared before its attempt is recorded. */
interface Change {
  readonly line: string;
  readonly sent: () => Promise<Sent>;
}

const changes: Readonly<Record<string, Change>> = {
  InsertIntoTable: {
    line: 'POST /v1/table/e/insert',
    sent: async () => ({ body: rows(4n) }),
  },
  MergeInsertIntoTable: {
    line: 'POST /v1/table/e/merge_insert?on=n&when_not_matched_insert_all=true',
    sent: async () => ({ body: rows(4n) }),
  },
  UpdateTable: {
    line: 'POST /v1/table/e/update',
    sent: async () => ({ body: { predicate: 'n = 2', updates: [['n', '7']] } }),
  },
  DeleteFromTable: {
    line: 'POST /v1/table/e/delete',
    sent: async () => ({ body: { predicate: 'n = 2' } }),
  },
  CreateTableVersion: {
    line: 'POST /v1/table/t/version/create',
    sent: async () => {
      staged = await table.stage(1n);
      return { body: { version: 1, manifest_path: staged } };
    },
  },
};
let staged = '';

/** When it is known whether the attempt of a change is recorded. */
class Recording {
  asked = 0;
  readonly #events = new EventEmitter();

  async recorded(): Promise<void> {
    this.asked++;
    await once(this.#events, 'recorded');
  }

  done(): void {
    this.#events.emit('recorded');
  }

  failed(error: Error): void {
    this.#events.emit('error', error);
  }
}

/** Begins a change whose body is there before its attempt is recorded. */
async function begun({ line, sent }: Change, recording: Recording) {
  const request = requestOf(line, await sent());
  const before = await state();
  const ahead = { bytes: request.body, recorded: () => recording.recorded() };
  const answer = table.engine.backend.handle({ ...request, ahead }, anything());
  answer.catch(() => undefined);
  return { answer, before };
}

async function state(): Promise<object> {
  return {
    sequence: await table.engine.store.sequence(),
    managed: await table.files(),
    rows: (await ask(table.engine.backend, 'POST /v1/table/e/count_rows', {})).json,
  };
}

describe('a change that is prepared while its attempt is on its way', () => {
  it('is each of those that the operation table says are staged', () => {
    const named = Object.values(operations).filter((operation) => operation.staged === true);
    expect(named.map(({ name }) => name).toSorted()).toEqual(Object.keys(changes).toSorted());
  });

  it.each(Object.entries(changes))(
    '%s has no effect before that is recorded',
    async (_, change) => {
      const recording = new Recording();
      const { answer, before } = await begun(change, recording);
      let isAnswered = false;
      void answer.then(() => (isAnswered = true));
      await expect.poll(() => recording.asked).toBeGreaterThan(0);
      // Whatever the change does beside waiting is done by the time that another one is.
      await ask(table.engine.backend, 'POST /v1/table/other/create', { body: rows(1n) });
      expect(isAnswered).toBe(false);
      const { sequence } = (await state()) as { readonly sequence: bigint };
      expect(sequence).toBe((before as { readonly sequence: bigint }).sequence + 1n);
      recording.done();
      expect((await answer).status).toBe(200);
      expect(await table.engine.store.sequence()).toBe(sequence + 1n);
    },
  );

  it.each(Object.entries(changes))('%s leaves nothing when that fails', async (_, change) => {
    const recording = new Recording();
    const { answer, before } = await begun(change, recording);
    await expect.poll(() => recording.asked).toBeGreaterThan(0);
    recording.failed(new CatalogError('ServiceUnavailable', 'the log cannot be written'));
    await expect(answer).rejects.toThrow();
    expect(await state()).toEqual(before);
  });
});
