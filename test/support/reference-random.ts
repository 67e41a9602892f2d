/** Words, normal numbers and numbers by rejection, for the reference interpreter: of bigints and float64. */
import type { OpName } from '../../src/graph/ops.js';

const WORD = 0xffffffffn;
type Words = readonly [bigint, bigint, bigint, bigint];

/** A block of Philox 4x32-10. */
function philoxBlock(block: bigint, key: bigint): Words {
  let x: Words = [block & WORD, block >> 32n, 0n, 0n];
  let [k0, k1] = [key & WORD, key >> 32n];
  for (let round = 0; round < 10; round++) {
    const [a, b] = [0xd2511f53n * x[0], 0xcd9e8d57n * x[2]];
    x = [(b >> 32n) ^ x[1] ^ k0, b & WORD, (a >> 32n) ^ x[3] ^ k1, a & WORD];
    k0 = (k0 + 0x9e3779b9n) & WORD;
    k1 = (k1 + 0xbb67ae85n) & WORD;
  }
  return x;
}

/** Word `index % 4` of block `index / 4`. */
export const philox4x32 = (index: bigint, key: bigint): bigint =>
  philoxBlock(index >> 2n, key)[Number(index & 3n)]!;

/** Box and Muller's number of a word and its neighbour. */
function philoxNormal(index: bigint, key: bigint): number {
  const block = philoxBlock(index >> 2n, key);
  const [a, b] = index & 2n ? [block[2], block[3]] : [block[0], block[1]];
  const u = uniformOf(Number(BigInt.asIntN(32, a)));
  const angle = ((Number(BigInt.asIntN(32, b)) / 2 ** 31) * Math.PI) / 2;
  const radius = Math.sqrt(-2 * Math.log(u));
  if (index & 1n) return radius * Math.sin(angle);
  return a >> 31n ? -radius * Math.cos(angle) : radius * Math.cos(angle);
}

/** The number below 1 whose logarithm is taken: float32, as near 1 its last bits are seen. */
const uniformOf = (word: number): number =>
  Math.fround(Math.abs(Math.fround(word)) * Math.fround(4.656612e-10) + 2 ** -33);

const signed = (word: bigint): number => (Number(BigInt.asIntN(32, word)) + 0.5) * 2 ** -31;
const open = (high: bigint, low: bigint): number => (Number(((high << 32n) | low) >> 12n) + 0.5) * 2 ** -52;

