import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterEach, expect, it } from 'vitest';
import { streamOf } from '../support/engine-table.ts';
import { Service } from '../support/service.ts';
import { ARROW_STREAM, send } from './http.ts';

let service: Service;

afterEach(() => service?.stop());

it('refuses a damaged file, reports it once, and reads a sound one in its place', async () => {
  service = await Service.start();
  const ids = vectorFromArray([1n, 2n, 3n], new Int64());
  const body = streamOf({ id: ids });
  const created = await send(service.url, 'POST /v1/table/t/create', {
    body,
    headers: ARROW_STREAM,
  });
  expect(created.status).toBe(200);
  const root = join(service.folder, 'data', 'tables');
  const names = await readdir(root, { recursive: true });
  const path = join(
    root,
    names.find((name) => /\/data\/.*\.arrow$/.test(name))!,
  );
  const bytes = await readFile(path);
  const replace = async (other: Uint8Array) => {
    await writeFile(`${path}.aside`, other);
    await rename(`${path}.aside`, path);
  };
  const other = Buffer.from(bytes);
  other[other.length >> 1]! ^= 1;
  await replace(other);
  const query = () => send(service.url, 'POST /v1/table/t/query', { body: { vector: [], k: 10 } });
  for (let time = 0; time < 3; time++) {
    const { status, json } = await query();
    expect([status, json['code']]).toEqual([500, 18]);
    expect(json['error']).toMatch(
      /^table \/t: .* of data\/.*\.arrow does not match the seal of the file: restore the file from a backup$/,
    );
  }
  const { json } = await send(service.url, 'GET /readyz');
  expect(json).toMatchObject({ status: 'degraded' });
  expect(JSON.stringify(json['parts'])).toContain(`${path} is damaged: restore from a backup`);
  const metrics = await send(service.url, 'GET /metrics');
  expect(metrics.text).toContain('arrowgate_damaged_files_total{kind="data"} 1\n');
  const lines = service.errors.split('\n').filter((line) => line.includes('is damaged'));
  expect(lines).toHaveLength(1);
  await replace(bytes);
  expect((await query()).status).toBe(200);
});
