/** The examples as a user runs them. Each compares itself with a plain loop and fails where they differ. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';

function example(name: string, device = 'cpu', args: readonly string[] = []) {
  const script = join('dist', 'examples', `${name}.js`);
  return spawnSync(process.execPath, [script, '--device', device, ...args], { encoding: 'utf8' });
}

/**
 * Width and height of a PNG file of 24-bit colours, all of whose rows can be read and whose checksums are
 * right.
 */
function sizeOfPng(file: Buffer): [width: number, height: number] {
  expect(file.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < file.length; ) {
    const end = at + 8 + file.readUInt32BE(at);
    expect(file.readUInt32BE(end)).toBe(crc32(file.subarray(at + 4, end)));
    chunks.set(file.toString('latin1', at + 4, at + 8), file.subarray(at + 8, end));
    at = end + 4;
  }
  const header = chunks.get('IHDR')!;
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  expect([...header.subarray(8)]).toEqual([8, 2, 0, 0, 0]);
  expect(inflateSync(chunks.get('IDAT')!)).toHaveLength(height * (1 + 3 * width));
  expect(chunks.has('IEND')).toBe(true);
  return [width, height];
}

/** The CRC-32 of ISO 3309, bit by bit. */
function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc >>> 0;
}

describe('examples', () => {
  it.each([
    ['elementwise', 1],
    ['softplus', 1],
    ['mandelbrot', 1],
    ['black-scholes', 1],
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

  it('batch does every file but the broken one', () => {
    const { status, stdout, stderr } = example('batch');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/job \d+ failed: FileError/);
    expect(stdout).toContain('24 done, 1 failed');
    expect(stdout).toContain('cpu: 24 jobs');
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

  it('diffusion draws its pictures and agrees with its loop', () => {
    const folder = mkdtempSync(join(tmpdir(), 'weft-diffusion-'));
    try {
      const args = ['--size', '96', '--steps', '400', '--frames', '4', '--out', folder];
      const { status, stdout, stderr } = example('diffusion', 'cpu', args);
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(stdout).toMatch(/max difference \S+, allowed/);
      const names = readdirSync(folder).sort();
      expect(names).toEqual(['diffusion.png', 'frame-1.png', 'frame-2.png', 'frame-3.png', 'frame-4.png']);
      for (const name of names) expect(sizeOfPng(readFileSync(join(folder, name)))).toEqual([96, 96]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('heat draws a plate and agrees with the sum over waves', () => {
    const folder = mkdtempSync(join(tmpdir(), 'weft-heat-'));
    try {
      const picture = join(folder, 'heat.png');
      const { status, stdout, stderr } = example('heat', 'cpu', ['--size', '90', '--out', picture]);
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(stdout).toMatch(/largest difference from the sum over waves: \S+e-1/);
      expect(sizeOfPng(readFileSync(picture))).toEqual([90, 90]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('ridge draws the L-curve of solutions that a loop finds to be least', () => {
    const folder = mkdtempSync(join(tmpdir(), 'weft-ridge-'));
    try {
      const picture = join(folder, 'ridge.png');
      const { status, stdout, stderr } = example('ridge', 'cpu', ['--size', '100', '--out', picture]);
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(stdout).toMatch(/largest gradient by a loop: \S+e-/);
      expect(stdout.match(/damp \S+: residual/g)).toHaveLength(10);
      expect(sizeOfPng(readFileSync(picture))).toEqual([480, 360]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('poisson draws a potential whose charges a loop finds, in fewer steps with triangles', () => {
    const folder = mkdtempSync(join(tmpdir(), 'weft-poisson-'));
    try {
      const picture = join(folder, 'poisson.png');
      const { status, stdout, stderr } = example('poisson', 'cpu', ['--size', '40', '--out', picture]);
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(stdout.match(/largest residual by a loop: \S+e-/g)).toHaveLength(2);
      expect(sizeOfPng(readFileSync(picture))).toEqual([40, 40]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('filters draws four pictures and agrees with the medians of a loop', () => {
    const folder = mkdtempSync(join(tmpdir(), 'weft-filters-'));
    try {
      const picture = join(folder, 'filters.png');
      const { status, stdout, stderr } = example('filters', 'cpu', ['--size', '120', '--out', picture]);
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(stdout).toMatch(/4 parts/);
      expect(stdout).toMatch(/largest difference from a loop's medians: 0\n/);
      expect(sizeOfPng(readFileSync(picture))).toEqual([240, 240]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('refuses a device that does not exist', () => {
    const { status, stderr } = example('elementwise', 'tpu');
    expect(status).not.toBe(0);
    expect(stderr).toContain("expected a device named 'cpu', 'cuda' or 'cuda:N': 'tpu'");
  });
});
