/** Numbers as people read them. */

const BINARY = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
const DECIMAL = ['', 'k', 'M', 'G', 'T'];
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/**
 * @param {number} value
 * @param {number} base
 * @returns {[text: string, power: number]}
 */
function scaled(value, base) {
  let power = 0;
  let rest = value;
  // 999.5 would be printed as 1000.
  while (rest >= base - 0.5 && power < 4) {
    rest /= base;
    power++;
  }
  return [power === 0 ? rest.toFixed(0) : rest.toPrecision(rest >= 999.5 ? 4 : 3), power];
}

/**
 * Bytes of memory, in powers of 1024.
 * @param {number} value
 */
export function bytes(value) {
  const [text, power] = scaled(value, 1024);
  return `${text} ${BINARY[power]}`;
}

/**
 * Bytes per second, in powers of 1000.
 * @param {number} value
 */
export function rate(value) {
  const [text, power] = scaled(value, 1000);
  return `${text} ${DECIMAL[power]}B/s`;
}

/** @param {number} value */
export function count(value) {
  const [text, power] = scaled(value, 1000);
  return `${value > 0 && value < 9.95 ? String(Number(value.toFixed(1))) : text}${power > 0 ? ` ${DECIMAL[power]}` : ''}`;
}

/**
 * A time: `0.42 ms`, `850 ms`, `3.2 s`, `4 min 05 s`, `1 h 02 min`.
 * @param {number} milliseconds
 */
export function time(milliseconds) {
  if (milliseconds < 10) return `${milliseconds.toFixed(2)} ms`;
  if (milliseconds < 999.5) return `${milliseconds.toFixed(0)} ms`;
  if (milliseconds < 9950) return `${(milliseconds / 1000).toFixed(1)} s`;
  if (milliseconds < MINUTE - 500) return `${(milliseconds / 1000).toFixed(0)} s`;
  const two = (/** @type {number} */ value) => String(value).padStart(2, '0');
  const seconds = Math.round(milliseconds / 1000);
  if (milliseconds < HOUR - 500) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  const minutes = Math.round(milliseconds / MINUTE);
  return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
}

/** @param {number} share */
export const percent = (share) => `${Math.floor(100 * share + 1e-9)} %`;

/**
 * @param {number} value
 * @param {string} one
 * @param {string} [many]
 */
export const plural = (value, one, many = `${one}s`) => `${value} ${value === 1 ? one : many}`;
