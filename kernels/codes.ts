// Searches vectors by codes of one bit a number, and of eight bits a number, in AssemblyScript:
// WebAssembly with SIMD of 128 bits. The memory is the caller's, who lays it out.
//
// Sixteen rows make a block. A block has for each eight bits of its rows sixteen bytes: one of each
// row. Half a byte of a row chooses one of the sixteen values of a table, and the sum of these
// is what the query has to do with the row: `scale * sum + base` is their product.
// A row's distance is `first + second * product`; both lie with the rows as floats of 32 bits.

/**
 * Writes the rows, counted from `at`, whose distance is below a limit, with their distances. The
 * values of the tables are at most 63 each, and there are at most 1024 tables.
 * @returns how many there are.
 */
export function near(
  codes: usize,
  first: usize,
  second: usize,
  blocks: i32,
  pairs: i32,
  tables: usize,
  rows: usize,
  distances: usize,
  scale: f32,
  base: f32,
  limit: f32,
): i32 {
  const scales = f32x4.splat(scale);
  const bases = f32x4.splat(base);
  const limits = f32x4.splat(limit);
  const half = i8x16.splat(15);
  const bytes = i16x8.splat(255);
  let found = 0;
  for (let block = 0; block < blocks; block++) {
    let even = i16x8.splat(0);
    let odd = i16x8.splat(0);
    let table = tables;
    for (let pair = 0; pair < pairs; pair += 2, table += 64, codes += 32) {
      const one = v128.load(codes);
      const two = v128.load(codes, 16);
      const a = i8x16.swizzle(v128.load(table), v128.and(one, half));
      const b = i8x16.swizzle(v128.load(table, 16), v128.and(i16x8.shr_u(one, 4), half));
      const c = i8x16.swizzle(v128.load(table, 32), v128.and(two, half));
      const d = i8x16.swizzle(v128.load(table, 48), v128.and(i16x8.shr_u(two, 4), half));
      const sum = i8x16.add(i8x16.add(a, b), i8x16.add(c, d));
      even = i16x8.add(even, v128.and(sum, bytes));
      odd = i16x8.add(odd, i16x8.shr_u(sum, 8));
    }
    const low = v128.shuffle<i16>(even, odd, 0, 8, 1, 9, 2, 10, 3, 11);
    const high = v128.shuffle<i16>(even, odd, 4, 12, 5, 13, 6, 14, 7, 15);
    const sums0 = f32x4.convert_i32x4_u(i32x4.extend_low_i16x8_u(low));
    const sums1 = f32x4.convert_i32x4_u(i32x4.extend_high_i16x8_u(low));
    const sums2 = f32x4.convert_i32x4_u(i32x4.extend_low_i16x8_u(high));
    const sums3 = f32x4.convert_i32x4_u(i32x4.extend_high_i16x8_u(high));
    const p0 = f32x4.add(f32x4.mul(sums0, scales), bases);
    const p1 = f32x4.add(f32x4.mul(sums1, scales), bases);
    const p2 = f32x4.add(f32x4.mul(sums2, scales), bases);
    const p3 = f32x4.add(f32x4.mul(sums3, scales), bases);
    const d0 = f32x4.add(v128.load(first), f32x4.mul(v128.load(second), p0));
    const d1 = f32x4.add(v128.load(first, 16), f32x4.mul(v128.load(second, 16), p1));
    const d2 = f32x4.add(v128.load(first, 32), f32x4.mul(v128.load(second, 32), p2));
    const d3 = f32x4.add(v128.load(first, 48), f32x4.mul(v128.load(second, 48), p3));
    first += 64;
    second += 64;
    const l0 = f32x4.lt(d0, limits);
    const l1 = f32x4.lt(d1, limits);
    const l2 = f32x4.lt(d2, limits);
    const l3 = f32x4.lt(d3, limits);
    if (!v128.any_true(v128.or(v128.or(l0, l1), v128.or(l2, l3)))) continue;
    found = keep(d0, i32x4.bitmask(l0), block << 4, found, rows, distances);
    found = keep(d1, i32x4.bitmask(l1), (block << 4) + 4, found, rows, distances);
    found = keep(d2, i32x4.bitmask(l2), (block << 4) + 8, found, rows, distances);
    found = keep(d3, i32x4.bitmask(l3), (block << 4) + 12, found, rows, distances);
  }
  return found;
}

