import { describe, expect, it } from 'vitest';
import {
  bincount,
  type Explanation,
  elementwise,
  explain,
  fft,
  iterate,
  type Lazy,
  lazy,
  limitMemory,
  linalg,
  matmul,
  memory,
  nonzero,
  npy,
  persist,
  placeholder,
  sparse,
} from '../../src/index.js';

/** `file:line` of the call of this function. */
function here(): string {
  const frame = new Error().stack!.split('\n')[2]!;
  return /\(?(?:file:\/\/)?(\/.*:\d+):\d+\)?$/.exec(frame)![1]!;
}

const x = lazy(new Float32Array(1 << 20), { shape: [1 << 18, 4] });

/** The products of the columns of a matrix, without their means. */
function centredProduct(y: Lazy): Lazy {
  const centred = y.sub(y.mean(0));
  return centred.transpose().matmul(centred);
}

describe('explain', () => {
  it('counts bytes and kernels of a fused chain', () => {
    const e = x.mul(2).exp().sum(1).explain({ device: 'cpu' });
    expect(e.steps).toHaveLength(1);
    expect(e.bytesRead).toBe(4 << 20);
    expect(e.bytesWritten).toBe(4 << 18);
    expect(e.edges).toEqual([]);
    expect(e.device).toBe('cpu');
  });

  it('measures kernels on the CPU beside what is predicted, without data and without running the job', async () => {
    const given = placeholder([1 << 12, 64], 'float32', { device: 'cpu' });
    const e = await given.exp().sum(1).sqrt().explain({ device: 'cpu', measure: true });
    expect(e.steps[0]!.predictedMs).toBeGreaterThan(0);
    expect(e.steps[0]!.measuredMs).toBeGreaterThan(0);
    expect(String(e)).toMatch(/predicted [\d.]+ µs, measured [\d.]+ µs\n/);
    // In tiles there is none.
    const rest = await x
      .exp()
      .explain({ device: 'cpu', memory: 2 ** 20, to: npy('never.npy'), measure: true });
    expect(rest.steps.map((step) => step.predictedMs)).toEqual(rest.steps.map(() => undefined));
    expect(rest.steps.map((step) => step.whyNotTimed)).toEqual(rest.steps.map(() => 'in parts'));
    expect(String(x.exp().explain({ device: 'cpu' }))).not.toMatch(/predicted|not timed/);
  });

  it('measures what a limit of memory leaves room for', async () => {
    const e = (n: number): Promise<Explanation> =>
      placeholder([n], 'float32').exp().explain({ device: 'cpu', measure: true });
    // Beside results of other tests that the collector has not met yet.
    const { inUse } = memory().find(({ device }) => device === 'cpu')!;
    await limitMemory(inUse + 24 * 2 ** 20, 'cpu');
    try {
      expect((await e(1000)).steps[0]!.measuredMs).toBeGreaterThan(0);
      expect((await e(2 ** 23)).steps[0]!.whyNotTimed).toContain('no memory');
    } finally {
      await limitMemory(null, 'cpu');
    }
  });

  it('times each call on samples of its own, and says on which where they matter', async () => {
    const matrix = placeholder([8, 8], 'float64');
    const stored = sparse.csr(
      {
        data: placeholder([90], 'float32'),
        indices: placeholder([90], 'int32'),
        indptr: placeholder([8], 'int32'),
      },
      [7, 20],
    );
    const jobs: Readonly<Record<string, Lazy>> = {
      matmul: placeholder([30, 20], 'float32').matmul(placeholder([20, 10], 'float32')),
      cholesky: linalg.cholesky(matrix),
      solve: linalg.solve(matrix, matrix.slice([], [0, 1])),
      sort: placeholder([5, 100], 'float16').sort(1),
      // With a constant that comes with the run, in a kernel within the call.
      scan: placeholder([40, 3], 'float32').mul(2.5).cumulativeSum(0),
      sparseProduct: stored.matmul(placeholder([20], 'float32')),
      bins: bincount(placeholder([300], 'int32'), 10),
      compact: nonzero(placeholder([100], 'bool'))[0]!,
      fft: fft.fft(placeholder([4, 60], 'complex128')),
    };
    for (const [call, job] of Object.entries(jobs)) {
      const e = await job.explain({ device: 'cpu', measure: true });
      const step = e.steps.find(({ name }) => name === call);
      expect(step?.whyNotTimed, call).toBeUndefined();
      expect(step!.predictedMs, call).toBeGreaterThan(0);
      expect(step!.measuredMs, call).toBeGreaterThan(0);
      const on = { sort: 'elements in random order', sparseProduct: 'rows of equal length' }[call];
      if (on !== undefined) expect(String(e)).toMatch(new RegExp(`measured \\S+ µs on ${on}`));
    }
  });

  it('leaves the operands of a call as they are, which its plan may write over', async () => {
    const given = lazy(Float64Array.of(4, 2, 2, 3)).reshape([2, 2]);
    const [kept] = await persist([given], { device: 'cpu' });
    await linalg.cholesky(kept!).explain({ device: 'cpu', measure: true });
    expect([...(await kept!.compute({ device: 'cpu' })).data]).toEqual([4, 2, 2, 3]);
  });

  it('says of which calls no samples can stand for the data', async () => {
    const stored = placeholder([90], 'float32');
    const indices = placeholder([90], 'int32');
    const a = sparse.csr({ data: stored, indices, indptr: placeholder([21], 'int32') }, [20, 20]);
    const { steps } = await a.matmul(a).data.explain({ device: 'cpu', measure: true });
    const reasons = steps.filter(({ kind }) => kind === 'call').map((step) => [step.name, step.whyNotTimed]);
    expect(reasons).toContainEqual([
      'sparseMatmul',
      'where elements are stored decides how much it computes',
    ]);
    const none = placeholder([0, 5], 'float64').sort(1);
    const empty = await none.explain({ device: 'cpu', measure: true });
    expect(empty.steps.every(({ measuredMs }) => measuredMs === undefined)).toBe(true);
  });

  it('does not run a loop whose end the elements decide: of zeros, this one never ends', async () => {
    const toOne = elementwise((t: number) => {
      while (t !== 1) t = t % 2 === 0 ? t / 2 : 3 * t + 1;
      return t;
    });
    const given = placeholder([1000], 'int32', { device: 'cpu' });
    const e = await toOne(given).explain({ device: 'cpu', measure: true });
    expect(e.steps.map((step) => step.measuredMs)).toEqual([undefined]);
    expect(e.steps[0]!.whyNotTimed).toBe('its data decide when a loop ends');
    expect(e.steps[0]!.predictedMs).toBeGreaterThan(0);
  });

  it('takes the files that results go to, as plan does', () => {
    const options = { device: 'cpu', memory: 2 ** 20, to: npy('never-written.npy') };
    const e = x.mul(2).explain(options);
    expect(e.steps.map(({ sweep }) => sweep?.tiles ?? 1)).toEqual([x.mul(2).plan(options).sweeps[0]!.tiles]);
    expect(explain([x.mul(2)], { ...options, to: [options.to] }).peakBytes).toBe(e.peakBytes);
  });

  it('gives a reason for each edge that was not fused', () => {
    const e = x.sub(x.mean(0)).explain({ device: 'cpu' });
    expect(e.steps).toHaveLength(2);
    expect(e.edges.map(({ from, to, reason }) => [from, to, reason])).toEqual([[0, 1, 'needs-result']]);
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

  it('draws each buffer that a step hands to another', () => {
    const e = x.sub(x.mean(0)).div(x.std(0)).explain({ device: 'cpu' });
    expect(e.toDot().match(/"step 0" -> "step 1"/g)).toHaveLength(2);
    expect(e.toMermaid().match(/n0 -->\|node \d+\| n1/g)).toHaveLength(2);
  });

  it('explains several results together and runs nothing', () => {
    const e = explain([x.min(), x.max(), x.sum()], { device: 'cpu' });
    expect(e.steps).toHaveLength(1);
    expect(JSON.parse(JSON.stringify(e))).toMatchObject({ device: 'cpu', bytesRead: 4 << 20 });
    expect(String(e)).toContain('reduce min');
  });

  it.each([
    ['reductions over different axes', (y: Lazy) => [y.sum(0), y.sum(1)], 'other-axes'],
    ['a map of a result', (y: Lazy) => [y.sub(y.mean())], 'needs-result'],
    ['parts of other sizes', (y: Lazy) => [y.slice([0, 999]).exp(), y.sin()], 'part-read'],
    ['a call beside a map', (y: Lazy) => [y.cumulativeSum(1), y.exp()], 'library-call'],
    [
      'scans in one pass',
      (y: Lazy) => [y.flatten().cumulativeSum(), y.flatten().cumulativeMax()],
      'library-call',
    ],
  ] as const)('says why %s read one array twice', (_, build, reason) => {
    const e = explain(build(x.reshape(1024, 1024)), { device: 'cpu' });
    expect(e.readings.map((each) => each.reason)).toContain(reason);
    const [reading] = e.readings;
    expect(String(e)).toContain(
      `read twice: source 0 float32 by step ${reading!.first} and step ${reading!.second}`,
    );
    expect(e.readings[0]!.bytes).toBe(4 << 20);
  });

  it('asks for one reduction only where both are the same', () => {
    const reasonsOf = (result: Lazy): string[] =>
      result.explain({ device: 'cpu' }).edges.map(({ reason }) => reason);
    const y = x.reshape(1024, 1024);
    expect(reasonsOf(y.sum(1).sum())).toEqual(['nested-reduction']);
    expect(reasonsOf(y.mean(1).mean())).toEqual(['nested-reduction']);
    expect(reasonsOf(y.sum(1).max())).toEqual(['reduced-first']);
    expect(reasonsOf(y.sum(1).sqrt().sum())).toEqual(['reduced-first']);
    expect(reasonsOf(y.sub(y.sum(0)).square().sum(1))).toEqual(['reduced-first']);
  });

  it.each([
    ['a covariance of columns by their means', 'needs-result', (y: Lazy) => centredProduct(y.reshape(-1, 8))],
    [
      'differences of sums',
      'in-cache',
      (y: Lazy) =>
        y
          .sum(1)
          .slice([1, null])
          .sub(y.sum(1).slice([0, -1])),
    ],
    ['a table of what is added up', 'looked-up', (y: Lazy) => y.sum(1).take(lazy(new Int32Array(4096)))],
  ] as const)('does not ask for a slice of the input of %s', (_, reason, build) => {
    const { edges } = build(x.reshape(16_384, 64)).explain({ device: 'cpu' });
    expect(new Set(edges.map((edge) => edge.reason))).toEqual(new Set([reason]));
  });

  it('says why keys are stored that several routines gather by, and that one of them would compute', () => {
    const values = x.reshape(-1);
    const keys = values.mul(10).floor().clip(0, 9).astype('int64');
    const { edges } = explain([keys.bincount(10), keys.bincount(10, values)], { device: 'cpu' });
    const stored = edges.filter(({ from }) => from === 0).map(({ reason }) => reason);
    expect(stored).toEqual(['several-calls', 'several-calls']);
    expect(
      keys
        .bincount(10)
        .explain({ device: 'cpu' })
        .edges.map(({ reason }) => reason),
    ).not.toContain('several-calls');
  });

  it('asks for the whole array where a step reduces a slice of what another one stores, which one kernel does', () => {
    const u = lazy(new Float32Array(1 << 20), { shape: [1024, 1024] });
    const inner = (dy: number, dx: number): Lazy => u.slice([1 + dy, 1023 + dy], [1 + dx, 1023 + dx]);
    const means = inner(-1, 0).add(inner(1, 0)).add(inner(0, -1)).add(inner(0, 1)).mul(0.25);
    const next = u.at([1, -1], [1, -1]).set(means);
    const { readings } = explain([next, means.sub(inner(0, 0)).square().sum()], { device: 'cpu' });
    expect(readings.map(({ reason }) => reason)).toEqual(['part-read']);
    expect(readings[0]!.advice).toMatch(/whole array/);
    expect(explain([next, next.sub(u).square().sum()], { device: 'cpu' }).steps).toHaveLength(1);
  });

  it('names the steps that read a value where routines have maps and reductions of it', () => {
    const grown = x.reshape(-1).add(1).cumulativeProd();
    const { edges, steps } = grown.div(grown.cumulativeMax()).sub(1).min().explain({ device: 'cpu' });
    expect(edges).not.toHaveLength(0);
    for (const { buffer, from, to } of edges) {
      expect(steps[from]!.writes).toContain(buffer);
      expect(steps[to]!.reads).toContain(buffer);
    }
  });

  it('says that products and attention compute from memory', () => {
    const of = (size: number): Lazy =>
      x
        .reshape(-1)
        .slice([0, size * 64])
        .reshape(1, size, 64);
    const unit = (y: Lazy): Lazy => y.div(y.norm({ axis: -1, keepdims: true }));
    const layers = of(512).matmul(of(64)).relu().matmul(of(64));
    const scores = unit(of(512))
      .matmul(unit(of(256)).mT)
      .softmax(-1);
    for (const [y, reason, text] of [
      [layers, 'product-call', /once for every row or column/],
      [scores.matmul(of(256)), 'attention-call', /for each block of queries/],
    ] as const) {
      const { edges } = y.explain({ device: 'cpu' });
      expect(new Set(edges.map((edge) => edge.reason))).toEqual(new Set([reason]));
      expect(edges[0]!.advice).toMatch(text);
    }
  });

  it('says for each edge what can be done about it', () => {
    const e = x.sub(x.mean(0)).explain({ device: 'cpu' });
    expect(e.edges[0]!.advice).toMatch(/one reading/);
    expect(String(e)).toContain(e.edges[0]!.advice);
    expect(JSON.parse(JSON.stringify(e)).edges[0].advice).toBe(e.edges[0]!.advice);
  });
});

describe('lines of steps', () => {
  const a = lazy(new Float32Array(200 * 300), { shape: [200, 300] });
  const b = lazy(new Float32Array(300 * 400), { shape: [300, 400] });
  const linesOf = (y: Lazy, exact = false) =>
    y.explain({ device: 'cpu', exact }).steps.map(({ name, lines }) => [name, lines]);

  it('are those of the calls that made what a step computes', () => {
    const [mean, atMean] = [x.mean(0), here()];
    const [centred, atCentred] = [x.sub(mean), here()];
    const [y, atY] = [centred.mul(2), here()];
    const e = y.explain({ device: 'cpu' });
    expect(e.steps.map(({ lines }) => lines)).toEqual([[atMean], [atCentred, atY]]);
    expect(String(e)).toContain(`at ${atCentred},${/\d+$/.exec(atY)![0]}\n`);
  });

  it('are those of a product and of its sum where the two became other steps', () => {
    const [product, atProduct] = [a.matmul(b), here()];
    const [sum, atSum] = [product.sum(0), here()];
    expect(linesOf(sum)).toEqual([
      ['reduce_sum', [atProduct, atSum]],
      ['reduce_multiply_sum', [atProduct, atSum]],
    ]);
    expect(linesOf(sum, true).flatMap(([, lines]) => lines)).toEqual([atProduct, atSum]);
  });

  it('are those of a sum and of the slice that was pushed through it', () => {
    const [sum, atSum] = [a.T.sum(1), here()];
    const [slice, atSlice] = [sum.slice([0, 7]), here()];
    expect(linesOf(slice)).toEqual([['reduce_sum', [atSum, atSlice]]]);
  });

  it('are not those of neighbours whose views were taken out between them', () => {
    const [first, atFirst] = [a.matmul(b), here()];
    const [second, atSecond] = [first.matmul(b.T), here()];
    expect(linesOf(second, true)).toEqual([
      ['matmul', [atFirst]],
      ['matmul', [atSecond]],
    ]);
  });

  it('are all where the same value was written at several', () => {
    const [one, atOne] = [a.exp(), here()];
    const [other, atOther] = [a.exp(), here()];
    const [sum, atSum] = [one.add(other), here()];
    expect(linesOf(sum)[0]![1]).toEqual([atOne, atOther, atSum]);
  });

  it('of a loop are in its function', () => {
    let atProduct = '';
    let atHalf = '';
    const steps = iterate(3, lazy(new Float32Array(40_000), { shape: [200, 200] }), (state) => {
      const product = state.matmul(state);
      atProduct = here();
      const half = product.mul(0.5);
      atHalf = here();
      return half;
    });
    const lines = linesOf(steps).map(([, at]) => at);
    const previous = (at: string) => at.replace(/\d+$/, (line) => String(Number(line) - 1));
    expect(lines).toEqual([[previous(atProduct)], [previous(atHalf)]]);
  });
});
