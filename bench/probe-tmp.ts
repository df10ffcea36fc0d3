import { Service, ADMIN_KEY } from '../test/support/service.ts';
import { RawSide } from './data/raw-side.ts';
import { clusteredVectors, queryVector, rowsFrom } from './data/rows.ts';
import { builtIndex } from './index/built-index.ts';
import { readFileSync, readdirSync } from 'node:fs';
const cpu = (pid: number) => readdirSync(`/proc/${pid}/task`).reduce((s, t) => s + Number(readFileSync(`/proc/${pid}/task/${t}/schedstat`, 'utf8').split(' ')[0]), 0) / 1e6;
const [kind = 'c', count = '200000', ...roots] = process.argv.slice(2);
const even = kind === 'u';
const rows = even ? rowsFrom(0, +count) : rowsFrom(0, +count, clusteredVectors);
const vectors = Array.from({ length: 50 }, (_, at) => even ? queryVector(1000 + at) : queryVector(1000 + at, clusteredVectors));
const sides: any[] = [];
for (const root of roots.length ? roots : ['/work/main', '/tmp/wt/vectors']) {
  const service = await Service.start({ root });
  const raw = new RawSide(service.url, ADMIN_KEY);
  for (let s = 0; s < +count; s += 400000) {
    const part = rows.slice(s, s + 400000);
    if (s === 0) await raw.create('t', part); else await raw.append('t', part);
  }
  const c0 = cpu(service.pid); const t0 = performance.now();
  await builtIndex(raw, 't', { column: 'vector', index_type: 'IVF_PQ', metric_type: 'l2' });
  console.log(root, 'build ms', (performance.now() - t0) | 0, 'cpu', (cpu(service.pid) - c0) | 0);
  sides.push({ root, service, raw });
}
const ids = (t: any) => Array.from(t.getChild('id') ?? [], Number);
const truth: number[][] = [];
for (const v of vectors.slice(0, 25)) truth.push(ids(await sides[0].raw.nearest('t', { vector: v, bypass: true })));
for (const { root, raw } of sides) {
  let hits = 0;
  for (let i = 0; i < 25; i++) hits += ids(await raw.nearest('t', { vector: vectors[i]! })).filter((x: number) => truth[i]!.includes(x)).length;
  console.log(root, 'recall', hits / 250);
  for (let w = 0; w < 150; w++) await raw.nearest('t', { vector: vectors[w % 50]! });
}
for (let round = 0; round < 4; round++) for (const { root, raw, service } of round % 2 ? sides.toReversed() : sides) {
  const c0 = cpu(service.pid); const t0 = performance.now();
  for (const vector of vectors) await raw.nearest('t', { vector });
  console.log(root, 'ms', ((performance.now() - t0) / 50).toFixed(3), 'cpu', ((cpu(service.pid) - c0) / 50).toFixed(3));
}
console.log(JSON.stringify((await sides.at(-1)!.raw.ask('t', 'analyze_plan', { query: { vector: { single_vector: [...vectors[0]!] }, k: 10 } })).toString()));
for (const { raw, service } of sides) { raw.close(); await service.stop(); }
process.exit(0);
