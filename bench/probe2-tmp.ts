import { clusteredVectors, queryVector, rowsFrom, randomNumbers } from './data/rows.ts';
import { PartitionBuilder, sampleFor } from '../src/engine/indexing/partition-builder.ts';
import { VectorEncoder } from '../src/engine/index/vectors/vector-encoder.ts';
import { VectorSample } from '../src/engine/index/vectors/vector-sample.ts';
import { VectorSums } from '../src/engine/index/vectors/vector-sums.ts';
import { codeLayout, partitionsFor, centreFloats, SCRATCH } from '../src/engine/index/vectors/code-layout.ts';
import { codeMemory } from '../src/engine/index/vectors/code-kernels.ts';
import { searchPartition } from '../src/engine/index/vectors/code-search.ts';
import { encodeQuery } from '../src/engine/index/vectors/encoded-query.ts';
import { partitionOrder } from '../src/engine/index/vectors/partition-order.ts';
import { NearestRows } from '../src/engine/index/vectors/nearest-rows.ts';
const [kind = 'c', count = '100000', metric = 'l2'] = process.argv.slice(2);
const n = +count, size = 128;
const even = kind === 'u';
const next = randomNumbers(5);
const values = even ? Float32Array.from({ length: n * size }, next) : clusteredVectors(n, next);
const vectors = { rows: n, values, has: () => true };
const shape = { size, whole: false };
const distance = metric as 'l2';
let t = performance.now();
const lap = (what: string) => { console.log(what, (performance.now() - t).toFixed(0)); t = performance.now(); };
const sums = new VectorSums(size, distance);
const sample = new VectorSample(size, n, sampleFor(partitionsFor(shape, n)));
for (let r = 0; r < n; r++) { sums.add(vectors, r); sample.add(vectors, r, r); }
lap('sums');
const encoder = new VectorEncoder(shape, distance, sums.middle, true);
const portions: any[] = []; let centreValues = new Float32Array();
const writer = { portion: async (bytes: Uint8Array, facts: any) => { portions.push({ bytes, ...facts }); }, centres: async (c: Float32Array) => { centreValues = c; return 0; } };
const header = { shape, distance, middle: [...sums.middle], error: 0, step: 0, odd: 0 };
const builder = await PartitionBuilder.train({ shape, encoder, writer: writer as any, sample, rows: n, turn: async () => {} }, header);
lap('train');
for (let r = 0; r < n; r++) { const w = builder.add(vectors, r, r); if (w) await w; }
lap('encode');
const facts = await builder.finish();
lap('finish');
console.log(facts, 'sine', encoder.error);
const directory = { ...header, error: encoder.error, step: encoder.step, partitions: facts, portions } as any;
let place = SCRATCH.bytes + 4 * centreFloats(shape) * (facts.count + 4);
const total = portions.reduce((s, p) => s + p.bytes.length + 16, place);
const memory = codeMemory(total);
new Float32Array(memory.buffer, SCRATCH.bytes, centreValues.length).set(centreValues);
const partitions = Array.from({ length: facts.count }, (_, at) => { const centre = centreValues.slice(at * size, (at + 1) * size); return { centre, squared: centre.reduce((s, v) => s + v * v, 0), inner: Infinity, radius: 0, step: 0, portions: [] as any[] }; });
portions.forEach((p, batch) => { new Uint8Array(memory.buffer).set(p.bytes, place); const own = partitions[p.partition]!; own.portions.push({ batch, place, first: 0, layout: codeLayout(shape, p.rows, true) }); own.radius = Math.max(own.radius, p.radius); own.inner = Math.min(own.inner, p.inner); own.step = Math.max(own.step, p.step); place += Math.ceil(p.bytes.length / 16) * 16; });
const sizes = partitions.map((p) => p.portions.reduce((s, q) => s + q.layout.rows, 0)).sort((a, b) => a - b);
console.log('partition sizes', sizes[0], sizes[sizes.length >> 1], sizes.at(-1), 'radius', partitions[0]!.radius);
const codes = { directory, memory, partitions, centres: SCRATCH.bytes, loaded: new Uint8Array(portions.length).fill(1) };
const Q = 40;
const score = (q: Float32Array, r: number) => { let s = 0, a = 0, b = 0; for (let i = 0; i < size; i++) { const x = q[i]!, y = values[r * size + i]!; if (metric === 'l2') s += (x - y) ** 2; else { s += x * y; a += x * x; b += y * y; } } return metric === 'l2' ? s : metric === 'dot' ? 1 - s : 1 - s / Math.sqrt(a * b); };
for (const K of [10, 100]) for (const errors of [1, 1.25]) {
  const T = [0, 0, 0, 0]; let visited = 0, hits = 0, part = 0, ms = 0, chosen = 0;
  for (let i = 0; i < Q; i++) {
    const q = even ? queryVector(1000 + i) : queryVector(1000 + i, clusteredVectors);
    const all = Float64Array.from({ length: n }, (_, r) => score(q, r));
    const order = Array.from(all.keys()).sort((a, b) => all[a]! - all[b]!).slice(0, K);
    const truth = new Set(order);
    for (let rep = 0; rep < 30; rep++) {
    const t0 = performance.now();
    const query = encodeQuery(q, directory);
    const nearest = new NearestRows(K + Math.max(3, K >> 3), { lower: null, upper: null });
    const t1 = performance.now(); const ord = partitionOrder(codes as any, query, K, 1), est = ord.least;
    const t2 = performance.now(); const visit = Array.from(est.keys()).sort((a, b) => est[a]! === est[b]! ? ord.distances[a]! - ord.distances[b]! : est[a]! - est[b]!);
    const t3 = performance.now(); let v = 0, err = 0;
    for (const p of visit) { if (est[p]! > nearest.limit) break; v++; err = Math.max(err, searchPartition(codes as any, partitions[p]!, { query, errors, may: null, nearest, first: 0 })); }
    const found = nearest.found(); const t4 = performance.now(); if (rep === 29) { T[0] += t1 - t0; T[1] += t2 - t1; T[2] += t3 - t2; T[3] += t4 - t3; }
    if (rep < 29) continue;
    ms += performance.now() - t0;
    visited += v;
    const lim = found.distances[K - 1]! + err;
    chosen += found.distances.filter((d) => d <= lim).length;
    hits += [...found.positions].filter((r) => truth.has(r)).length;
    }
  }
  console.log(T.map((x) => (x / Q * 1000).toFixed(0)).join(' '), 'K', K, 'errors', errors, 'visited', visited / Q, 'recall', hits / Q / K, 'ms', (ms / Q).toFixed(3), 'chosen', chosen / Q);
}
