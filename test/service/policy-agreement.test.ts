import { appendFile, cp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { RedisServer } from '../support/redis-server.ts';
import { Service } from '../support/service.ts';
import { send } from './http.ts';

let redis: RedisServer | undefined;
const services: Service[] = [];

afterEach(async () => {
  for (const service of services.splice(0).toReversed()) await service.stop();
  await redis?.stop();
  redis = undefined;
});

const DIFFERENT =
  /^the gateways of this catalog have different policies: this one has \S+, \S+:\d+ has \S+; give all of them the same policy folder$/;

async function policiesPart(service: Service): Promise<unknown> {
  const { json } = await send(service.url, 'GET /readyz');
  return (json['parts'] as readonly { part: string }[]).find(({ part }) => part === 'policies');
}

async function expectDifference(service: Service): Promise<void> {
  await eventually(async () =>
    expect(await policiesPart(service)).toEqual({
      part: 'policies',
      status: 'degraded',
      why: expect.stringMatching(DIFFERENT),
    }),
  );
  const { status, json } = await send(service.url, 'GET /readyz');
  expect([status, json['status']]).toEqual([200, 'degraded']);
  const metrics = await send(service.url, 'GET /metrics');
  expect(metrics.text).toContain('arrowgate_policy_digests 2\n');
  expect(service.errors.match(/have different policies/g)).toHaveLength(1);
}

async function expectAgreement(service: Service): Promise<void> {
  await eventually(async () =>
    expect(await policiesPart(service)).toEqual({ part: 'policies', status: 'ok' }),
  );
  const metrics = await send(service.url, 'GET /metrics');
  expect(metrics.text).toContain('arrowgate_policy_digests 1\n');
  expect(service.errors.match(/have the same policy again/g)).toHaveLength(1);
}

const LINE = 'p, user:somebody, /somewhere/**, read, allow\n';

/** Starts two gateways of one catalog; the policy of the second has one line more. */
async function startTwo(
  onRedis: boolean,
): Promise<{ readonly one: Service; readonly two: Service }> {
  redis = onRedis ? await RedisServer.start() : undefined;
  const flags = redis === undefined ? [] : ['--redis', redis.url];
  const one = await Service.start({ flags });
  services.push(one);
  const other = join(one.folder, 'other-policies');
  await cp(one.policies, other, { recursive: true });
  await appendFile(join(other, 'policy.csv'), LINE);
  const two = await Service.beside(one, { flags: [...flags, '--policies', other] });
  services.push(two);
  return { one, two };
}

describe.each([
  ['the embedded store', false],
  ['Redis', true],
])('gateways of one catalog on %s', (_, onRedis) => {
  it('report different policies, and that they agree again', async () => {
    const { one } = await startTwo(onRedis);
    await Promise.all(services.map(expectDifference));
    await appendFile(join(one.policies, 'policy.csv'), LINE);
    await Promise.all(services.map(expectAgreement));
  });

  it('do not count a gateway that was killed', async () => {
    const { one, two } = await startTwo(onRedis);
    await expectDifference(one);
    await two.end('SIGKILL');
    await expectAgreement(one);
  });
});
