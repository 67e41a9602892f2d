/** The examples and the cookbook as a user runs them. Each checks itself and fails where something differs. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readPng } from './support/png.js';
import { testedExample } from './support/tested-program.js';

function example(name: string, device = 'cpu', args: readonly string[] = []) {
  const script = testedExample(`${name}.js`);
  return spawnSync(process.execPath, [script, '--device', device, ...args], { encoding: 'utf8' });
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

describe('cookbook', () => {
  const folder = mkdtempSync(join(tmpdir(), 'weft-cookbook-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('has programs that check themselves and draw, all in one process', () => {
    const { status, stdout, stderr } = example('cookbook', 'cpu', ['--small', '--out', folder]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const programs = stdout.split(/^(?=\S)/m);
    expect(programs.length).toBeGreaterThanOrEqual(20);
    for (const program of programs) {
      expect(program).toMatch(/: \S+, expected \S+ within \S+\n/);
      const [, file] = /^ {2}picture: (.*)$/m.exec(program)!;
      if (file!.endsWith('.svg')) expect(readFileSync(file!, 'utf8')).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
      else expect(new Set(readPng(readFileSync(file!)).bytes).size).toBeGreaterThan(1);
    }
    expect(programs.map((program) => /^\S+(?=,)/.exec(program)![0]).sort()).toEqual(
      readdirSync('examples/cookbook')
        .map((file) => file.slice(0, -3))
        .filter((name) => name !== 'chart' && name !== 'recipe')
        .sort(),
    );
  });

  it('has a page that is as new as the programs, and small pictures', async () => {
    const script: string = '../scripts/cookbook.mjs';
    const { renderCookbook } = (await import(script)) as { renderCookbook(): string };
    expect(readFileSync('docs/cookbook.md', 'utf8'), 'run node scripts/cookbook.mjs').toBe(renderCookbook());
    const bytes = readdirSync('docs/cookbook').map((file) => statSync(join('docs/cookbook', file)).size);
    expect(bytes.reduce((a, b) => a + b, 0)).toBeLessThan(400 * 1024);
  });

  it('refuses a name that is none of its programs', () => {
    const { status, stderr } = example('cookbook', 'cpu', ['k-mean']);
    expect(status).not.toBe(0);
    expect(stderr).toContain('no program k-mean: mandelbrot, ');
  });
});
