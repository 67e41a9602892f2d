/**
 * float16 and bfloat16 as JavaScript numbers: bits to number and back, rounded to nearest, ties to even.
 *
 * For constants, results and printing; arrays are converted by the backends.
 */
const scratch = new DataView(new ArrayBuffer(8));

/** The number that the 16 bits of a float16 stand for. */
export function fromFloat16Bits(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** The number that the 16 bits of a bfloat16 stand for. */
export function fromBfloat16Bits(bits: number): number {
  scratch.setUint32(0, bits << 16);
  return scratch.getFloat32(0);
}

/**
 * `value` as the nearest multiple of 2^exponent, ties to even. Exact while the quotient has less than 53
 * bits.
 */
function roundToMultiple(value: number, exponent: number): number {
  const quotient = value / 2 ** exponent;
  const below = Math.floor(quotient);
  const rest = quotient - below;
  const up = rest > 0.5 || (rest === 0.5 && below % 2 !== 0);
  return (up ? below + 1 : below) * 2 ** exponent;
}

/** Exponent of the leading bit of a positive finite number. */
function leadingExponent(value: number): number {
  scratch.setFloat64(0, value);
  const biased = (scratch.getUint16(0) >> 4) & 0x7ff;
  return biased === 0 ? -1023 : biased - 1023;
}

function roundTo(value: number, fractionBits: number, minExponent: number, largest: number): number {
  if (!Number.isFinite(value) || value === 0) return value;
  const magnitude = Math.abs(value);
  const exponent = Math.max(leadingExponent(magnitude), minExponent);
  const rounded = roundToMultiple(magnitude, exponent - fractionBits);
  return Math.sign(value) * (rounded > largest ? Infinity : rounded);
}

/** The float16 nearest to a number, as a number. */
export const toFloat16 = (value: number): number => roundTo(value, 10, -14, 65504);
/** The bfloat16 nearest to a number, as a number. */
export const toBfloat16 = (value: number): number => roundTo(value, 7, -126, 3.3895313892515355e38);

/** The bits of the float16 nearest to a number. */
export function toFloat16Bits(value: number): number {
  if (Number.isNaN(value)) return 0x7e00;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(toFloat16(value));
  if (magnitude === Infinity) return sign | 0x7c00;
  if (magnitude < 2 ** -14) return sign | (magnitude * 2 ** 24);
  const exponent = leadingExponent(magnitude);
  return sign | ((exponent + 15) << 10) | ((magnitude / 2 ** exponent - 1) * 1024);
}

/** The bits of the bfloat16 nearest to a number. */
export function toBfloat16Bits(value: number): number {
  if (Number.isNaN(value)) return 0x7fc0;
  scratch.setFloat32(0, toBfloat16(value));
  return scratch.getUint16(0);
}
