import { describe, expect, it } from 'vitest';
import { explain, lazy, matmul } from '../../src/index.js';

const x = lazy(new Float32Array(1 << 20), { shape: [1 << 18, 4] });

describe('explain', () => {
  it('counts bytes and kernels of a fused chain', () => {
    const e = x.mul(2).exp().sum(1).explain({ device: 'cpu' });
    expect(e.steps).toHaveLength(1);
    expect(e.bytesRead).toBe(4 << 20);
    expect(e.bytesWritten).toBe(4 << 18);
    expect(e.edges).toEqual([]);
    expect(e.device).toBe('cpu');
  });

  it('gives a reason for each edge that was not fused', () => {
    const e = x.sub(x.mean(0)).explain({ device: 'cpu' });
    expect(e.steps).toHaveLength(2);
    expect(e.edges.map(({ from, to, reason }) => [from, to, reason])).toEqual([[0, 1, 'too-few-rows']]);
  });

  it('says that a sum of a product was reassociated, unless it has to be exact', () => {
    const a = lazy(new Float32Array(200 * 300), { shape: [200, 300] });
    const b = lazy(new Float32Array(300 * 400), { shape: [300, 400] });
    const y = matmul(a, b).sum(0);
    expect(y.explain({ device: 'cpu' })).toMatchObject({ reassociated: true });
    expect(y.explain({ device: 'cpu', exact: true })).toMatchObject({ reassociated: false });
  });

  it('draws the plan as DOT and as Mermaid', () => {
    const e = x.sub(x.mean(0)).explain({ device: 'cpu' });
    expect(e.toDot()).toMatch(/"step 0" -> "step 1" \[label="node \d+"\]/);
    expect(e.toMermaid()).toContain('flowchart TD');
  });

  it('explains several results together and runs nothing', () => {
    const e = explain([x.min(), x.max(), x.sum()], { device: 'cpu' });
    expect(e.steps).toHaveLength(1);
    expect(JSON.parse(JSON.stringify(e))).toMatchObject({ device: 'cpu', bytesRead: 4 << 20 });
    expect(String(e)).toContain('reduce min');
  });
});
