/** The graphs of Fourier transforms, their dtypes, and arguments that they refuse. */
import { describe, expect, it } from 'vitest';
import { exprOf, Lazy } from '../../src/api/lazy.js';
import { CPU } from '../../src/exec/targets/device.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { fromHalfSpectra, halfSpectra } from '../../src/graph/fourier-steps.js';
import {
  ArgumentError,
  compute,
  DTypeError,
  fft,
  lazy,
  type NDArray,
  ones,
  placeholder,
  RangeArgumentError,
  ShapeError,
} from '../../src/index.js';
import { planOnDevice } from '../support/device-plan.js';

describe('Fourier transforms', () => {
  it('have the dtypes of NumPy 2', () => {
    const of = (dtype: 'int8' | 'float16' | 'float32' | 'complex64' | 'float64') => ones([4], { dtype });
    expect(fft.fft(of('int8')).dtype).toBe('complex128');
    expect(fft.fft(of('float16')).dtype).toBe('complex64');
    expect(fft.rfft(of('float32')).dtype).toBe('complex64');
    expect(fft.rfft(of('float64')).dtype).toBe('complex128');
    expect(fft.irfft(of('complex64')).dtype).toBe('float32');
    expect(fft.hfft(of('int8')).dtype).toBe('float64');
  });

  it('refuse lengths below 1, also those of axes without elements', () => {
    const x = ones([3, 4]);
    expect(() => fft.fft(x, { n: 0 })).toThrow(RangeArgumentError);
    expect(() => fft.fft(ones([3, 0]))).toThrow('[fft.fft] expected a length of at least 1: 0');
    expect(() => fft.irfft(ones([1]))).toThrow('[fft.irfft] expected a length of at least 1: 0');
    expect(() => fft.fftn(x, { s: [2, -2] })).toThrow(RangeArgumentError);
    expect(() => fft.fft(x, { n: 1.5 })).toThrow(ShapeError);
    expect(() => fft.fftfreq(0)).toThrow(RangeArgumentError);
    expect(() => fft.rfftfreq(4, 0)).toThrow(RangeArgumentError);
  });

  it('refuse axes that are not there, that stand twice, or are not as many as the lengths', () => {
    const x = ones([3, 4]);
    expect(() => fft.fft(x, { axis: 2 })).toThrow('[fft.fft] expected an axis from -2 to 1: 2');
    expect(() => fft.fft(lazy(3))).toThrow(ShapeError);
    expect(() => fft.fftn(x, { axes: [0, -2] })).toThrow('[fft.fftn] expected each axis once');
    expect(() => fft.fft2(ones([3]))).toThrow(ShapeError);
    expect(() => fft.rfftn(x, { axes: [] })).toThrow('[fft.rfftn] expected an axis: none');
    expect(() => fft.fftn(x, { s: [2], axes: [0, 1] })).toThrow('expected a length for each of 2 axes: 1');
    expect(() => fft.fftn(x, { s: 3 as unknown as number[] })).toThrow(ArgumentError);
  });

  it('refuse norms, options and dtypes that there are none of', () => {
    const x = ones([3, 4]);
    expect(() => fft.fft(x, { norm: 'unitary' as 'ortho' })).toThrow(ArgumentError);
    expect(() => fft.fft(x, { axes: [0] } as object)).toThrow(ArgumentError);
    expect(() => fft.rfft(x.astype('complex64'))).toThrow('[fft.rfft] expected a real array: complex64');
    expect(() => fft.ihfft(x.astype('complex128'))).toThrow(DTypeError);
  });

  it('refuse convolutions of other numbers of axes, of nothing, and valid ones of neither within the other', () => {
    expect(() => fft.fftConvolve(ones([3]), ones([2, 2]))).toThrow(ShapeError);
    expect(() => fft.fftConvolve(ones([0]), ones([2]))).toThrow(ShapeError);
    expect(() => fft.fftConvolve(ones([3, 2]), ones([2, 3]), { mode: 'valid' })).toThrow(ShapeError);
    expect(() => fft.fftConvolve(ones([3, 2]), ones([2, 3]), { axes: 0 })).toThrow(ShapeError);
  });

  it('are one call between a kernel before and one behind, which have the window, the factor and the magnitude', () => {
    const x = placeholder([8, 64], { dtype: 'complex64' });
    const window = placeholder([64], { dtype: 'float32' });
    const power = fft.ifft(x.mul(window), { norm: 'backward' }).abs().square();
    expect(stepsOf(power)).toEqual(['kernel', 'call fft', 'kernel']);
  });

  it('of real numbers are half a transform and one kernel', () => {
    const x = placeholder([8, 64], { dtype: 'float32' });
    expect(stepsOf(fft.fft(x).abs())).toEqual(['call rfft', 'kernel']);
    expect(stepsOf(fft.rfft(x))).toEqual(['call rfft']);
  });

  it('along axes that are not the last copy nothing', () => {
    const x = placeholder([4, 16, 8], { dtype: 'complex64' });
    expect(stepsOf(fft.fft(x, { axis: 1 }))).toEqual(['call fft']);
    expect(stepsOf(fft.fftn(x))).toEqual(['call fft']);
    expect(stepsOf(fft.irfft2(x))).toEqual(['call fft', 'call irfft', 'kernel']);
    const many = placeholder([100, 16, 8], { dtype: 'complex64' });
    expect(stepsOf(fft.fft(many, { axis: 1 }))).toEqual(['kernel', 'call fft', 'kernel']);
  });

  it('of sequences of more than 2^26 elements are transforms of short rows, with kernels that transpose', () => {
    // Two kernels make tables of roots.
    const steps = ['kernel', 'call fft', 'kernel', 'kernel', 'kernel', 'call fft', 'kernel'];
    const long = (n: number, dtype: 'complex64' | 'float32' = 'complex64') => placeholder([n], { dtype });
    expect(stepsOf(fft.fft(long(2 ** 26)))).toEqual(['call fft']);
    expect(stepsOf(fft.ifft(long(2 ** 27)))).toEqual(steps);
    // Of an odd length; one more cuts the result in half.
    expect(stepsOf(fft.rfft(long(3 ** 17, 'float32')))).toEqual([...steps, 'kernel']);
    // A prime.
    expect(stepsOf(fft.fft(long(2 ** 26 + 15)))).toEqual(['call fft']);
    const image = placeholder([2 ** 14, 2 ** 14], { dtype: 'complex64' });
    expect(stepsOf(fft.fft2(image))).toEqual(['call fft', 'kernel', 'call fft', 'kernel']);
  });
});

