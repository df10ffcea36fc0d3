import { afterEach, describe, expect, it } from 'vitest';
import type { CatalogRequest } from '../../src/protocol/backend.ts';
import type { Operation } from '../../src/protocol/operations/operation.ts';
import { operationNames, operations } from '../../src/protocol/operations/operations.ts';
import { namesObject } from '../../src/protocol/operations/operations.ts';
import type { Permit } from '../../src/protocol/permit.ts';
import type { Restrictions } from '../../src/protocol/restrictions.ts';
import { admin, ask, json, start, type Harness, type Setup } from './harness.ts';

const RESTRICTIONS = `restrictions:
  - name: own-region
    tables: ['/prod/**']
    subjects: ['role:bound']
    except: ['role:admin']
    rows: region = ctx.region AND owner IN (principal.groups)
    columns: { ssn: hidden }
`;

const POLICY = `p, role:admin, /**, *, allow
p, role:bound, /**, *, allow
`;

let harness: Harness;

afterEach(async () => harness.close());

async function started(more: Partial<Setup> = {}): Promise<{ readonly 'x-api-key': string }> {
  harness = await start({ policy: POLICY, restrictions: RESTRICTIONS, ...more });
  return { 'x-api-key': await harness.key({ roles: ['role:bound'] }) };
}

/** The documented request of an operation on `/prod/t`. */
function requestLine({ routes: [route] }: Operation): {
  readonly method: string;
  readonly path: string;
} {
  const path = route!.path
    .replace('{id}', 'prod$t')
    .replace('{index_name}', 'i')
    .replace('{column}', 'c')
    .replace('{row_id}', '1')
    .replace('{target}', 'other');
  return { method: route!.method, path };
}

describe('a caller whom restrictions bind', () => {
  it('reaches the backend with the operations that apply them, and with no other on the table', async () => {
    const headers = await started();
    const outcomes: Record<string, string[]> = { applied: [], harmless: [], refused: [] };
    const tables = operationNames.filter((name) => operations[name].object === 'table');
    for (const name of tables) {
      const operation = operations[name];
      if (!namesObject(operation)) continue;
      const { method, path } = requestLine(operation);
      const asked = {
        method,
        headers: { ...headers, 'content-type': 'application/json' },
        body: '{}',
      };
      const reply = await ask(harness, path, method === 'GET' ? { method, headers } : asked);
      const passed = harness.events.includes(`handle ${name}`);
      expect([name, passed], reply.text).toEqual([name, operation.restricted !== 'refused']);
      outcomes[operation.restricted]!.push(name);
      if (passed) continue;
      expect([name, reply.status, json(reply)['code']]).toEqual([name, 403, 15]);
      expect(json(reply)['error']).toContain(
        `user:alice may not ${name} on /prod/t: the restriction own-region cannot be applied to it`,
      );
    }
    expect(outcomes['applied']).toEqual([
      'DescribeTable',
      'InsertIntoTable',
      'MergeInsertIntoTable',
      'UpdateTable',
      'DeleteFromTable',
      'QueryTable',
      'CountTableRows',
      'ExplainTableQueryPlan',
      'AnalyzeTableQueryPlan',
    ]);
    expect(outcomes['harmless']).toEqual(['TableExists']);
    expect(outcomes['refused']!.length).toBeGreaterThan(40);
  });

  it('is recorded with the restriction that refused', async () => {
    const headers = await started();
    await ask(harness, '/v1/table/prod$t/drop', { headers });
    expect(harness.audit.outcomes().at(-1)).toMatchObject({
      decision: 'deny',
      rule: 'restrictions.yaml:2',
      operation: 'DropTable',
    });
  });

  it('meets no restriction elsewhere, and an exempt caller meets none', async () => {
    const headers = await started();
    expect((await ask(harness, '/v1/table/dev$t/drop', { headers })).status).toBe(200);
    expect((await ask(harness, '/v1/table/prod$t/drop', { headers: admin })).status).toBe(200);
    // A namespace has no rows.
    expect((await ask(harness, '/v1/namespace/prod/list', { method: 'GET', headers })).status).toBe(
      200,
    );
  });

  it('has no right that only the body asks for', async () => {
    const asked: boolean[] = [];
    const handle = (_: CatalogRequest, permit: Permit) => {
      asked.push(
        permit.holds('QueryTable', ['prod', 't']),
        permit.holds('QueryTable', ['prod', 'other']),
        permit.holds('DropTable', ['prod', 't']),
        permit.holds('read', ['prod', 't']),
        permit.holdsOnBranches('QueryTable', ['prod', 'other']),
        permit.holdsAlways('QueryTable', ['prod', 'other']),
        permit.holdsBelow('QueryTable', []),
        permit.holdsBelow('see', []),
        permit.holds('QueryTable', ['dev', 't']),
      );
      return { status: 200, contentType: 'application/json', body: '{}' };
    };
    const headers = await started({ handle });
    await ask(harness, '/v1/table/prod$t/query', { headers, body: '{}' });
    expect(asked).toEqual([true, false, false, false, false, false, false, true, true]);
  });

  it.each([
    ['from a peer that is trusted', ['127.0.0.1'], undefined, "'eu'"],
    ['that the caller may have chosen', [], undefined, 'NULL'],
    ['of the key', [], { region: 'us' }, "'us'"],
    ['of the key through a peer that is trusted', ['127.0.0.1'], { region: 'us' }, "'us'"],
    ['from a peer that is trusted beside that of the key', ['127.0.0.1'], { team: 'a' }, "'eu'"],
    ['of the key alone', [], { team: 'a' }, 'NULL'],
  ])('has a context %s: %j', async (_, trustedProxies, context, value) => {
    const found: (Restrictions | null)[] = [];
    const handle = (request: CatalogRequest, permit: Permit) => {
      found.push(permit.restrictionsOn(request.object));
      return { status: 200, contentType: 'application/json', body: '{}' };
    };
    await started({ handle, trustedProxies });
    const key = await harness.key({ roles: ['role:bound'], ...(context && { context }) });
    const own = { 'x-api-key': key, 'x-lance-ctx-region': 'eu' };
    await ask(harness, '/v1/table/prod$t/count_rows', { headers: own, body: '{}' });
    expect(found).toEqual([
      {
        names: ['own-region'],
        rows: [{ restriction: 'own-region', sql: `region = ${value} AND owner IN (NULL )` }],
        columns: [{ restriction: 'own-region', column: 'ssn', as: 'hidden' }],
      },
    ]);
  });

  it('is refused by a catalog elsewhere, whatever that is trusted with', async () => {
    const headers = await started({ trustedProxies: ['127.0.0.1'] });
    const described = (path: string) =>
      ask(harness, '/authorize', {
        method: 'GET',
        headers: { ...headers, 'x-forwarded-method': 'POST', 'x-forwarded-uri': path },
      });
    expect((await described('/v1/table/prod$t/count_rows')).status).toBe(403);
    expect((await described('/v1/table/dev$t/count_rows')).status).toBe(200);
  });
});
