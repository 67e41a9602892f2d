import { expect, it } from 'vitest';
import { fftFiles } from '../../src/exec/native/fft-libraries.js';
import { PYTHON_PLACES } from '../support/search-paths.js';

const files: Readonly<Record<string, readonly string[]>> = {
  '/venv/lib': ['python3.12', 'libmkl_core.so.2', 'libmkl_rt.so.2'],
  '/venv/lib/python3.12/site-packages/pyfftw.libs': [
    'libfftw3-6b98.so.3.5.5',
    'libfftw3_omp-c5fc.so.3.5.5',
    'libfftw3f-b446.so.3.5.5',
    'libfftw3l-cef7.so.3.5.5',
  ],
  '/home/u/.local/lib': ['python3.9', 'libmkl_rt.so.3'],
  '/home/u/.local/lib/python3.9/site-packages/pyFFTW.libs': ['libfftw3-1.so.3'],
};

it('finds FFTW in packages and MKL beside them, in the environment in use first', () => {
  const mkl = ['/venv/lib/libmkl_rt.so.2', '/home/u/.local/lib/libmkl_rt.so.3'];
  expect(fftFiles(PYTHON_PLACES, (folder) => files[folder] ?? [])).toEqual({
    float32: ['/venv/lib/python3.12/site-packages/pyfftw.libs/libfftw3f-b446.so.3.5.5', ...mkl],
    float64: [
      '/venv/lib/python3.12/site-packages/pyfftw.libs/libfftw3-6b98.so.3.5.5',
      '/home/u/.local/lib/python3.9/site-packages/pyFFTW.libs/libfftw3-1.so.3',
      ...mkl,
    ],
  });
});
