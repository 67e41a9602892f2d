/** The examples as a user runs them. Each compares itself with a plain loop and fails where they differ. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

function example(name: string, device = 'cpu') {
  return spawnSync(process.execPath, [join('dist', 'examples', `${name}.js`), '--device', device], {
    encoding: 'utf8',
  });
}

describe('examples', () => {
  it.each([
    ['elementwise', 1],
    ['softplus', 1],
    ['abs-sum', 1],
    ['column-sum-of-product', 2],
  ])('%s agrees with its loop and runs as %i kernels', (name, kernels) => {
    const { status, stdout, stderr } = example(name);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/max difference \S+, allowed/);
    expect(stdout).toContain(`${kernels} in all`);
  });

  it('gaussian-kernel-sum agrees with its loop', () => {
    const { status, stdout } = example('gaussian-kernel-sum');
    expect(status).toBe(0);
    expect(stdout).toMatch(/max difference \S+, allowed/);
  });

  it('larger-than-memory agrees with its loop, in tiles', () => {
    const { status, stdout, stderr } = example('larger-than-memory');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/: \d+ tiles\n/);
    expect(stdout).toMatch(/max difference \S+, allowed/);
  });

  it('flights prints its tables and agrees with plain loops', () => {
    const { status, stdout, stderr } = example('flights');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/delay +6\.668 +32\.383 +18\.667/);
    expect(stdout).toMatch(/15 to 30 min +270,959 +9\.0 %/);
    expect(stdout).toMatch(/500 to 1000 miles +20\.4 %/);
    expect(stdout).toContain('device cpu (named by the caller)');
    expect(stdout).toMatch(/histogram +0\.0e\+0 +0/);
  });

  it('refuses a device that does not exist', () => {
    const { status, stderr } = example('elementwise', 'tpu');
    expect(status).not.toBe(0);
    expect(stderr).toContain("expected a device named 'cpu', 'cuda' or 'cuda:N': 'tpu'");
  });
});
