import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ARROW_STREAM, send, sendGranted } from '../service/http.ts';
import { makeCertificate } from '../support/certificates.ts';
import type { Service } from '../support/service.ts';
import type { Attack } from './attack.ts';
import { attackedRows, evaluationAttacks, evaluationRefusal } from './evaluation-attacks.ts';
import {
  attacked,
  attackedBudget,
  MOST_RESIDENT,
  startAttacked,
  tableOf,
  type Attacked,
} from './harness.ts';
import { inputAttacks } from './input-attacks.ts';

/** `npm test` runs some of them, `npm run test:attacks` all. */
const ALL = process.env['ARROWGATE_TEST_ATTACKS'] === 'all';

const evaluation: readonly Attack[] = evaluationAttacks.map(
  ({ name, line, body, headers }, index) => ({
    name,
    endedBy: new RegExp(`^${evaluationRefusal.status} .*${evaluationRefusal.sentence.source}`),
    sample: index === 0,
    run: async ({ url }) => {
      const reply = await send(url, line, { body, ...(headers && { headers }) });
      return [`${reply.status} ${String(reply.json['error'])}`];
    },
  }),
);
const attacks = [...inputAttacks, ...evaluation].filter(({ sample }) => ALL || sample === true);

let folder: string;
let plain: Service;
let secure: Service;
const done: Attacked[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-attacks-'));
  const { cert, key } = await makeCertificate(folder, 'own', { commonName: 'own' });
  plain = await startAttacked(attackedBudget);
  await sendGranted(plain.url, 'POST /v1/table/attacked/create', {
    body: attackedRows(),
    headers: ARROW_STREAM,
  });
  const tls = `listen: { tls: { cert: ${cert}, key: ${key} } }\n`;
  // Its table is made before it asks for TLS.
  secure = await startAttacked(attackedBudget);
  await sendGranted(secure.url, 'POST /v1/table/attacked/create', {
    body: attackedRows(),
    headers: ARROW_STREAM,
  });
  await secure.end();
  await secure.configure(attackedBudget + tls);
  await secure.restart();
});

afterAll(async () => {
  await Promise.all([plain?.stop(), secure?.stop()]);
  await rm(folder, { recursive: true });
  process.stdout.write(`\n${tableOf(done)}\n`);
});

describe('an attack ends at its budget, and the process keeps within its memory', () => {
  it.each(attacks)('$name', async (attack) => {
    const result = await attacked(attack.tls === true ? secure : plain, attack);
    done.push(result);
    expect(result.endings.length).toBeGreaterThan(0);
    for (const ending of result.endings) expect(ending).toMatch(attack.endedBy);
    expect(result.peak).toBeLessThan(MOST_RESIDENT);
  });
});