/** The first attempt that gives a number. */
function attempts(
  seed: bigint,
  most: number,
  draw: (words: Words) => number | undefined,
): number | undefined {
  for (let attempt = 1; attempt < most; attempt++) {
    const found = draw(philoxBlock(BigInt(attempt), seed));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Marsaglia and Tsang's gamma distributed number of shape a >= 1. */
function gammaFrom(seed: bigint, a: number): number {
  const d = a - 0.3333333333333333;
  const found = attempts(seed, 10_000, ([x, y, z, w]) => {
    const [p, q, u] = [signed(x), signed(y), open(z, w)];
    const s = p * p + q * q;
    if (s >= 1) return undefined;
    const normal = p * Math.sqrt((-2 * Math.log(s)) / s);
    const root = 1 + normal / Math.sqrt(9 * d);
    if (root <= 0) return undefined;
    const v = root ** 3;
    const isIn =
      u < 1 - 0.0331 * normal ** 4 || Math.log(u) < 0.5 * normal * normal + d * (1 - v + Math.log(v));
    return isIn ? d * v : undefined;
  });
  return found ?? a;
}

function logGamma(seed: bigint, a: number): number {
  if (!(a > 0)) return a === 0 ? Number.NEGATIVE_INFINITY : Number.NaN;
  if (a >= 1) return Math.log(gammaFrom(seed, a));
  const [x, y] = philoxBlock(0n, seed);
  return Math.log(gammaFrom(seed, a + 1)) + Math.log(open(x, y)) / a;
}

/** log(k!) - k log(k) + k. */
function factorialRest(k: number): number {
  if (k === 0) return 0;
  if (k >= 16) return Math.log(2 * Math.PI * k) / 2 + (1 / 12 - 1 / (360 * k * k)) / k;
  let logarithm = 0;
  for (let j = 2; j <= k; j++) logarithm += Math.log(j);
  return logarithm - k * Math.log(k) + k;
}
const deviance = (k: number, m: number): number => (k === 0 ? m : k * Math.log(k / m) + m - k);

/** Inversion: the first k whose probabilities add up to a uniform number. */
const inverted = (
  seed: bigint,
  none: number,
  ratio: (k: number) => number,
  most: number,
): number | undefined =>
  attempts(seed, 100, ([x, y]) => {
    let [u, chance, k] = [open(x, y), none, 0];
    for (; u > chance && k < 150; k++) {
      u -= chance;
      chance *= ratio(k);
    }
    return k < 150 && k <= most ? k : undefined;
  });

/** Hörmann's rejection with a transformed uniform number. */
function transformed(
  seed: bigint,
  {
    a,
    b,
    centre,
    squeeze,
    scale,
    most,
  }: Readonly<Record<'a' | 'b' | 'centre' | 'squeeze' | 'scale' | 'most', number>>,
  logarithm: (k: number) => number,
): number | undefined {
  return attempts(seed, 10_000, ([x, y, z, w]) => {
    const [u, v] = [open(x, y) - 0.5, open(z, w)];
    const us = 0.5 - Math.abs(u);
    const k = Math.floor(((2 * a) / us + b) * u + centre);
    if (k < 0 || k > most) return undefined;
    if (us >= 0.07 && v <= squeeze) return k;
    return Math.log((v * scale) / (a / (us * us) + b)) <= logarithm(k) ? k : undefined;
  });
}

function poisson(seed: bigint, mean: number): number {
  if (!(mean >= 0 && mean <= 2 ** 62)) return -1;
  if (mean < 10) {
    const found = inverted(seed, Math.exp(-mean), (k) => mean / (k + 1), Number.POSITIVE_INFINITY);
    return found ?? Math.floor(mean);
  }
  const b = 0.931 + 2.53 * Math.sqrt(mean);
  const [squeeze, scale] = [0.9277 - 3.6224 / (b - 2), 1.1239 + 1.1328 / (b - 3.4)];
  const hat = {
    a: 0.02483 * b - 0.059,
    b,
    centre: mean + 0.43,
    squeeze,
    scale,
    most: Number.POSITIVE_INFINITY,
  };
  return transformed(seed, hat, (k) => -factorialRest(k) - deviance(k, mean)) ?? Math.floor(mean);
}

function binomial(seed: bigint, trials: number, p: number): number {
  if (!(trials >= 0 && trials <= 2 ** 53 && p >= 0 && p <= 1)) return -1;
  const n = Math.floor(trials);
  const less = p <= 0.5 ? p : 1 - p;
  const found = n * less < 10 ? fewOf(seed, n, less) : manyOf(seed, n, less);
  return p <= 0.5 ? found : n - found;
}

function fewOf(seed: bigint, n: number, p: number): number {
  const none = Math.exp(n * Math.log1p(-p));
  return inverted(seed, none, (k) => ((n - k) / (k + 1)) * (p / (1 - p)), n) ?? Math.floor(n * p);
}

function manyOf(seed: bigint, n: number, p: number): number {
  const deviation = Math.sqrt(n * p * (1 - p));
  const b = 1.15 + 2.53 * deviation;
  const a = 0.0248 * b - 0.0873 + 0.01 * p;
  const mode = Math.floor((n + 1) * p);
  const logarithm = (k: number): number =>
    -factorialRest(k) - factorialRest(n - k) - deviance(k, n * p) - deviance(n - k, n * (1 - p));
  const scale = (2.83 + 5.1 / b) * deviation;
  const hat = { a, b, centre: n * p + 0.5, squeeze: 0.92 - 4.2 / b, scale, most: n };
  return transformed(seed, hat, (k) => logarithm(k) - logarithm(mode)) ?? mode;
}

/** Stadlober's number of good ones among n, or one by one. */
function hypergeometric(seed: bigint, good: number, bad: number, count: number): number {
  if (!(good >= 0 && bad >= 0 && count >= 0)) return -1;
  const [g, b, n] = [Math.floor(good), Math.floor(bad), Math.floor(count)];
  const all = g + b;
  if (!(all <= 2 ** 53 && n <= all)) return -1;
  const [less, few] = [Math.min(g, b), Math.min(n, all - n)];
  const found = few <= 10 ? oneByOne(seed, less, all, few) : ratioOfUniforms(seed, less, all - less, few);
  const ofGood = g <= b ? found : few - found;
  return n <= all - n ? ofGood : g - ofGood;
}

function oneByOne(seed: bigint, good: number, all: number, n: number): number {
  let found = 0;
  for (let draw = 0; draw < n; draw++) {
    const [x, y, z, w] = philoxBlock(BigInt(1 + Math.floor(draw / 2)), seed);
    if ((draw & 1 ? open(z, w) : open(x, y)) * (all - draw) < good - found) found++;
  }
  return found;
}

function ratioOfUniforms(seed: bigint, good: number, bad: number, n: number): number {
  const all = good + bad;
  const mean = (n * good) / all;
  const deviation = Math.sqrt(((all - n) / (all - 1)) * mean * (bad / all) + 0.5);
  const mode = Math.floor(((n + 1) / (all + 2)) * (good + 1));
  const part = (k: number, trials: number): number =>
    -factorialRest(k) -
    factorialRest(trials - k) -
    deviance(k, (trials * n) / all) -
    deviance(trials - k, (trials * (all - n)) / all);
  const logarithm = (k: number): number => part(k, good) + part(n - k, bad);
  const most = Math.min(Math.min(n, good) + 1, Math.floor(mean + 0.5 + 16 * deviation));
  const found = attempts(seed, 10_000, ([a, b, c, d]) => {
    const [x, y] = [open(a, b), open(c, d)];
    const width = 1.7155277699214135 * deviation + 0.8989161620588988;
    const k = Math.floor(mean + 0.5 + (width * (y - 0.5)) / x);
    if (!(k >= 0 && k < most)) return undefined;
    return 2 * Math.log(x) <= logarithm(k) - logarithm(mode) ? k : undefined;
  });
  return found ?? mode;
}

/** Best and Fisher's angle. */
function vonMises(seed: bigint, kappa: number): number {
  if (!(kappa >= 0)) return Number.NaN;
  const r = 1 + Math.sqrt(1 + 4 * kappa * kappa);
  const rho = (r - Math.sqrt(2 * r)) / (2 * kappa);
  const shape = kappa < 1e-5 ? 1 / kappa + kappa : (1 + rho * rho) / (2 * rho);
  const found = attempts(seed, 10_000, ([x, y, high, low]) => {
    const [p, q] = [signed(x), signed(y)];
    if (kappa <= 1e-8) return Math.PI * p;
    const s = p * p + q * q;
    if (s >= 1) return undefined;
    if (kappa >= 1e6) return (p * Math.sqrt((-2 * Math.log(s)) / s)) / Math.sqrt(kappa);
    const z = (p * p - q * q) / s;
    const w = (1 + shape * z) / (shape + z);
    const far = kappa * (shape - w);
    const v = open(high, low);
    if (far * (2 - far) < v && Math.log(far / v) + 1 < far) return undefined;
    return Math.acos(Math.max(-1, Math.min(1, w))) * (low & 1n ? -1 : 1);
  });
  return found ?? 0;
}

/** Devroye's number. */
function zipf(seed: bigint, a: number): number {
  if (!(a > 1)) return -1;
  if (a >= 1000) return 1;
  const found = attempts(seed, 10_000, ([x, y, z, w]) => {
    const [u, v] = [open(x, y), open(z, w)];
    const k = Math.floor((u * 2 ** (-62 * (a - 1)) + 1 - u) ** (-1 / (a - 1)));
    if (!(k >= 1 && k <= 2 ** 62)) return undefined;
    const next = Math.expm1((a - 1) * Math.log1p(1 / k));
    return (v * k * next) / (2 ** (a - 1) - 1) <= (next + 1) / 2 ** (a - 1) ? k : undefined;
  });
  return found ?? 1;
}

type Arguments = readonly (number | bigint)[];
/** Ops of words, or of a seed and parameters, that give floats. */
export const RANDOM_OPS: Readonly<Partial<Record<OpName, (args: Arguments) => number>>> = {
  philoxNormal: ([index, key]) => philoxNormal(BigInt(index!), BigInt(key!)),
  drawGamma: ([seed, a]) => {
    const shape = Number(a);
    return shape >= 1 ? gammaFrom(BigInt(seed!), shape) : Math.exp(logGamma(BigInt(seed!), shape));
  },
  drawLogGamma: ([seed, a]) => logGamma(BigInt(seed!), Number(a)),
  drawPoisson: ([seed, mean]) => poisson(BigInt(seed!), Number(mean)),
  drawVonMises: ([seed, kappa]) => vonMises(BigInt(seed!), Number(kappa)),
  drawZipf: ([seed, a]) => zipf(BigInt(seed!), Number(a)),
  drawHypergeometric: ([seed, good, bad, n]) =>
    hypergeometric(BigInt(seed!), Number(good), Number(bad), Number(n)),
  drawBinomial: ([seed, n, p]) => binomial(BigInt(seed!), Number(n), Number(p)),
};
