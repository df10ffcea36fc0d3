import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Service } from '../support/service.ts';
import { send } from './http.ts';
import { checksOf, hasPython, ownTables, runsAll } from './python-client.ts';

/** What `adoption.py` has a version refused by. */
const RULES = `rules:
  - { name: small, tables: [/python/adopted/judged], require: { max_rows: 10 } }
`;

let service: Service;

beforeAll(async () => {
  if (!hasPython) return;
  service = await Service.start({ commits: RULES });
  expect((await send(service, '/v1/namespace/python/create', { body: {} })).status).toBe(200);
});

afterAll(() => service?.stop());

const scripts = [
  'lancedb_remote.py',
  'lance_tables.py',
  ...(runsAll ? ['generated_client.py', 'lancedb_namespace.py', 'pylance.py', 'adoption.py'] : []),
];

describe.runIf(hasPython)('The embedded engine', () => {
  it.each(scripts)('answers %s', async (script) => {
    const { names, faults } = await checksOf(script, ownTables(service, ['python']));
    expect(faults).toEqual([]);
    expect(names.length).toBeGreaterThan(2);
  });
});
