import { readdir } from 'node:fs/promises';
import { Int32, Table, tableToIPC, vectorFromArray } from 'apache-arrow';
import { expect } from 'vitest';
import { send } from './http.ts';

/** What there is of one family of names: a namespace, and a table in it, which may be no more than declared. */
export interface Family {
  readonly namespace: boolean;
  readonly table: boolean;
  readonly declared: boolean;
}

const body = tableToIPC(new Table({ id: vectorFromArray([1, 2, 3], new Int32()) }), 'stream');

interface Step {
  readonly from: Family;
  readonly to: Family;
  /** The request, given the name of the family. */
  readonly run: (url: string, name: string) => Promise<{ readonly status: number }>;
}

const nothing: Family = { namespace: false, table: false, declared: false };
const empty: Family = { namespace: true, table: false, declared: false };
const declared: Family = { namespace: true, table: true, declared: true };
const whole: Family = { namespace: true, table: true, declared: false };

const createNamespace: Step = {
  from: nothing,
  to: empty,
  run: (url, name) =>
    send(url, `POST /v1/namespace/${name}/create`, { body: { properties: { called: name } } }),
};
const createTable: Step = {
  from: empty,
  to: whole,
  run: (url, name) => send(url, `POST /v1/table/${name}$t/create`, { body }),
};
const declareTable: Step = {
  from: empty,
  to: declared,
  run: (url, name) => send(url, `POST /v1/table/${name}$t/declare`),
};
const overwriteDeclared: Step = {
  from: declared,
  to: whole,
  run: (url, name) => send(url, `POST /v1/table/${name}$t/create?mode=overwrite`, { body }),
};
const deregisterDeclared: Step = {
  from: declared,
  to: empty,
  run: (url, name) => send(url, `POST /v1/table/${name}$t/deregister`),
};
const dropTable: Step = {
  from: whole,
  to: empty,
  run: (url, name) => send(url, `POST /v1/table/${name}$t/drop`),
};
const dropNamespace: Step = {
  from: empty,
  to: nothing,
  run: (url, name) => send(url, `POST /v1/namespace/${name}/drop`),
};
const dropBoth: Step = {
  from: whole,
  to: nothing,
  run: (url, name) =>
    send(url, `POST /v1/namespace/${name}/drop`, { body: { behavior: 'cascade' } }),
};

/** What happens to the families, one life after the other. */
const lives: readonly (readonly Step[])[] = [
  [createNamespace, createTable],
  [createNamespace, createTable, dropTable],
  [createNamespace, createTable, dropTable, dropNamespace],
  [createNamespace, createTable, dropBoth],
  [createNamespace, createTable, dropTable, createTable],
  [createNamespace, declareTable],
  [createNamespace, declareTable, deregisterDeclared, declareTable],
  [createNamespace, declareTable, overwriteDeclared],
];

/** Names that are made and dropped, and what their makers know of them. */
export class NameLedger {
  readonly #prefix: string;
  /** What may be there now: one state, or two after a request without an answer. */
  readonly #known = new Map<string, readonly Family[]>();
  readonly #acknowledged: { readonly name: string; readonly to: Family }[] = [];

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Lives the life of one new family. Rejects when the connection is lost. */
  async live(url: string): Promise<void> {
    const name = `${this.#prefix}${this.#known.size}`;
    this.#known.set(name, [nothing]);
    for (const step of lives[this.#known.size % lives.length]!) {
      this.#known.set(name, [step.from, step.to]);
      expect((await step.run(url, name)).status).toBe(200);
      this.#known.set(name, [step.to]);
      this.#acknowledged.push({ name, to: step.to });
    }
  }

  /** Every change that was acknowledged: the name of its family and what there was after it. */
  get acknowledged(): readonly { readonly name: string; readonly to: Family }[] {
    return this.#acknowledged;
  }

  /** What there is of each family, as it was found by the last check. */
  get found(): ReadonlyMap<string, Family> {
    return new Map([...this.#known].map(([name, [family]]) => [name, family!]));
  }

  /** Holds the catalog against what is known. */
  async check(url: string): Promise<void> {
    for (const [name, possible] of this.#known) {
      const found = await familyAt(url, name);
      expect(possible, name).toContainEqual(found);
      this.#known.set(name, [found]);
    }
    const visible = await names(url, `GET /v1/namespace/$/list`, 'namespaces');
    const mine = visible.filter((name) => name.startsWith(this.#prefix)).sort();
    const there = [...this.found].filter(([, family]) => family.namespace).map(([name]) => name);
    expect(mine).toEqual(there.sort());
  }
}

async function familyAt(url: string, name: string): Promise<Family> {
  const described = await send(url, `POST /v1/namespace/${name}/describe`);
  if (described.status === 404) return nothing;
  expect(described.json['properties']).toEqual({ called: name });
  const counted = await send(url, `GET /v1/table/${name}$t/count_rows`);
  if (counted.status === 404) return empty;
  if (counted.status === 409) return declaredAt(url, name);
  expect([counted.status, counted.text]).toEqual([200, '3']);
  return whole;
}

/** A declared table is a name and its folder, neither without the other. */
async function declaredAt(url: string, name: string): Promise<Family> {
  const described = await send(url, `POST /v1/table/${name}$t/describe`);
  expect(described.json).toMatchObject({ is_only_declared: true, managed_versioning: true });
  expect(await readdir(String(described.json['location']))).toEqual([]);
  return declared;
}

async function names(url: string, line: string, field: string): Promise<string[]> {
  return (await send(url, line)).json[field] as string[];
}
