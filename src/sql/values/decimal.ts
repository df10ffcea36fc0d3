/** A decimal number without its point: `value / 10 ** scale`. */
export interface DecimalValue {
  readonly value: bigint;
  readonly scale: number;
}

const form = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?$/;

/** The exact value of a number's text; undefined when it is none, or has more than 400 digits. */
export function parseDecimal(text: string): DecimalValue | undefined {
  const found = form.exec(text.trim());
  const whole = found?.[2] ?? '';
  const fraction = found?.[3] ?? '';
  if (found === null || whole + fraction === '' || text.length > 400) return undefined;
  const scale = fraction.length - Number(found[4] ?? 0);
  const value = BigInt(`${found[1] === '-' ? '-' : ''}${whole}${fraction}`);
  if (scale >= 0) return { value, scale };
  return scale < -400 ? undefined : { value: value * 10n ** BigInt(-scale), scale: 0 };
}

/** The value at another scale, half of the last digit rounded away from zero. */
export function rescale({ value, scale }: DecimalValue, to: number): bigint {
  if (to >= scale) return value * 10n ** BigInt(to - scale);
  const factor = 10n ** BigInt(scale - to);
  const half = factor / 2n;
  return (value < 0n ? value - half : value + half) / factor;
}

/** The text of a decimal, with as many decimal places as its scale. */
export function formatDecimal({ value, scale }: DecimalValue): string {
  if (scale <= 0) return String(value * 10n ** BigInt(-scale));
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0');
  const at = digits.length - scale;
  return `${value < 0n ? '-' : ''}${digits.slice(0, at)}.${digits.slice(at)}`;
}

/** The decimal as a double, rounded once. */
export function decimalToNumber(decimal: DecimalValue): number {
  return Number(formatDecimal(decimal));
}
