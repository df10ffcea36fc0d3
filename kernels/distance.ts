// Which of many vectors may be near another, in AssemblyScript: WebAssembly with SIMD of 128 bits.
//
// Vectors of `size` floats of 32 bits lie one behind the other from `at` on. Of those whose places
// among them stand from `list` on, as integers of 32 bits, the places of those that may be nearer
// than `limit` are written from `out` on; how many there are is the result. Without a list (0) the
// first `rows` are meant. Sums are kept in sixteen lanes of 32 bits, so they are
// rough: `error` is the greatest error of a sum of products, relative to the sum of their sizes.
// What is farther by more than that is left out, anything in doubt is not: a result that is no
// number, or beyond the numbers. Whoever asks computes the distances themselves.

/** By squared differences. */
export function l2(
  query: usize,
  at: usize,
  list: usize,
  rows: i32,
  size: i32,
  out: usize,
  limit: f64,
  error: f64,
): i32 {
  const step = (<usize>size) << 2;
  let found = 0;
  for (let one = 0; one < rows; one++) {
    const row = placeOf(list, one);
    const distance = squaredDistance(query, at + row * step, size);
    if (isFar(distance, distance - distance * error, limit)) continue;
    store<u32>(out + (found++ << 2), <u32>row);
  }
  return found;
}

/** By 1 less the product. `length` is that of the query. */
export function dot(
  query: usize,
  at: usize,
  list: usize,
  rows: i32,
  size: i32,
  out: usize,
  limit: f64,
  error: f64,
  length: f64,
): i32 {
  const step = (<usize>size) << 2;
  let found = 0;
  for (let one = 0; one < rows; one++) {
    const row = placeOf(list, one);
    const start = at + row * step;
    const distance = 1 - product(query, start, size);
    const doubt = error * length * Math.sqrt(2 * product(start, start, size));
    if (isFar(distance, distance - doubt, limit)) continue;
    store<u32>(out + (found++ << 2), <u32>row);
  }
  return found;
}

/** By 1 less the cosine. `length` is that of the query. */
export function cosine(
  query: usize,
  at: usize,
  list: usize,
  rows: i32,
  size: i32,
  out: usize,
  limit: f64,
  error: f64,
  length: f64,
): i32 {
  const step = (<usize>size) << 2;
  let found = 0;
  for (let one = 0; one < rows; one++) {
    const row = placeOf(list, one);
    const start = at + row * step;
    const squares = product(start, start, size);
    const distance = 1 - product(query, start, size) / (length * Math.sqrt(squares));
    // The squares of small numbers are lost in sums of 32 bits.
    const isRough = !(squares > 1e-30);
    if (!isRough && isFar(distance, distance - 4 * error, limit)) continue;
    store<u32>(out + (found++ << 2), <u32>row);
  }
  return found;
}

function placeOf(list: usize, one: i32): usize {
  return list === 0 ? <usize>one : <usize>load<u32>(list + ((<usize>one) << 2));
}

/** Whether a distance is beyond the limit for sure, given the least that it may be. */
function isFar(distance: f64, least: f64, limit: f64): bool {
  return least >= limit && distance < Infinity;
}

function squaredDistance(query: usize, start: usize, size: i32): f64 {
  const end = start + ((<usize>size) << 2);
  let a = f32x4.splat(0);
  let b = f32x4.splat(0);
  let c = f32x4.splat(0);
  let d = f32x4.splat(0);
  let at = start;
  let q = query;
  for (; at + 64 <= end; at += 64, q += 64) {
    const w = f32x4.sub(v128.load(q), v128.load(at));
    const x = f32x4.sub(v128.load(q, 16), v128.load(at, 16));
    const y = f32x4.sub(v128.load(q, 32), v128.load(at, 32));
    const z = f32x4.sub(v128.load(q, 48), v128.load(at, 48));
    a = f32x4.add(a, f32x4.mul(w, w));
    b = f32x4.add(b, f32x4.mul(x, x));
    c = f32x4.add(c, f32x4.mul(y, y));
    d = f32x4.add(d, f32x4.mul(z, z));
  }
  let rest: f64 = 0;
  for (; at < end; at += 4, q += 4) {
    const one = <f64>load<f32>(q) - <f64>load<f32>(at);
    rest += one * one;
  }
  return rest + lanes(a, b, c, d);
}

function product(query: usize, start: usize, size: i32): f64 {
  const end = start + ((<usize>size) << 2);
  let a = f32x4.splat(0);
  let b = f32x4.splat(0);
  let c = f32x4.splat(0);
  let d = f32x4.splat(0);
  let at = start;
  let q = query;
  for (; at + 64 <= end; at += 64, q += 64) {
    a = f32x4.add(a, f32x4.mul(v128.load(q), v128.load(at)));
    b = f32x4.add(b, f32x4.mul(v128.load(q, 16), v128.load(at, 16)));
    c = f32x4.add(c, f32x4.mul(v128.load(q, 32), v128.load(at, 32)));
    d = f32x4.add(d, f32x4.mul(v128.load(q, 48), v128.load(at, 48)));
  }
  let rest: f64 = 0;
  for (; at < end; at += 4, q += 4) rest += <f64>load<f32>(q) * <f64>load<f32>(at);
  return rest + lanes(a, b, c, d);
}

function lanes(a: v128, b: v128, c: v128, d: v128): f64 {
  const sum = f32x4.add(f32x4.add(a, b), f32x4.add(c, d));
  const even = <f64>f32x4.extract_lane(sum, 0) + <f64>f32x4.extract_lane(sum, 2);
  const odd = <f64>f32x4.extract_lane(sum, 1) + <f64>f32x4.extract_lane(sum, 3);
  return even + odd;
}
