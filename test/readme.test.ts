/**
 * The README: its CUDA C is what Weft writes, and the environment variables exist. What its `ts` blocks print is
 * checked by `documentation.test.ts`.
 */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { gpu } from '../src/exec/targets/device.js';
import { cudaOf } from '../src/exec/targets/kernel-source.js';
import { canonicalize } from '../src/fusion/passes/canonicalize.js';
import { lazy } from '../src/index.js';
import { planOnDevice } from './support/device-plan.js';

const README = readFileSync('README.md', 'utf8');

const blocks = (language: string): string[] =>
  [...README.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map((match) => match[1]!);

describe('the README', () => {
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
