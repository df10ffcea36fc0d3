/** The value of every 16-bit float (IEEE 754 binary16), by its bits. */
let values: Float32Array | undefined;

function valueOf(bits: number): number {
  const sign = bits >> 15 === 0 ? 1 : -1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** 16-bit floats, given as their bits, as 32-bit floats. */
export function halfToFloat(bits: Uint16Array): Float32Array {
  values ??= Float32Array.from({ length: 65_536 }, (_, index) => valueOf(index));
  const result = new Float32Array(bits.length);
  for (let index = 0; index < bits.length; index++) result[index] = values[bits[index]!]!;
  return result;
}
