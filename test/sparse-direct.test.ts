/** Direct solves of sparse systems: factors against SciPy's, orders, singular matrices and arguments. On the CPU. */
import { expect, it, vi } from 'vitest';
import { arange, compute, type Lazy, LinalgError, lazy, type SparseMatrix, sparse } from '../src/index.js';
import { failuresOf } from './support/api.js';
import { argumentsOf, casesByCall, prepareCases } from './support/composite-cases.js';
import { generator } from './support/random.js';

const cpu = { device: 'cpu' } as const;

const poisson = (side: number): SparseMatrix => {
  const line = sparse.diags([-1, 2, -1], [-1, 0, 1], [side, side]);
  return sparse.kron(line, sparse.eye(side)).add(sparse.kron(sparse.eye(side), line));
};

type Given = readonly [data: Lazy, indices: Lazy, indptr: Lazy, shape: readonly [number, number]];

it('solutions are those of SciPy, of the matrix and of its transposes', async () => {
  const all = casesByCall('sparse').get('spsolve')!;
  const dtypes = [...new Set(all.map(({ inputs }) => inputs[0]!.dtype))];
  expect([dtypes.length, all.length]).toEqual([4, 12]);
  for (const [order, pivotThreshold] of [
    ['amd', 0.1],
    ['amd', 1],
    ['rcm', 0.1],
    ['natural', 1],
  ] as const) {
    for (const dtype of dtypes) {
      const cases = all.filter(({ inputs }) => inputs[0]!.dtype === dtype);
      const [[data, indices, indptr, shape]] = argumentsOf(cases[0]!) as [Given];
      const matrix = sparse.csr({ data, indices, indptr }, shape);
      const lu = await sparse.splu(matrix, { ...cpu, order, pivotThreshold });
      const prepared = prepareCases(
        cases,
        () => (_, b, transpose) => lu.solve(b as Lazy, transpose as 'N' | 'T' | 'H'),
      );
      expect(await failuresOf('cpu', prepared)).toEqual([]);
    }
  }
});

it('rows and columns of the matrix in the order of the factors are their product', async () => {
  const next = generator(4);
  const dense = lazy(
    Float64Array.from({ length: 400 }, () => (next() < 0.2 ? next() - 0.5 : 0)),
    { shape: [20, 20] },
  );
  const a = sparse.fromDense(dense).add(sparse.diags([arange(20).add(1)]));
  const lu = await sparse.splu(a, cpu);
  const { L, U, permR, permC } = lu;
  const product = L.matmul(U).toDense().take(permR, 0).take(permC, 1);
  const [off, upper, lower, ones] = await compute(
    [
      product.sub(a.toDense()).abs().max(),
      L.triu(1).toDense().abs().max(),
      U.tril(-1).toDense().abs().max(),
      L.diagonal().sub(1).abs().max(),
    ],
    cpu,
  );
  expect(Number(off!.item())).toBeLessThan(1e-12);
  expect([upper, lower, ones].map((each) => each!.item())).toEqual([0, 0, 0]);
  expect(lu.nnz).toBe(L.data.shape[0]! + U.data.shape[0]!);
});

it('orders keep factors sparse, and a system of many unknowns is solved to a few roundings', async () => {
  const a = await poisson(24).persist(cpu);
  const found = await Promise.all(
    (['amd', 'rcm', 'natural'] as const).map((order) => sparse.splu(a, { ...cpu, order })),
  );
  const [amd, rcm, natural] = found.map(({ nnz }) => nnz) as [number, number, number];
  // Of SciPy's orders of this matrix MMD_AT_PLUS_A gives 11,448 elements, COLAMD 17,416, NATURAL 27,694.
  expect(amd).toBeLessThan(13_000);
  expect(amd).toBeLessThan(rcm);
  expect(rcm).toBeLessThan(natural);
  expect(natural).toBe(27_694);
  const b = arange(576).sin();
  for (const lu of found) {
    const off = a.matmul(lu.solve(b)).sub(b).abs().max();
    expect(Number((await off.compute(cpu)).item())).toBeLessThan(1e-12);
  }
});

it('an arrow and a full matrix, blocks apart, one unknown and none are solved', async () => {
  const n = 150;
  const arrow = sparse.coo(
    {
      data: Float64Array.from({ length: 3 * n - 2 }, (_, k) => (k < n ? 4 : 1 / n)),
      row: [
        ...Array(n).keys(),
        ...Array.from({ length: n - 1 }, () => 0),
        ...Array.from({ length: n - 1 }, (_, k) => k + 1),
      ],
      col: [
        ...Array(n).keys(),
        ...Array.from({ length: n - 1 }, (_, k) => k + 1),
        ...Array.from({ length: n - 1 }, () => 0),
      ],
    },
    [n, n],
  );
  const next = generator(9);
  const full = sparse.fromDense(lazy(Float64Array.from({ length: 900 }, next), { shape: [30, 30] }));
  const blocks = sparse.kron(
    sparse.eye(5),
    sparse.fromDense([
      [0, 2],
      [3, 0],
    ]),
  );
  for (const a of [arrow, full, blocks, sparse.fromDense([[5]])]) {
    const b = arange(a.shape[0]).add(1);
    const x = await sparse.spsolve(a, b, cpu);
    expect(Number((await a.matmul(x).sub(b).abs().max().compute(cpu)).item())).toBeLessThan(1e-9);
  }
  // Pivots beside the diagonal of an arrow fill more than its pattern says; its own do not.
  expect((await sparse.splu(arrow, cpu)).nnz).toBe(4 * n - 2);
  expect((await (await sparse.spsolve(sparse.eye(0), new Float64Array(0), cpu)).compute(cpu)).shape).toEqual([
    0,
  ]);
});

