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

const single = new Float32Array(1);
const singleBits = new Uint32Array(single.buffer);

/** The bits of the 16-bit float nearest to a number (IEEE 754 binary16), ties to the even one. */
function nearestHalf(value: number): number {
  single[0] = value;
  const bits = singleBits[0]!;
  const sign = (bits >>> 16) & 0x8000;
  const rest = bits & 0x7fff_ffff;
  if (rest > 0x7f80_0000) return sign | 0x7e00;
  if (rest >= 0x477f_f000) return sign | 0x7c00;
  if (rest < 0x3880_0000) return sign | roundEven(Math.abs(single[0]) * 2 ** 24);
  return sign | roundEven((rest - 0x3800_0000) / 2 ** 13);
}

function roundEven(value: number): number {
  const floor = Math.floor(value);
  const above = value - floor;
  return above > 0.5 || (above === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
}

/** 32-bit floats as 16-bit floats, given as their bits. One that is too large becomes infinite. */
export function floatToHalf(floats: Float32Array): Uint16Array {
  return Uint16Array.from(floats, nearestHalf);
}

/** 16-bit floats, given as their bits, as 32-bit floats. */
export function halfToFloat(bits: Uint16Array): Float32Array {
  values ??= Float32Array.from({ length: 65_536 }, (_, index) => valueOf(index));
  const result = new Float32Array(bits.length);
  for (let index = 0; index < bits.length; index++) result[index] = values[bits[index]!]!;
  return result;
}
