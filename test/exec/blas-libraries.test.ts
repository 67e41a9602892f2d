import { expect, it } from 'vitest';
import { blasFiles } from '../../src/exec/native/blas-libraries.js';
import { PYTHON_PLACES } from '../support/search-paths.js';

const files: Readonly<Record<string, readonly string[]>> = {
  '/venv/lib': ['python3.12'],
  '/venv/lib/python3.12/site-packages/scipy_openblas64/lib': ['cmake', 'libscipy_openblas64_.so'],
  '/home/u/.local/lib': ['python3.9', 'python3.11'],
  '/home/u/.local/lib/python3.11/site-packages/scipy_openblas32/lib': ['libscipy_openblas.so'],
  '/home/u/.local/lib/python3.9/site-packages/scipy_openblas64/lib': ['README'],
};

it('finds the OpenBLAS of Python packages, that of the environment in use first', () => {
  expect(blasFiles(PYTHON_PLACES, (folder) => files[folder] ?? [])).toEqual([
    '/venv/lib/python3.12/site-packages/scipy_openblas64/lib/libscipy_openblas64_.so',
    '/home/u/.local/lib/python3.11/site-packages/scipy_openblas32/lib/libscipy_openblas.so',
  ]);
});