function keep(four: v128, mask: i32, row: i32, found: i32, rows: usize, distances: usize): i32 {
  if (mask & 1) found = put(row, f32x4.extract_lane(four, 0), found, rows, distances);
  if (mask & 2) found = put(row + 1, f32x4.extract_lane(four, 1), found, rows, distances);
  if (mask & 4) found = put(row + 2, f32x4.extract_lane(four, 2), found, rows, distances);
  if (mask & 8) found = put(row + 3, f32x4.extract_lane(four, 3), found, rows, distances);
  return found;
}

function put(row: i32, distance: f32, found: i32, rows: usize, distances: usize): i32 {
  store<i32>(rows + (found << 2), row);
  store<f32>(distances + (found << 2), distance);
  return found + 1;
}

/**
 * The distances of some rows by their codes of eight bits: `first + factor * scale * product`. Each
 * row has a head, which begins with its factor, and then its codes, `stride` bytes in all. The first
 * terms lie `step` bytes apart. The query has integers of 16 bits; sums must fit into 32 bits.
 */
export function measure(
  codes: usize,
  first: usize,
  step: i32,
  head: i32,
  stride: i32,
  query: usize,
  rows: usize,
  count: i32,
  distances: usize,
  scale: f32,
): void {
  for (let at = 0; at < count; at++) {
    const row = load<i32>(rows + (at << 2));
    const start = codes + <usize>row * <usize>stride;
    const end = start + <usize>stride;
    let a = i32x4.splat(0);
    let b = i32x4.splat(0);
    let asked = query;
    for (let place = start + <usize>head; place < end; place += 16, asked += 32) {
      const code = v128.load(place);
      a = i32x4.add(a, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(code), v128.load(asked)));
      b = i32x4.add(b, i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(code), v128.load(asked, 16)));
    }
    const sum = i32x4.add(a, b);
    const total =
      i32x4.extract_lane(sum, 0) +
      i32x4.extract_lane(sum, 1) +
      i32x4.extract_lane(sum, 2) +
      i32x4.extract_lane(sum, 3);
    const factor = load<f32>(start) * scale;
    store<f32>(
      distances + (at << 2),
      load<f32>(first + <usize>row * <usize>step) + factor * <f32>total,
    );
  }
}

/**
 * The squared distances of a point to others, which lie one behind the other from `others` on, as
 * floats of 32 bits: `size` numbers each, a multiple of four. Their count is a multiple of four.
 */
export function squares(point: usize, others: usize, count: i32, size: i32, out: usize): void {
  const step = (<usize>size) << 2;
  for (let at = 0; at < count; at += 4, others += 4 * step, out += 16) {
    let a = f32x4.splat(0);
    let b = f32x4.splat(0);
    let c = f32x4.splat(0);
    let d = f32x4.splat(0);
    let place = others;
    for (let end = point + step, own = point; own < end; own += 16, place += 16) {
      const values = v128.load(own);
      const w = f32x4.sub(values, v128.load(place));
      const x = f32x4.sub(values, v128.load(place + step));
      const y = f32x4.sub(values, v128.load(place + 2 * step));
      const z = f32x4.sub(values, v128.load(place + 3 * step));
      a = f32x4.add(a, f32x4.mul(w, w));
      b = f32x4.add(b, f32x4.mul(x, x));
      c = f32x4.add(c, f32x4.mul(y, y));
      d = f32x4.add(d, f32x4.mul(z, z));
    }
    store<f32>(out, sumOf(a));
    store<f32>(out + 4, sumOf(b));
    store<f32>(out + 8, sumOf(c));
    store<f32>(out + 12, sumOf(d));
  }
}

function sumOf(four: v128): f32 {
  const even = f32x4.extract_lane(four, 0) + f32x4.extract_lane(four, 2);
  return even + (f32x4.extract_lane(four, 1) + f32x4.extract_lane(four, 3));
}
