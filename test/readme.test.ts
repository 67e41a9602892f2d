/**
 * The README's code: every `ts` block is type-checked and run on the CPU, and prints what its `//=>` lines
 * say; the CUDA C is what Weft writes; the environment variables exist.
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gpu } from '../src/exec/targets/device.js';
import { cudaOf } from '../src/exec/targets/program-cuda.js';
import { canonicalize } from '../src/fusion/passes/canonicalize.js';
import { lazy } from '../src/index.js';
import { planOnDevice } from './support/device-plan.js';

const README = readFileSync('README.md', 'utf8');

const blocks = (language: string): string[] =>
  [...README.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map((match) => match[1]!);

const expectedLines = (block: string): string[] =>
  [...block.matchAll(/^\/\/=> (.*)$/gm)].map((match) => match[1]!);

const snippets = blocks('ts').map((block, k) => ({ block, name: `block-${k + 1}` }));

/** Inside the package, so that `weftjs` is this package. */
let folder: string;
let compiled: { readonly status: number | null; readonly stdout: string };
beforeAll(() => {
  mkdirSync('build', { recursive: true });
  folder = mkdtempSync(join('build', 'readme-'));
  for (const { block, name } of snippets) writeFileSync(join(folder, `${name}.ts`), block);
  const settings = { extends: '../../tsconfig.json', include: ['*.ts'] };
  const compilerOptions = { rootDir: '.', outDir: 'out', declaration: false };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ ...settings, compilerOptions }));
  compiled = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', folder], {
    encoding: 'utf8',
  });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the README', () => {
  it('holds snippets, and all of them type-check', () => {
    expect(snippets.length).toBeGreaterThanOrEqual(8);
    expect(compiled).toMatchObject({ status: 0, stdout: '' });
    expect(readdirSync(join(folder, 'out')).filter((name) => name.endsWith('.js'))).toHaveLength(
      snippets.length,
    );
  });

  it.each(snippets)('$name runs and prints what it says', ({ block, name }) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, 'out', `${name}.js`)], {
      encoding: 'utf8',
      env: { ...process.env, WEFT_DEVICE: 'cpu' },
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout.split('\n').filter((line) => line !== '')).toEqual(expectedLines(block));
  });

  it('shows the CUDA C of its first lines', () => {
    const [x, y] = [lazy(new Float32Array(1_000_000)), lazy(new Float32Array(1_000_000))];
    const z = x.exp().mul(0.5).add(y.sqrt()).tanh();
    const { plan } = planOnDevice(canonicalize([z.expr]), gpu(0), { exact: false });
    const sources = plan.steps.map((step) =>
      step.kind === 'kernel' ? cudaOf(step.kernel).source : step.kind,
    );
    expect(blocks('cuda').map((block) => block.trim())).toEqual(sources.map((source) => source.trim()));
  });

  it('names no environment variable that is not read', () => {
    const config = readFileSync('src/host/config.ts', 'utf8');
    const names = [...README.matchAll(/`((?:WEFT|CUDA)_[A-Z_]+)`/g)].map((match) => match[1]!);
    expect(names.length).toBeGreaterThan(9);
    for (const name of names) expect(config).toMatch(new RegExp(`env\\.${name}\\b|'${name}'`));
  });
});
