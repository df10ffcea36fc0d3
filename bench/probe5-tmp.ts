import { readFileSync, readdirSync } from 'node:fs';
import { Service, ADMIN_KEY } from '../test/support/service.ts';
import { RawSide } from './data/raw-side.ts';
import { clusteredVectors, queryVector, rowsFrom } from './data/rows.ts';
import { builtIndex } from './index/built-index.ts';
const cpu = (pid: number, only?: number) => readdirSync(`/proc/${pid}/task`).reduce((s, t) => s + (only === undefined || +t === only ? Number(readFileSync(`/proc/${pid}/task/${t}/schedstat`, 'utf8').split(' ')[0]) : 0), 0) / 1e6;
const n = +(process.argv[2] ?? 100000);
const vectors = Array.from({ length: 50 }, (_, at) => queryVector(1000 + at, clusteredVectors));
const service = await Service.start({ root: process.argv[3] ?? '/tmp/wt/vectors' });
const raw = new RawSide(service.url, ADMIN_KEY);
await raw.create('t', rowsFrom(0, n, clusteredVectors));
await builtIndex(raw, 't', { column: 'vector', index_type: 'IVF_PQ', metric_type: 'l2' });
const kinds: [string, (i: number) => Promise<unknown>][] = [
  ['count', () => raw.ask('t', 'count_rows', {})],
  ['limit 10', () => raw.ask('t', 'query', { k: 10, vector: [], limit: 10, columns: { column_names: ['id'] } })],
  ['limit 10 all cols', () => raw.ask('t', 'query', { k: 10 })],
  ['nearest id', (i) => raw.ask('t', 'query', { vector: { single_vector: [...vectors[i % 50]!] }, k: 10, columns: { column_names: ['id'] } })],
  ['nearest k=1', (i) => raw.ask('t', 'query', { vector: { single_vector: [...vectors[i % 50]!] }, k: 1, columns: { column_names: ['id'] } })],
  ['nearest', (i) => raw.nearest('t', { vector: vectors[i % 50]! })],
];
for (let w = 0; w < 4; w++) for (const [, f] of kinds) for (let i = 0; i < 250; i++) await f(i);
for (let r = 0; r < 3; r++) for (const [name, f] of kinds) {
  const c0 = cpu(service.pid), m0 = cpu(service.pid, service.pid), t0 = performance.now();
  for (let i = 0; i < 200; i++) await f(i);
  console.log(name.padEnd(20), 'ms', ((performance.now() - t0) / 200).toFixed(2), 'cpu', ((cpu(service.pid) - c0) / 200).toFixed(2), 'main', ((cpu(service.pid, service.pid) - m0) / 200).toFixed(2));
}
raw.close(); await service.stop(); process.exit(0);