it('pivots beside the diagonal are found in fronts that come later, and without fronts where there are none', async () => {
  const next = generator(5);
  const n = 240;
  const coordinates = (columnsOf: (row: number) => readonly number[]): SparseMatrix => {
    const places = Array.from({ length: n }, (_, row) =>
      columnsOf(row).map((column) => [row, column] as const),
    ).flat();
    const data = Float64Array.from(places, () => 0.5 + next());
    return sparse.coo({ data, row: places.map(([row]) => row), col: places.map(([, column]) => column) }, [
      n,
      n,
    ]);
  };
  const m = (2 * n) / 3;
  // Equations with conditions, whose own unknowns have no diagonal; and rows that meet their own unknowns nowhere.
  const conditions = coordinates((row) =>
    row < m ? [row, m + (row >> 1)] : [2 * (row - m), 2 * (row - m) + 1],
  );
  const shifted = coordinates((row) => [1, 18, 75].map((by) => (row + by) % n));
  for (const a of [conditions, shifted, shifted.multiply(lazy(0.5)).astype('complex128')]) {
    for (const pivotThreshold of [0.1, 1]) {
      const lu = await sparse.splu(a, { ...cpu, pivotThreshold });
      const b = arange(n).cos();
      const off = a.matmul(lu.solve(b).astype(a.dtype)).sub(b.astype(a.dtype)).abs().max();
      expect(Number((await off.compute(cpu)).item())).toBeLessThan(1e-10);
    }
  }
  // In fronts a cycle would be one full matrix.
  expect(
    (
      await sparse.splu(
        coordinates((row) => [(row + 1) % n]),
        cpu,
      )
    ).nnz,
  ).toBe(2 * n);
});

it('singular matrices are an error, also those of zeros, without a column and with a pivot of NaN', async () => {
  const singular = [
    sparse.fromDense([
      [1, 2],
      [2, 4],
    ]),
    sparse.fromDense([
      [1, 0],
      [3, 0],
    ]),
    sparse.fromDense([
      [0, 0],
      [0, 0],
    ]),
    sparse.diags([[1, 0, 2]]),
    sparse.diags([[1, Number.NaN]]),
  ];
  for (const a of singular) {
    const failed = sparse.splu(a, cpu);
    await expect(failed).rejects.toThrow(LinalgError);
    await expect(failed).rejects.toThrow(
      /\[sparse.splu\] expected a matrix that is not singular: pivot \d is 0 or NaN/,
    );
  }
});

it('a signal stops the computes on the CPU, not only those of the device', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const listen = signal.addEventListener.bind(signal);
  let computes = 0;
  // The first compute is that of the columns, the second one that of their order.
  vi.spyOn(signal, 'addEventListener').mockImplementation((...given: Parameters<typeof listen>) => {
    computes++;
    listen(...given);
    if (computes === 2) controller.abort(new Error('enough'));
  });
  await expect(sparse.splu(poisson(3), { ...cpu, signal })).rejects.toThrow('enough');
  expect(computes).toBe(2);
});

it('arguments that do not fit are refused', async () => {
  const a = sparse.eye(3);
  await expect(sparse.splu(sparse.eye(2, 3))).rejects.toThrow(
    '[sparse.splu] expected a square matrix: (2, 3)',
  );
  await expect(sparse.splu([[1]] as never)).rejects.toThrow('a list of sparse matrices');
  await expect(sparse.splu(a, { order: 'colamd' as never })).rejects.toThrow(
    "an order, 'natural', 'amd', 'rcm'",
  );
  await expect(sparse.splu(a, { tolerance: 1 } as never)).rejects.toThrow(
    '[sparse.splu] expected options order',
  );
  await expect(sparse.splu(a, null as never)).rejects.toThrow('[sparse.splu] expected options { order');
  await expect(sparse.spsolve(a, [1, 2, 3], cpu, 4)).rejects.toThrow('at most 3 arguments: 4');
  await expect(sparse.splu(a, { pivotThreshold: 2 })).rejects.toThrow('a pivotThreshold from 0 to 1: 2');
  await expect(sparse.spsolve(a, [1, 2], cpu)).rejects.toThrow(
    '[sparse.spsolve] expected right-hand sides of shape (3) or (3, k): (2,)',
  );
  const wrong = sparse.csr({ data: [1, 2], indices: [0, 5], indptr: [0, 1, 2] }, [2, 2]);
  await expect(sparse.splu(wrong, cpu)).rejects.toThrow('indices from 0 to 1');
  const lu = await sparse.splu(a, cpu);
  expect(() => lu.solve([1, 2, 3], 'C' as never)).toThrow("'N', 'T' or 'H'");
  const solve = await sparse.factorized(a.multiply(2).astype('float32'), cpu);
  const x = await solve(lazy(Float32Array.of(2, 4, 6))).compute(cpu);
  expect([x.dtype, ...(x.toArray() as number[])]).toEqual(['float32', 1, 2, 3]);
});
