/**
 * The functions of the Python array API standard, 2025.12, and where Weft has each: under its name in camel case
 * or under another one.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as weft from '../src/index.js';

/** The names of the standard by the sections of its specification. */
const STANDARD = {
  creation: `arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu
    zeros zeros_like`,
  'data types': 'astype can_cast finfo iinfo isdtype result_type',
  elementwise: `abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or
    bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater
    greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not
    logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder
    round sign signbit sin sinh square sqrt subtract tan tanh trunc`,
  indexing: 'take take_along_axis',
  'linear algebra': 'matmul matrix_transpose tensordot vecdot',
  manipulation: `broadcast_arrays broadcast_shapes broadcast_to concat expand_dims flip moveaxis permute_dims repeat
    reshape roll squeeze stack tile unstack`,
  searching: 'argmax argmin count_nonzero nonzero searchsorted where',
  sets: 'isin unique_all unique_counts unique_inverse unique_values',
  sorting: 'argsort sort',
  statistics: 'cumulative_prod cumulative_sum max mean min prod std sum var',
  utilities: 'all any diff',
};

const EXTENSIONS = {
  linalg: `cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul matrix_norm matrix_power matrix_rank
    matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm`,
  fft: 'fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift',
};

/** Functions under other names. */
const ELSEWHERE: Readonly<Record<string, keyof typeof weft>> = {
  asarray: 'lazy',
  // A lazy array has no memory that could be left as it is.
  empty: 'zeros',
  empty_like: 'zerosLike',
  vector_norm: 'norm',
  from_dlpack: 'fromDLPack',
};

const LINALG_ELSEWHERE: Readonly<Record<string, string>> = { vector_norm: 'norm' };

const namesOf = (text: string): string[] => text.split(/\s+/);
const camel = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
const isThere = (name: string): boolean =>
  typeof Reflect.get(weft, ELSEWHERE[name] ?? camel(name)) === 'function';
const standard = Object.values(STANDARD).flatMap(namesOf);

describe('the array API standard', () => {
  it.each(Object.entries(STANDARD))('has its functions for %s', (_, names) => {
    expect(namesOf(names).filter((name) => !isThere(name))).toEqual([]);
  });

  it('is counted in the README', () => {
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
    const [has, all] = [standard.filter(isThere).length, standard.length];
    expect(readme).toContain(`${has} of the ${all} functions of the array API standard 2025.12`);
  });

  it('has the extension for linear algebra in the object linalg, or beside it', () => {
    const isIn = (name: string): boolean => {
      const own = LINALG_ELSEWHERE[name] ?? camel(name);
      return typeof (Reflect.get(weft.linalg, own) ?? Reflect.get(weft, own)) === 'function';
    };
    expect(namesOf(EXTENSIONS.linalg).filter((name) => !isIn(name))).toEqual([]);
  });

  it('has the extension for Fourier transforms in the object fft', () => {
    for (const name of namesOf(EXTENSIONS.fft)) expect(typeof Reflect.get(weft.fft, name)).toBe('function');
  });
});