describe('transforms of long real sequences of even length', () => {
  it('are those of half as many complex numbers, a kernel before and one behind, and two for roots', () => {
    const real = placeholder([3 * 2 ** 25], { dtype: 'float32' });
    expect(stepsOf(fft.rfft(real))).toEqual(['kernel', 'call fft', 'kernel', 'kernel', 'kernel']);
    const half = placeholder([2 ** 26 + 1], { dtype: 'complex64' });
    expect(stepsOf(fft.irfft(half))).toEqual(['kernel', 'kernel', 'kernel', 'call fft', 'kernel']);
  });

  it.each([2, 4, 30, 512])('are those of %i elements', async (n) => {
    const values = Float64Array.from({ length: 3 * n }, (_, i) => Math.sin(i * i + 1));
    const x = lazy(values).reshape(3, n);
    const forward = halfSpectra(exprOf('rfft', x), (z) => exprOf('fft', fft.fft(new Lazy(z))));
    // Imaginary parts of the ends are not read.
    const spectra = fft.rfft(x).add({ re: 0, im: 1 });
    const backward = fromHalfSpectra(exprOf('irfft', spectra), (z) =>
      exprOf('ifft', fft.ifft(new Lazy(z), { norm: 'forward' })),
    );
    const device = 'cpu';
    const [own, wanted] = await compute([new Lazy(forward), fft.rfft(x)], { device });
    expectNear(own!, wanted!);
    const [back, signal] = await compute([new Lazy(backward), fft.irfft(spectra, { norm: 'forward' })], {
      device,
    });
    expectNear(back!, signal!);
  });
});

function expectNear(actual: NDArray, expected: NDArray): void {
  expect([actual.dtype, actual.shape]).toEqual([expected.dtype, expected.shape]);
  const [a, b] = [actual, expected].map(({ data }) => Array.from(data as Float64Array));
  const most = Math.max(...b!.map(Math.abs));
  expect(Math.max(...a!.map((value, i) => Math.abs(value - b![i]!)))).toBeLessThan(1e-14 * most);
}

/** The steps of a plan on the CPU. */
function stepsOf({ expr }: Lazy): string[] {
  const { plan } = planOnDevice(canonicalize([expr]), CPU);
  return plan.steps.map((step) => (step.kind === 'call' ? `call ${step.call}` : step.kind));
}
